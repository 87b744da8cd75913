// SPDX-License-Identifier: Apache-2.0
//! Which other limit a flow has that is not bottlenecked here.

use super::context::LinkContext;
use super::facts::Facts;
use crate::reductions::Reduction;
use crate::window::FlowWindow;

/// An unprobed flow with another limit is WL when its packets in flight are at
/// their top for this share of the time.
const AT_TOP: f64 = 0.55;
/// Losses elsewhere that speak against a window limit.
const REMOTE_LOSSES: usize = 4;
/// Mean packets in flight within this of one are a window of one packet.
const ONE_PACKET: f64 = 0.1;
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
    // One packet per round trip comes evenly without a slower link.
    if remote == 0 && (shape.mean - 1.0).abs() < ONE_PACKET {
        return true;
    }
    let local = reductions.iter().filter(|r| r.counts && r.local).count();
    if facts.spacing.is_some_and(|s| s.evenly()) || (remote >= REMOTE_LOSSES && remote > 2 * local)
    {
        return false;
    }
    let drops: u32 = flow.window().iter().map(|r| r.drops).sum();
    let packets: u32 = flow.window().iter().map(|r| r.packets).sum();
    let expected = f64::from(packets + drops) * link.drop_rate;
    // A window of two packets comes in singles too.
    if expected >= LOSSES_COMPARED && shape.mean >= 3.0 {
        let part = f64::from(drops) / expected;
        if part <= LOSSES_OF_SINGLES {
            return false;
        }
        if part >= LOSSES_OF_BURSTS {
            return true;
        }
    }
    shape.at_top >= AT_TOP
}
