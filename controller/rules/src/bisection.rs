// SPDX-License-Identifier: Apache-2.0
//! Bisection for the smallest value that meets a condition.

/// Returns the smallest value between `low` and `high` that meets `meets`, by `steps` bisections.
/// `high` must meet it, and so must every value above some point.
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
