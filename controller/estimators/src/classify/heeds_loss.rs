// SPDX-License-Identifier: Apache-2.0
//! Whether an unprobed flow reduces on loss.

use super::facts::Facts;
use super::observation::packets;
use crate::reductions::Reduction;
use crate::window::FlowWindow;
use tidemark_rules::bscl::SQRT_CONSTANT;

/// Loss events of a flow needed to see whether it heeds them.
const EVENTS_HEEDED: usize = 4;

/// Whether an unprobed flow keeps more in flight than any that reduces on loss
/// could after the losses it had here (BSCL eq. 2): BBR and its like.
pub(super) fn defies_loss(flow: &FlowWindow<'_>, facts: &Facts, reductions: &[Reduction]) -> bool {
    let (Some(shape), None) = (facts.shape, facts.initial_slow_start) else {
        return false;
    };
    let events = reductions.iter().filter(|r| r.counts && r.local).count();
    let allowed = SQRT_CONSTANT * (packets(flow) / events.max(1) as f64).sqrt();
    events >= EVENTS_HEEDED && shape.mean > 2.0 * allowed
}
