// SPDX-License-Identifier: Apache-2.0
//! Formulas of UTB for many flows (§4-5), and helpers of its rules.

use super::single_flow::formulas as single_flow;
use crate::error::{RuleError, at_least_one, not_negative, open_fraction, positive};
use crate::rule::{Assumption, Condition, Input, Missing, Paper, Situation};

/// The paper.
pub static PAPER: Paper = Paper {
    name: "UTB",
    citation: "B. Spang, S. Arslan, N. McKeown: Updating the Theory of Buffer Sizing. Performance 2021",
};

/// n flows of fairness Δ that share one bandwidth-delay product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// BDP, bytes.
    pub bdp_bytes: f64,
    /// n, flows.
    pub flows: f64,
    /// Δ ≥ 1: every window is within a factor Δ of BDP/n.
    pub delta: f64,
}

impl Share {
    /// Returns the share of the measured flows.
    ///
    /// # Errors
    /// Δ was not measured.
    pub fn of(s: &Situation<'_>) -> Result<Self, Missing> {
        let delta = s.traffic.delta;
        Ok(Self {
            bdp_bytes: s.bdp_bytes(),
            flows: s.n_b(),
            delta: delta
                .ok_or(Missing::Unknown("delta (windows of the flows)"))?
                .value,
        })
    }

    fn checked(self) -> Result<Self, RuleError> {
        positive("BDP (bytes)", self.bdp_bytes)?;
        at_least_one("n", self.flows)?;
        at_least_one("delta", self.delta)?;
        Ok(self)
    }
}

/// B = Δ·BDP/√n (Theorems 5-6), bytes. Holds if D ≤ n²/(Δ·BDP) + √n in every RTT and all windows
/// are at least [`smallest_window_pkts`].
///
/// # Errors
/// BDP not above 0, n or Δ below 1.
pub fn sqrt_n_bytes(share: Share) -> Result<f64, RuleError> {
    let s = share.checked()?;
    Ok(s.delta * s.bdp_bytes / s.flows.sqrt())
}

/// B = s·Δ·BDP/n (eq. 3, §4.6), bytes, with the measured s.
///
/// # Errors
/// As for [`sqrt_n_bytes`]; s below 0.
pub fn desynchronised_bytes(share: Share, s: f64) -> Result<f64, RuleError> {
    let share = share.checked()?;
    Ok(not_negative("s", s)? * share.delta * share.bdp_bytes / share.flows)
}

/// Returns the smallest window for which the theorems hold: a/(1−β) for a flow that adds `a`
/// segments per RTT and multiplies by β; 2 for Reno.
///
/// # Errors
/// β not between 0 and 1, a not above 0.
pub fn smallest_window_pkts(increase_pkts: f64, beta: f64) -> Result<f64, RuleError> {
    Ok(positive("a (packets per RTT)", increase_pkts)? / (1.0 - open_fraction("beta", beta)?))
}

/// μ ≥ 1 − Δ/√n for any B ≥ 0 (Theorem 7); 0 if negative.
///
/// # Errors
/// n or Δ below 1.
pub fn utilisation_floor(n: f64, delta: f64) -> Result<f64, RuleError> {
    Ok((1.0 - at_least_one("delta", delta)? / at_least_one("n", n)?.sqrt()).max(0.0))
}

/// B = Δ·BDP/√(2n)·√(ln 1/δ) (Theorem 8), bytes: a larger buffer keeps the queue from emptying with
/// probability 1 − δ if all flows run BBR v1 in its probe-bandwidth phase.
///
/// # Errors
/// Arguments out of range; δ not between 0 and 1.
pub fn bbr_bytes(share: Share, delta_probability: f64) -> Result<f64, RuleError> {
    let s = share.checked()?;
    let ln = (1.0 / open_fraction("delta (probability)", delta_probability)?).ln();
    Ok(s.delta * s.bdp_bytes / (2.0 * s.flows).sqrt() * ln.sqrt())
}

pub(super) static SEVERAL_FLOWS: Assumption = Assumption {
    statement: "N_b ≥ 2",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("several flows ({n:.1})"),
            Some(n >= 2.0),
        ))
    },
};

/// All windows are at least [`smallest_window_pkts`].
pub(super) static LARGE_WINDOWS: Assumption = Assumption {
    statement: "windows ≥ a/(1−β)",
    check: |s, _| {
        let beta = single_flow::beta_of(s.traffic.congestion_control);
        let beta = beta.unwrap_or(single_flow::BETA_RENO);
        let smallest = smallest_window_pkts(1.0, beta).unwrap_or(2.0);
        let p01 = s.traffic.window_p01_pkts;
        let text = match p01 {
            Some(w) => {
                format!("windows of at least {smallest:.1} segments (1st percentile {w:.1})")
            }
            None => format!("windows of at least {smallest:.1} segments"),
        };
        Some(Condition::new(text, p01.map(|w| w >= smallest - 1e-9)))
    },
};

/// Largest ratio between base RTTs that count as equal.
const SAME_RTT: f64 = 2.0;

/// UTB §3.3: all flows have the same base RTT, for which Tₑ is used. The theorems' conditions were
/// not measured for RTTs that differ by more.
pub(super) static EQUAL_RTTS: Assumption = Assumption {
    statement: "base RTTs within a factor of 2",
    check: |s, _| {
        let rtts = s.traffic.base_rtts_s.iter().copied().filter(|&t| t > 0.0);
        let (least, most) = rtts.fold((f64::INFINITY, 0.0f64), |(a, b), t| (a.min(t), b.max(t)));
        let known = most > 0.0;
        let text = if known {
            format!(
                "flows of equal base RTTs ({:.0} to {:.0} ms)",
                least * 1e3,
                most * 1e3
            )
        } else {
            "flows of equal base RTTs".into()
        };
        Some(Condition::new(
            text,
            known.then_some(most <= SAME_RTT * least),
        ))
    },
};

/// Largest ratio of buffer to BDP at which B = O(BDP) is taken to hold.
const LARGEST_BDPS: f64 = 2.0;

/// UTB §3.3: the theorems assume windows measured with B = O(BDP).
pub(super) static SMALL_BUFFER: Assumption = Assumption {
    statement: "limit in force ≤ 2·BDP",
    check: |s, _| {
        let bdps = s.traffic.limit_bytes? / s.bdp_bytes();
        bdps.is_finite().then(|| {
            Condition::new(
                format!("measured with a buffer of the order of the BDP ({bdps:.1} BDP)"),
                Some(bdps <= LARGEST_BDPS),
            )
        })
    },
};

pub(super) fn share_inputs(s: &Situation<'_>) -> Vec<Input> {
    vec![
        Input::maybe("delta", s.traffic.delta.map(|d| d.value), ""),
        Input::new("BDP", s.bdp_bytes(), "bytes"),
        Input::new("n", s.n_b(), "flows"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: Share = Share {
        bdp_bytes: 1.5e6,
        flows: 16.0,
        delta: 4.0,
    };

    #[test]
    fn utilisation_floor_of_the_paper() {
        assert!((utilisation_floor(10_000.0, 2.0).unwrap() - 0.98).abs() < 1e-12);
        assert!((utilisation_floor(1000.0, 1.0).unwrap() - 0.968).abs() < 5e-4);
        assert_eq!(utilisation_floor(1.0, 4.0).unwrap(), 0.0);
    }

    #[test]
    fn testbed_product() {
        // 10 Gb/s, 1.2 ms, 9000 B.
        let bdp: f64 = 10e9 / 8.0 * 1.2e-3;
        assert!((bdp / 9000.0 - 166.7).abs() < 0.05);
        let share = Share {
            bdp_bytes: bdp,
            flows: 16.0,
            delta: 1.0,
        };
        assert!((sqrt_n_bytes(share).unwrap() / 9000.0 - 41.67).abs() < 0.01);
    }

    #[test]
    fn relations_between_the_rules() {
        // s = √n turns eq. 3 into Theorem 5.
        let a = desynchronised_bytes(S, S.flows.sqrt()).unwrap();
        assert!((a - sqrt_n_bytes(S).unwrap()).abs() < 1e-6);
        // One flow, Δ = 1: the whole BDP.
        let one = Share {
            flows: 1.0,
            delta: 1.0,
            ..S
        };
        assert_eq!(sqrt_n_bytes(one).unwrap(), S.bdp_bytes);
        assert_eq!(desynchronised_bytes(S, 0.0).unwrap(), 0.0);
        assert!((smallest_window_pkts(1.0, 0.5).unwrap() - 2.0).abs() < 1e-12);
        // ln(1/e^-2) = 2: √(ln)/√(2n) = 1/√n.
        let b = bbr_bytes(S, (-2.0f64).exp()).unwrap();
        assert!((b - sqrt_n_bytes(S).unwrap()).abs() < 1e-6);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(
            sqrt_n_bytes(Share {
                bdp_bytes: 0.0,
                ..S
            })
            .is_err()
        );
        assert!(sqrt_n_bytes(Share { flows: 0.0, ..S }).is_err());
        assert!(sqrt_n_bytes(Share { delta: 0.5, ..S }).is_err());
        assert!(desynchronised_bytes(S, -1.0).is_err());
        assert!(bbr_bytes(S, 0.0).is_err());
        assert!(smallest_window_pkts(1.0, 1.0).is_err());
    }

    proptest! {
        #[test]
        fn monotone(n in 1.0f64..1e4, delta in 1.0f64..20.0, bdp in 1e3f64..1e9, p in 1e-6f64..0.5) {
            let s = Share { bdp_bytes: bdp, flows: n, delta };
            let more = Share { flows: n + 1.0, ..s };
            let unfair = Share { delta: delta + 0.1, ..s };
            prop_assert!(sqrt_n_bytes(more).unwrap() < sqrt_n_bytes(s).unwrap());
            prop_assert!(sqrt_n_bytes(unfair).unwrap() > sqrt_n_bytes(s).unwrap());
            prop_assert!(bbr_bytes(s, p).unwrap() > bbr_bytes(s, p * 1.5).unwrap());
            prop_assert!(utilisation_floor(n + 1.0, delta).unwrap() >= utilisation_floor(n, delta).unwrap());
            prop_assert!(utilisation_floor(n, delta + 0.1).unwrap() <= utilisation_floor(n, delta).unwrap());
        }
    }
}
