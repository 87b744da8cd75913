// SPDX-License-Identifier: Apache-2.0
//! Whether a flow reduces on loss.

use super::facts::Facts;
use super::observation::packets;
use crate::reductions::Reduction;
use crate::window::FlowWindow;

/// Least number of loss events to judge whether a flow reduces on them.
const EVENTS_HEEDED: usize = 4;
/// Factor by which the packets in flight must exceed a window law, since both are inexact.
const BEYOND: f64 = 2.0;
/// Window in segments below which Scalable TCP grows by one segment per RTT.
const SCALABLE_FROM: f64 = 50.0;

/// Whether a flow keeps more packets in flight than a loss-based congestion control could after
/// `events` loss events here, as BBR does. False if more packets were marked than dropped: the flow
/// may reduce by the share of marks (DCTCP), to which no loss law applies.
pub(super) fn defies_loss(flow: &FlowWindow<'_>, facts: &Facts, events: usize) -> bool {
    let (Some(shape), true) = (facts.shape, events >= EVENTS_HEEDED) else {
        return false;
    };
    if flow.life.share_of_marks().is_some() {
        return false;
    }
    let packets = packets(flow);
    let rtt_s = shape.mean * flow.life.span_s() / packets.max(1.0);
    shape.mean > BEYOND * largest_window(packets / events as f64, rtt_s)
}

/// Whether the window fell, and stayed down, after at least half of the loss events: no window law
/// is better evidence.
pub(super) fn falls_on_loss(reductions: &[Reduction], events: usize) -> bool {
    let falls = |r: &&Reduction| r.counts && r.local && !r.restored && r.after < r.before;
    let fell = reductions.iter().filter(falls).count();
    events > 0 && 2 * fell >= events
}

/// Returns the largest mean window (segments) of the loss-based congestion controls with one loss
/// event per `packets` packets: Reno, growing by a segment per RTT (Mathis et al., CCR 1997), CUBIC
/// (RFC 9438 §5.1, eq. 6), Scalable TCP (Kelly, CCR 2003: a/b, with b = 1/8; a = 0.02 as in ns-3,
/// twice the paper's, from 1/a segments on).
fn largest_window(packets: f64, rtt_s: f64) -> f64 {
    let reno = 1.5f64.sqrt() * packets.sqrt();
    let cubic = 1.054 * (packets * rtt_s).powf(0.75);
    let scalable = Some(0.16 * packets).filter(|&w| w >= SCALABLE_FROM);
    reno.max(cubic).max(scalable.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_aggressive_law_decides() {
        // With one loss in 100 packets Reno decides at 20 ms, CUBIC at 700 ms; in 10000, Scalable.
        assert!((largest_window(100.0, 0.02) - 12.25).abs() < 0.01);
        assert!((largest_window(100.0, 0.7) - 25.5).abs() < 0.1);
        assert_eq!(largest_window(1e4, 0.02), 1600.0);
    }

    fn reduction(after: f64, restored: bool) -> Reduction {
        Reduction {
            time_ns: 0,
            rtt_ns: 0,
            before: 100.0,
            after,
            threshold_ratio: None,
            restored,
            local: true,
            counts: true,
        }
    }

    #[test]
    fn a_window_that_stays_down_heeds_losses_and_one_that_comes_back_does_not() {
        assert!(falls_on_loss(&[reduction(87.5, false); 3], 6));
        assert!(!falls_on_loss(&[reduction(87.5, false); 3], 7));
        assert!(!falls_on_loss(&[reduction(4.0, true); 6], 6));
        assert!(!falls_on_loss(&[], 0));
    }
}
