// SPDX-License-Identifier: Apache-2.0
//! Formulas of SRB.

use crate::error::{RuleError, at_least_one, open_fraction, positive};
use crate::rule::Paper;

/// The paper.
pub static PAPER: Paper = Paper {
    name: "SRB",
    citation: "G. Appenzeller, I. Keslassy, N. McKeown: Sizing Router Buffers. ACM SIGCOMM 2004",
};

/// B = C·T̄/√N, bytes. Holds for hundreds of flows that are not synchronised
/// (SRB; BSCL eq. 1).
///
/// # Errors
/// C, T̄ not above 0, N below 1.
pub fn stanford_bytes(
    capacity_bytes_per_s: f64,
    rtt_mean_s: f64,
    flows: f64,
) -> Result<f64, RuleError> {
    Ok(
        positive("C (bytes/s)", capacity_bytes_per_s)? * positive("T (s)", rtt_mean_s)?
            / at_least_one("N", flows)?.sqrt(),
    )
}

/// First two moments of slow-start bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// E\[X\], packets.
    pub mean_pkts: f64,
    /// E\[X²\], packets².
    pub mean_square_pkts2: f64,
}

/// Returns the bursts of short flows of `flow_pkts` packets each that stay in slow start: 2, 4, 8,
/// … and the remainder in the last round (SRB §4).
///
/// # Errors
/// Length below 1 packet.
pub fn slow_start_bursts(flow_pkts: f64) -> Result<Bursts, RuleError> {
    let mut left = at_least_one("flow length (packets)", flow_pkts)?;
    let (mut size, mut sum, mut squares, mut count) = (2.0, 0.0, 0.0, 0.0);
    while left > 0.0 {
        let burst: f64 = f64::min(size, left);
        sum += burst;
        squares += burst * burst;
        count += 1.0;
        left -= burst;
        size *= 2.0;
    }
    Ok(Bursts {
        mean_pkts: sum / count,
        mean_square_pkts2: squares / count,
    })
}

/// Returns the buffer b, packets, at which P(Q ≥ b) = exp(−b·2(1−ρ)/ρ·E\[X\]/E\[X²\]) equals the
/// bound p̂, for a link that carries only short flows (SRB §4).
///
/// # Errors
/// ρ or p̂ not between 0 and 1; moments not above 0.
pub fn short_flow_packets(load: f64, bursts: Bursts, bound: f64) -> Result<f64, RuleError> {
    open_fraction("rho", load)?;
    positive("E[X]", bursts.mean_pkts)?;
    positive("E[X^2]", bursts.mean_square_pkts2)?;
    let decay = 2.0 * (1.0 - load) / load * bursts.mean_pkts / bursts.mean_square_pkts2;
    Ok(-open_fraction("p (loss bound)", bound)?.ln() / decay)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn stanford_column_of_bscl_table_1() {
        for (bdp_pkts, n_b, packets) in [
            (1600.0, 2.0, 1131.0),
            (1159.0, 7.0, 438.0),
            (953.0, 13.0, 264.0),
            (767.0, 40.0, 121.0),
            (673.0, 60.0, 86.0),
            (710.0, 100.0, 71.0),
            (689.0, 200.0, 48.0),
            (682.0, 400.0, 34.0),
        ] {
            let c = 50e6 / 8.0;
            let t = bdp_pkts * 1500.0 / c;
            let b = stanford_bytes(c, t, n_b).unwrap() / 1500.0;
            assert_eq!((b + 1e-9).floor(), packets, "{bdp_pkts}@{n_b}");
        }
    }

    #[test]
    fn router_experiment_buffer_sizes() {
        // SRB Fig. 14: RTT·C = 1291 packets; 0.5, 1, 2, 3 times BDP/√n.
        for (n, sizes) in [
            (100.0, [64.0, 129.0, 258.0, 387.0]),
            (200.0, [46.0, 91.0, 182.0, 273.0]),
            (300.0, [37.0, 74.0, 148.0, 222.0]),
            (400.0, [32.0, 64.0, 128.0, 192.0]),
        ] {
            let base = stanford_bytes(1291.0, 1.0, n).unwrap();
            for (factor, size) in [0.5, 1.0, 2.0, 3.0].iter().zip(sizes) {
                assert!(
                    (factor * base - size).abs() <= 2.0,
                    "{n} {factor}: {}",
                    factor * base
                );
            }
        }
    }

    #[test]
    fn slow_start_moments() {
        let b = slow_start_bursts(14.0).unwrap(); // 2, 4, 8
        assert!((b.mean_pkts - 14.0 / 3.0).abs() < 1e-12);
        assert!((b.mean_square_pkts2 - 84.0 / 3.0).abs() < 1e-12);
        let b = slow_start_bursts(1.0).unwrap();
        assert_eq!((b.mean_pkts, b.mean_square_pkts2), (1.0, 1.0));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(stanford_bytes(1.0, 0.0, 1.0).is_err());
        assert!(stanford_bytes(1.0, 1.0, 0.0).is_err());
        assert!(slow_start_bursts(0.0).is_err());
        let b = slow_start_bursts(14.0).unwrap();
        assert!(short_flow_packets(1.0, b, 0.1).is_err());
        assert!(short_flow_packets(0.8, b, 0.0).is_err());
    }

    proptest! {
        #[test]
        fn overflow_and_size_are_inverse(load in 0.05f64..0.95, len in 1.0f64..200.0, p in 1e-6f64..0.5) {
            let bursts = slow_start_bursts(len).unwrap();
            let b = short_flow_packets(load, bursts, p).unwrap();
            let decay = 2.0 * (1.0 - load) / load * bursts.mean_pkts / bursts.mean_square_pkts2;
            prop_assert!(((-b * decay).exp() / p - 1.0).abs() < 1e-9);
            prop_assert!(short_flow_packets(load + 0.01, bursts, p).unwrap() > b);
        }

        #[test]
        fn stanford_shrinks_with_flows(n in 1.0f64..1e4) {
            prop_assert!(stanford_bytes(1e6, 0.1, n + 1.0).unwrap() < stanford_bytes(1e6, 0.1, n).unwrap());
        }
    }
}
