// SPDX-License-Identifier: Apache-2.0
//! One sawtooth of the aggregate window (BSCL eq. 14, UTB §3.5).

use crate::error::{RuleError, positive};

/// Means over one cycle of the aggregate window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sawtooth {
    /// Utilisation: share of the LBP flows' capacity in use.
    pub utilisation: f64,
    /// Mean queue as a multiple of C·T.
    pub mean_queue_bdp: f64,
}

/// Returns the means over a cycle of the aggregate window between `lowest` and `highest`, both as
/// multiples of C·T. A round takes T until the link is full, then W/C.
///
/// # Errors
/// `highest` not above 0.
pub fn sawtooth(lowest: f64, highest: f64) -> Result<Sawtooth, RuleError> {
    let x = positive("largest window over C*T", highest)?;
    let r = lowest.clamp(0.0, x);
    if x - r < 1e-9 {
        return Ok(Sawtooth {
            utilisation: x.min(1.0),
            mean_queue_bdp: (x - 1.0).max(0.0),
        });
    }
    let (empty_to, full_from) = (x.min(1.0), r.max(1.0));
    let empty_time = (empty_to - r).max(0.0);
    let empty_work = ((empty_to * empty_to - r * r) / 2.0).max(0.0);
    let full_time = ((x * x - full_from * full_from) / 2.0).max(0.0);
    let queue = |w: f64| w * w * w / 3.0 - w * w / 2.0;
    let backlog = if x > full_from {
        queue(x) - queue(full_from)
    } else {
        0.0
    };
    let time = empty_time + full_time;
    Ok(Sawtooth {
        utilisation: ((empty_work + full_time) / time).min(1.0),
        mean_queue_bdp: backlog / time,
    })
}
