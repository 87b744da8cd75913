// SPDX-License-Identifier: Apache-2.0
//! Search for the smallest value of which something holds.

/// The smallest value between `low` and `high` that meets a condition which holds of
/// `high`, and of everything above one value; halves the way `steps` times.
pub fn smallest_between(
    (mut low, mut high): (f64, f64),
    steps: usize,
    meets: impl Fn(f64) -> bool,
) -> f64 {
    for _ in 0..steps {
        let middle = 0.5 * (low + high);
        if meets(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}
