// SPDX-License-Identifier: Apache-2.0
//! Window that a loss rate allows if losses end in timeouts.

/// Duration of a retransmission timeout in excess of a round trip, s (Linux).
const TIMEOUT_S: f64 = 0.2;

/// Mean packets in flight that a loss rate allows if losses end in timeouts (Padhye et al., SIGCOMM
/// 1998, eq. 30, with b = 2).
pub(super) fn with_timeouts(loss: f64, rtt_s: f64) -> f64 {
    let timeout = (rtt_s + TIMEOUT_S) / rtt_s.max(1e-4);
    let often = (3.0 * (0.75 * loss).sqrt()).min(1.0);
    let rounds = (4.0 * loss / 3.0).sqrt() + timeout * often * loss * (1.0 + 32.0 * loss * loss);
    1.0 / rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Observation, Weights, log_odds};
    use tidemark_rules::bscl::SQRT_CONSTANT;

    #[test]
    fn timeouts_leave_less_in_flight_than_the_square_root() {
        // One loss in a thousand at 100 ms ends in a timeout rarely, one in six at 30 ms
        // nearly always.
        let law = |loss: f64| SQRT_CONSTANT / loss.sqrt();
        assert!((with_timeouts(0.001, 0.1) / law(0.001) - 1.0).abs() < 0.03);
        assert!((0.2..0.5).contains(&with_timeouts(0.17, 0.03)) && law(0.17) > 2.0);
    }

    #[test]
    fn half_a_packet_between_timeouts_is_no_other_limit() {
        let between_timeouts = Observation {
            in_flight_pkts: Some(0.5),
            packets: 300.0,
            link_drops: 9000,
            link_loss_rate: 0.17,
            rtt_s: Some(0.03),
            ..Observation::default()
        };
        let by_square_root = Observation {
            rtt_s: None,
            ..between_timeouts.clone()
        };
        let odds = |o| log_odds(o, &Weights::IN_FORCE);
        assert!(odds(&between_timeouts) > odds(&by_square_root) + 2.0);
    }
}
