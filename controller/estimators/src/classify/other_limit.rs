// SPDX-License-Identifier: Apache-2.0
//! Which other limit a flow has that is not bottlenecked here.

use super::context::LinkContext;
use super::facts::Facts;
use crate::reductions::Reduction;
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
        let gaps_rtts = (median_gap_s(flow).zip(facts.rtt_s)).map(|(gap, rtt)| gap / rtt);
        return gaps_rtts.is_none_or(|g| g <= ROUND_TRIPS_APART);
    }
    let local = reductions.iter().filter(|r| r.counts && r.local).count();
    if facts.spacing == Spacing::Singly || (remote >= REMOTE_LOSSES && remote > 2 * local) {
        return false;
    }
    if facts.spacing == Spacing::Together {
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

/// Median time from one packet to the next, as records tell, s.
fn median_gap_s(flow: &FlowWindow<'_>) -> Option<f64> {
    let starts = || {
        let records = flow.history.iter().filter(|r| r.packets > 0);
        records.map(|r| r.start_ns as f64 / 1e9)
    };
    let gaps: Vec<f64> = starts().skip(1).zip(starts()).map(|(b, a)| b - a).collect();
    quantile(&gaps, 0.5)
}
