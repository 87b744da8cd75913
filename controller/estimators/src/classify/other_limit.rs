// SPDX-License-Identifier: Apache-2.0
//! Which other limit a flow has that is not bottlenecked here.

use super::context::LinkContext;
use super::facts::Facts;
use crate::echo::Echo;
use crate::reductions::Reduction;
use crate::window::FlowWindow;

/// An unprobed flow with another limit is WL when its packets in flight are at
/// their top for this share of the time.
const AT_TOP: f64 = 0.55;
/// The same of one that was never refused anything elsewhere: a bottleneck there would have.
const AT_TOP_LOSSLESS: f64 = 0.4;
/// Losses elsewhere that speak against a window limit.
const REMOTE_LOSSES: usize = 4;
/// Losses that a flow would have had by now, needed to compare.
const LOSSES_COMPARED: f64 = 10.0;
/// A flow with this part of the losses of others comes in singles, one with that
/// part does not.
const LOSSES_OF_SINGLES: f64 = 0.5;
const LOSSES_OF_BURSTS: f64 = 0.7;

/// Which other limit an unprobed flow has: with a window its packets follow those that left
/// here earlier, or, where that cannot be told, it keeps the packets in flight at its size. A
/// bottleneck elsewhere spaces them evenly or drops them. Packets
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
    if let Some(echo) = facts.echo.filter(Echo::tells) {
        return echo.clocks();
    }
    let counted = || reductions.iter().filter(|r| r.counts);
    let remote = counted().filter(|r| !r.local).count();
    let local = counted().filter(|r| r.local).count();
    if remote >= REMOTE_LOSSES && remote > 2 * local {
        return false;
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
