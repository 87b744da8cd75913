// SPDX-License-Identifier: Apache-2.0
//! The smallest limit of which a prediction holds.

use crate::bisection::smallest_between;
use crate::prediction::{Prediction, predict};
use crate::traffic::Traffic;

/// Smallest buffer at which a prediction that only gets better with more of it
/// meets what is asked, up to 100 times C·T̄, or 2 s where that is less.
pub(super) fn smallest(m: &Traffic, good: impl Fn(&Prediction) -> bool) -> Option<f64> {
    let meets = |bytes: f64| predict(m, bytes).is_ok_and(|p| good(&p));
    if meets(0.0) {
        return Some(0.0);
    }
    let high = m.drain_bytes_per_s() * (100.0 * m.t_mean_s.value).max(2.0);
    if !meets(high) {
        return None;
    }
    Some(smallest_between((0.0, high), 60, meets))
}
