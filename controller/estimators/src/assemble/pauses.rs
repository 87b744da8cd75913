// SPDX-License-Identifier: Apache-2.0
//! Pauses of a flow: times when its application has nothing to send (OI §3.3).
//!
//! A silence after a loss may be a retransmission timeout, with data left to send. Any other
//! silence much longer than a round trip is a pause, and also a silence after a loss that is longer
//! than the timeout, which doubles with each loss (RFC 6298).

use crate::rtt::BaseRtt;
use crate::window::FlowWindow;

/// Shortest pause, ns: window-limited and application-paced flows send bursts that are up to this
/// far apart.
const SHORTEST_NS: u64 = 500_000_000;
/// Shortest pause, in round trips.
const ROUND_TRIPS: f64 = 3.0;
/// Longest time from a loss to the silence it causes, in round trips: the rest of the window leaves
/// first.
const LOSS_BEFORE: f64 = 2.0;
/// Shortest pause, in mean times between two reports, if packets are sampled: shorter silences
/// occur by chance (a silence of this length once in e^10).
const REPORTS_APART: f64 = 10.0;
/// Longest first timeout, ns (RFC 6298: 1 s, or a few round trips).
const TIMEOUT_NS: u64 = 1_200_000_000;

/// Criteria that separate a flow's pauses from its other silences.
pub(super) struct Pauses<'f> {
    signals_ns: &'f [u64],
    shortest_ns: u64,
    loss_before_ns: u64,
}

impl<'f> Pauses<'f> {
    pub fn of(flow: &'f FlowWindow<'_>, base: Option<BaseRtt>) -> Self {
        let (packets, delay_ns) = flow.window().iter().fold((0u64, 0u64), |(n, d), r| {
            (n + u64::from(r.packets), d.saturating_add(r.delay_sum_ns))
        });
        let delay_ns = delay_ns as f64 / packets.max(1) as f64;
        let rtt_ns = base.map_or(0.0, |b| b.seconds * 1e9) + delay_ns;
        let by_chance_ns = if flow.sampling > 1.0 {
            REPORTS_APART * flow.life.span_s() * 1e9 * flow.sampling
                / flow.life.packets.max(1) as f64
        } else {
            0.0
        };
        Self {
            signals_ns: &flow.signals_ns,
            shortest_ns: SHORTEST_NS.max((ROUND_TRIPS * rtt_ns).max(by_chance_ns) as u64),
            loss_before_ns: (LOSS_BEFORE * rtt_ns) as u64,
        }
    }

    /// Whether the silence from `from_ns` to `to_ns` is a pause.
    pub fn are_between(&self, from_ns: u64, to_ns: u64) -> bool {
        let silence_ns = to_ns.saturating_sub(from_ns);
        if silence_ns < self.shortest_ns {
            return false;
        }
        let since_ns = from_ns.saturating_sub(self.loss_before_ns);
        let first = self.signals_ns.partition_point(|&s| s < since_ns);
        let within = self.signals_ns.partition_point(|&s| s < from_ns);
        let after = self.signals_ns.partition_point(|&s| s < to_ns);
        let lost_again = after.saturating_sub(within);
        if within == first && lost_again == 0 {
            return true;
        }
        let doubled = 1u64.checked_shl(lost_again as u32).unwrap_or(u64::MAX);
        silence_ns > TIMEOUT_NS.max(self.shortest_ns).saturating_mul(doubled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silence_after_a_loss_is_no_pause() {
        let pauses = Pauses {
            signals_ns: &[5_000_000_000],
            shortest_ns: SHORTEST_NS,
            loss_before_ns: 200_000_000,
        };
        let ms = |ms: u64| ms * 1_000_000;
        assert!(!pauses.are_between(ms(1000), ms(1400)));
        assert!(pauses.are_between(ms(1000), ms(3000)));
        assert!(!pauses.are_between(ms(5100), ms(6100)));
        assert!(pauses.are_between(ms(5100), ms(6500)));
        assert!(pauses.are_between(ms(5300), ms(6300)));
        // Two losses: the second timeout is twice as long.
        assert!(!pauses.are_between(ms(4900), ms(7000)));
        assert!(pauses.are_between(ms(4900), ms(7500)));
    }
}
