// SPDX-License-Identifier: Apache-2.0
//! Which other limit a flow has that is not bottlenecked here.

use super::facts::Facts;
use crate::echo::Echo;

/// Share of the time at their top that packets in flight are of a window.
const AT_TOP: f64 = 0.55;

/// True where an unprobed flow with another limit is limited by a window: its packets follow
/// those that left here earlier, or, where that cannot be told, its packets in flight stay at
/// its size. A bottleneck elsewhere spaces packets evenly or drops them.
pub(super) fn window_limited(facts: &Facts) -> bool {
    let (Some(shape), None) = (facts.shape, facts.initial_slow_start) else {
        return false;
    };
    match facts.echo.filter(Echo::tells) {
        Some(echo) => echo.clocks(),
        None => shape.at_top >= AT_TOP,
    }
}
