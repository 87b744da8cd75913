// SPDX-License-Identifier: Apache-2.0
//! Which other limit a flow has if it is not bottlenecked here.

use super::facts::Facts;
use crate::echo::Echo;

/// Least share of time at their top that shows packets in flight limited by a window.
const AT_TOP: f64 = 0.55;

/// Whether an unprobed flow with another limit is limited by a window: its packets follow its
/// packets that left here earlier, or, if that cannot be told, its packets in flight stay at their
/// top. A bottleneck elsewhere spaces packets evenly or drops them.
pub(super) fn window_limited(facts: &Facts) -> bool {
    let (Some(shape), None) = (facts.shape, facts.initial_slow_start) else {
        return false;
    };
    match facts.echo.filter(Echo::tells) {
        Some(echo) => echo.clocks(),
        None => shape.at_top >= AT_TOP,
    }
}
