// SPDX-License-Identifier: Apache-2.0
//! The rule of thumb and its two forms for several flows.

use crate::error::{RuleError, positive};

/// B = C·T, bytes: with the arithmetic mean T̄ the rule of thumb, always
/// sufficient for flows that halve their window (BSCL §I, UTB §3.1); with the
/// effective RTT Tₑ the requirement of globally synchronised flows of different
/// RTTs (BSCL eq. 11).
///
/// # Errors
/// C or T not above 0.
pub fn product(capacity_bytes_per_s: f64, rtt_s: f64) -> Result<f64, RuleError> {
    Ok(positive("C (bytes/s)", capacity_bytes_per_s)? * positive("T (s)", rtt_s)?)
}

/// Tₑ, the harmonic mean of the base RTTs (BSCL eq. 12), seconds.
///
/// # Errors
/// No RTT, or one that is not above 0.
pub fn effective_rtt_s(rtts_s: &[f64]) -> Result<f64, RuleError> {
    positive("number of RTTs", rtts_s.len() as f64)?;
    let mut inverse_sum = 0.0;
    for &rtt in rtts_s {
        inverse_sum += 1.0 / positive("T_i (s)", rtt)?;
    }
    Ok(rtts_s.len() as f64 / inverse_sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn uniform_rtts_give_the_harmonic_number() {
        for (n, divisor) in [(1000usize, 7.4855), (10, 2.9290)] {
            let rtts: Vec<f64> = (1..=n).map(|i| 0.5 * i as f64 / n as f64).collect();
            let t_e = effective_rtt_s(&rtts).unwrap();
            assert!((0.5 / t_e - divisor).abs() < 1e-3, "{}", 0.5 / t_e);
        }
    }

    #[test]
    fn zero_rtt_is_refused() {
        assert_eq!(product(1e6, 0.0).unwrap_err().name, "T (s)");
        assert!(product(0.0, 0.1).is_err());
        assert!(product(f64::NAN, 0.1).is_err());
        assert!(effective_rtt_s(&[]).is_err());
        assert!(effective_rtt_s(&[0.1, 0.0]).is_err());
    }

    proptest! {
        #[test]
        fn effective_is_at_most_the_mean(rtts in prop::collection::vec(1e-4f64..1.0, 1..50)) {
            let t_e = effective_rtt_s(&rtts).unwrap();
            let mean = rtts.iter().sum::<f64>() / rtts.len() as f64;
            prop_assert!(t_e <= mean * (1.0 + 1e-9));
            prop_assert!(t_e >= rtts.iter().copied().fold(f64::MAX, f64::min) * (1.0 - 1e-9));
        }
    }
}
