// SPDX-License-Identifier: Apache-2.0
//! Formulas of UTB for one flow (§3), and helpers of its rules.

use crate::error::{RuleError, fraction, not_negative, open_fraction, positive};
use crate::rule::{Assumption, Condition, Input, Situation};
use crate::traffic::{CongestionControl, Regime, Traffic};

/// β of Reno: the window is multiplied by it on loss.
pub const BETA_RENO: f64 = 0.5;
/// β of CUBIC as implemented in Linux (717/1024; the paper rounds to 0.7).
pub const BETA_CUBIC: f64 = 717.0 / 1024.0;
/// β of Scalable TCP.
pub const BETA_SCALABLE: f64 = 7.0 / 8.0;
/// Lowest pacing gain of BBR v1 in its probe-bandwidth phase.
pub const BBR_DRAIN_GAIN: f64 = 0.75;

/// B = max(0, γ/β − 1)·BDP (UTB §3.5), bytes: the buffer with which utilisation never falls below γ
/// for a flow that multiplies its window by β.
///
/// # Errors
/// γ outside 0..=1, β not between 0 and 1, BDP not above 0.
pub fn buffer_bytes(bdp_bytes: f64, beta: f64, gamma: f64) -> Result<f64, RuleError> {
    let (beta, gamma) = (open_fraction("beta", beta)?, fraction("gamma", gamma)?);
    Ok((gamma / beta - 1.0).max(0.0) * positive("BDP (bytes)", bdp_bytes)?)
}

/// B = max(0, γ − 3/4)·BDP for BBR v1 in probe-bandwidth (UTB §3.5), bytes.
///
/// # Errors
/// γ outside 0..=1, BDP not above 0.
pub fn bbr_buffer_bytes(bdp_bytes: f64, gamma: f64) -> Result<f64, RuleError> {
    Ok((fraction("gamma", gamma)? - BBR_DRAIN_GAIN).max(0.0) * positive("BDP (bytes)", bdp_bytes)?)
}

/// μ(B) = min(β·(1 + B/BDP), 1) (UTB §3.5): lowest utilisation after a
/// reduction. Holds above about 20 packets of buffer (§3.6).
pub fn utilisation(bdp_bytes: f64, beta: f64, buffer_bytes: f64) -> Result<f64, RuleError> {
    let ratio = not_negative("B (bytes)", buffer_bytes)? / positive("BDP (bytes)", bdp_bytes)?;
    Ok((open_fraction("beta", beta)? * (1.0 + ratio)).min(1.0))
}

/// μ(B) = min(3/4 + B/BDP, 1) for BBR v1 (UTB §3.5).
pub fn bbr_utilisation(bdp_bytes: f64, buffer_bytes: f64) -> Result<f64, RuleError> {
    let ratio = not_negative("B (bytes)", buffer_bytes)? / positive("BDP (bytes)", bdp_bytes)?;
    Ok((BBR_DRAIN_GAIN + ratio).min(1.0))
}

/// Returns β of a congestion control; an unknown one is treated as Reno, which needs the largest
/// buffer. `None` for BBR and DCTCP, whose windows do not follow losses.
pub fn beta_of(cc: CongestionControl) -> Option<f64> {
    match cc {
        CongestionControl::Reno | CongestionControl::Unknown => Some(BETA_RENO),
        CongestionControl::Cubic => Some(BETA_CUBIC),
        CongestionControl::Scalable => Some(BETA_SCALABLE),
        CongestionControl::Bbr | CongestionControl::Dctcp => None,
    }
}

/// A single flow is bottlenecked here.
pub(super) static SINGLE_FLOW: Assumption = Assumption {
    statement: "one bottlenecked flow",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("one flow is bottlenecked here ({n:.1})"),
            match s.traffic.regime {
                Regime::Unknown => None,
                _ => Some((0.5..1.5).contains(&n) && s.traffic.saturable != Some(false)),
            },
        ))
    },
};

/// Whether the flow runs this congestion control; an unrecognised one may count as Reno, which
/// needs the largest buffer.
pub(super) fn runs(traffic: &Traffic, cc: CongestionControl) -> Option<bool> {
    match traffic.congestion_control {
        CongestionControl::Unknown if cc == CongestionControl::Reno => None,
        CongestionControl::Unknown => Some(false),
        known => Some(known == cc),
    }
}

pub(super) fn inputs(s: &Situation<'_>, beta: Option<f64>) -> Vec<Input> {
    vec![
        Input::new("BDP", s.bdp_bytes(), "bytes"),
        Input::maybe("beta", beta, ""),
        Input::new("gamma", s.targets.utilisation, "fraction"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn b(beta: f64, gamma: f64) -> f64 {
        buffer_bytes(1.0, beta, gamma).unwrap()
    }

    #[test]
    fn buffers_of_the_paper() {
        for (got, expected) in [
            (b(BETA_CUBIC, 1.0), 0.4282),
            (b(0.7, 1.0), 3.0 / 7.0),
            (b(BETA_CUBIC, 0.9), 0.2853),
            (b(0.7, 0.9), 0.2857),
            (b(BETA_SCALABLE, 1.0), 1.0 / 7.0),
            (b(BETA_SCALABLE, 0.9), 0.02857),
            (bbr_buffer_bytes(1.0, 1.0).unwrap(), 0.25),
            (bbr_buffer_bytes(1.0, 0.9).unwrap(), 0.15),
            (b(BETA_RENO, 0.9), 0.8),
            (b(BETA_RENO, 1.0), 1.0),
            (b(BETA_RENO, 0.4), 0.0),
        ] {
            // The paper gives four digits, some of them truncated.
            assert!((got - expected).abs() < 1e-4, "{got} {expected}");
        }
    }

    #[test]
    fn without_a_buffer() {
        for (beta, mu) in [(BETA_RENO, 0.5), (0.7, 0.7), (BETA_SCALABLE, 0.875)] {
            assert_eq!(utilisation(1.0, beta, 0.0).unwrap(), mu);
        }
        assert!((utilisation(1.0, BETA_CUBIC, 0.0).unwrap() - 0.7).abs() < 3e-4);
        assert_eq!(bbr_utilisation(1.0, 0.0).unwrap(), 0.75);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(buffer_bytes(0.0, 0.5, 1.0).is_err());
        assert!(buffer_bytes(1.0, 1.0, 1.0).is_err());
        assert!(buffer_bytes(1.0, 0.5, 1.2).is_err());
        assert!(utilisation(1.0, 0.5, -1.0).is_err());
        assert!(bbr_utilisation(0.0, 1.0).is_err());
    }

    #[test]
    fn unknown_is_treated_as_reno() {
        assert_eq!(beta_of(CongestionControl::Unknown), Some(BETA_RENO));
        assert_eq!(beta_of(CongestionControl::Bbr), None);
    }

    proptest! {
        #[test]
        fn buffer_and_utilisation_are_inverse(beta in 0.1f64..0.95, gamma in 0.1f64..1.0, bdp in 1e3f64..1e8) {
            let buffer = buffer_bytes(bdp, beta, gamma).unwrap();
            prop_assert!(utilisation(bdp, beta, buffer).unwrap() >= gamma - 1e-9);
            prop_assert!(buffer_bytes(bdp, beta, gamma * 0.99).unwrap() <= buffer);
            prop_assert!(utilisation(bdp, beta, buffer + 1.0).unwrap() >= utilisation(bdp, beta, buffer).unwrap());
        }
    }
}
