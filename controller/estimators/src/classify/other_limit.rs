// SPDX-License-Identifier: Apache-2.0
//! Which other limit a flow has that is not bottlenecked here.

use super::context::LinkContext;
use super::facts::Facts;
use crate::reductions::Reduction;
use crate::regression::Slope;
use crate::spacing::Spacing;
use crate::stats::quantile;
use crate::window::FlowWindow;

/// An unprobed flow with another limit is WL when its packets in flight are at
/// their top for this share of the time.
const AT_TOP: f64 = 0.55;
/// The same of one that was never refused anything elsewhere: a bottleneck there would have.
const AT_TOP_LOSSLESS: f64 = 0.4;
/// Losses elsewhere that speak against a window limit.
const REMOTE_LOSSES: usize = 4;
/// Mean packets in flight within this of one are a window of one packet.
const ONE_PACKET: f64 = 0.1;
/// Packets further apart than this many round trips are not one for each.
const ROUND_TRIPS_APART: f64 = 1.25;
/// A window of one packet sends the next when that is acknowledged: the gap between two has
/// all of the queueing delay of the first in it. A slower link spaces them whatever waits
/// here.
const HALF_OF_THE_DELAY: f64 = 0.5;
/// Gaps needed to see which.
const GAPS: usize = 30;
/// Longer gaps, in the middle one, are of timeouts.
const TIMEOUT_GAPS: f64 = 2.0;
/// Packets in flight that follow the queueing delay by less than this are a window.
const KEEPS_ITS_NUMBER: f64 = 0.3;
/// Losses that a flow would have had by now, needed to compare.
const LOSSES_COMPARED: f64 = 10.0;
/// A flow with this part of the losses of others comes in singles, one with that
/// part does not.
const LOSSES_OF_SINGLES: f64 = 0.5;
const LOSSES_OF_BURSTS: f64 = 0.7;

/// Which other limit an unprobed flow has: a window keeps the packets in flight
/// at its size, a bottleneck elsewhere spaces them evenly or drops them. Packets
/// that come singly meet a full queue less often than those that come in bursts.
pub(super) fn window_limited(
    flow: &FlowWindow<'_>,
    link: &LinkContext,
    facts: &Facts,
    reductions: &[Reduction],
) -> bool {
    let (Some(shape), None) = (facts.shape, facts.initial_slow_start) else {
        return false;
    };
    let remote = reductions.iter().filter(|r| r.counts && !r.local).count();
    // One packet per round trip comes evenly without a slower link; with one they may be
    // further apart than a round trip.
    if remote == 0 && (shape.mean - 1.0).abs() < ONE_PACKET {
        let gaps = gaps(flow);
        let gap_s = median_gap_s(&gaps);
        let gaps_rtts = gap_s.zip(facts.rtt_s).map(|(gap, rtt)| gap / rtt);
        return gaps_rtts.is_none_or(|g| g <= ROUND_TRIPS_APART)
            && gaps_by_delay(gaps).is_none_or(|slope| slope > HALF_OF_THE_DELAY);
    }
    let local = reductions.iter().filter(|r| r.counts && r.local).count();
    if facts.spacing == Spacing::Singly || (remote >= REMOTE_LOSSES && remote > 2 * local) {
        return false;
    }
    if facts.spacing == Spacing::Together {
        return true;
    }
    // Some flows behind a slower link have about as many in flight whatever waits here, but
    // not all of the time.
    let keeps = facts
        .follows_delay
        .is_some_and(|slope| slope < KEEPS_ITS_NUMBER);
    if keeps && shape.at_top >= AT_TOP {
        return true;
    }
    // A window of two packets comes in singles too.
    let part = if shape.mean >= 3.0 {
        part_of_losses(flow, link)
    } else {
        None
    };
    match part {
        Some(part) if part <= LOSSES_OF_SINGLES => false,
        Some(part) if part >= LOSSES_OF_BURSTS => true,
        _ if remote == 0 => shape.at_top >= AT_TOP_LOSSLESS,
        _ => shape.at_top >= AT_TOP,
    }
}

/// Drops of the flow over those it would have with the drop rate of the link. `None` where
/// that would be too few, and of a flow that is marked: what can be marked is not dropped.
fn part_of_losses(flow: &FlowWindow<'_>, link: &LinkContext) -> Option<f64> {
    let (mut drops, mut packets, mut marks) = (0, 0, 0);
    for r in flow.window() {
        drops += r.drops;
        packets += r.packets;
        marks += r.ce_marked;
    }
    let expected = f64::from(packets + drops) * link.drop_rate;
    (marks == 0 && expected >= LOSSES_COMPARED).then(|| f64::from(drops) / expected)
}

/// From one packet to the next, as records tell.
#[derive(Clone, Copy, Debug)]
struct Gap {
    seconds: f64,
    /// Queueing delay of the first of the two, s.
    delay_s: f64,
}

fn gaps(flow: &FlowWindow<'_>) -> Vec<Gap> {
    let records = || flow.history.iter().filter(|r| r.packets > 0);
    let pairs = records().zip(records().skip(1));
    pairs
        .map(|(a, b)| Gap {
            seconds: b.start_ns.saturating_sub(a.start_ns) as f64 / 1e9,
            delay_s: a.delay_sum_ns as f64 / f64::from(a.packets) / 1e9,
        })
        .collect()
}

fn median_gap_s(gaps: &[Gap]) -> Option<f64> {
    let seconds: Vec<f64> = gaps.iter().map(|g| g.seconds).collect();
    quantile(&seconds, 0.5)
}

/// How much longer a gap is where the packet before it waited longer (slope of the
/// regression). `None` where the delay changes too little to tell.
fn gaps_by_delay(mut gaps: Vec<Gap>) -> Option<f64> {
    let longest_s = TIMEOUT_GAPS * median_gap_s(&gaps)?;
    gaps.retain(|g| g.seconds <= longest_s);
    if gaps.len() < GAPS {
        return None;
    }
    let points: Vec<(f64, f64)> = gaps.iter().map(|g| (g.delay_s, g.seconds)).collect();
    Slope::of(&points, points.len() as f64)?.between_0_and_1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::FlowInterval;

    /// Single packets in records of 10 ms, the queue between 0 and 20 ms; a gap in ms
    /// follows from the queueing delay of its first packet in ms.
    fn slope(gap_ms: fn(f64) -> f64, swing_ms: f64) -> Option<f64> {
        let mut at_ms = 0.0;
        let records: Vec<FlowInterval> = (0..400)
            .map(|i| {
                let delay_ms = swing_ms * (0.5 + 0.5 * (0.37 * f64::from(i)).sin());
                let start_ns = (at_ms / 10.0f64).floor() as u64 * 10_000_000;
                at_ms += gap_ms(delay_ms);
                FlowInterval {
                    start_ns,
                    duration_ns: 10_000_000,
                    packets: 1,
                    delay_sum_ns: (delay_ms * 1e6) as u64,
                    ..FlowInterval::default()
                }
            })
            .collect();
        gaps_by_delay(gaps(&FlowWindow::of_records(records.iter().collect())))
    }

    #[test]
    fn a_window_of_one_packet_waits_for_each_a_slower_link_does_not() {
        let window = slope(|delay_ms| 21.3 + delay_ms, 20.0).unwrap();
        assert!((window - 1.0).abs() < 0.2, "{window}");
        let link = slope(|_| 31.3, 20.0).unwrap();
        assert!(link.abs() < 0.2, "{link}");
        assert_eq!(slope(|delay_ms| 21.3 + delay_ms, 0.2), None);
    }
}
