// SPDX-License-Identifier: Apache-2.0
//! The straight line that touches observations from below (Moon, Skelly,
//! Towsley, INFOCOM 1999).

use std::collections::VecDeque;

/// Width of the windows; the tightest observation of each is kept.
const WINDOW_NS: u64 = 250_000_000;
/// Windows kept: 10 minutes.
const MAX_WINDOWS: usize = 2400;
/// Below this span only the offset is estimated.
const MIN_DRIFT_SPAN_NS: u64 = 5_000_000_000;
/// Greatest drift: no oscillator is worse.
const MAX_DRIFT: f64 = 1e-3;

/// A straight line below observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub x0_ns: u64,
    pub at_x0_ns: f64,
    pub slope: f64,
}

impl Line {
    pub(super) fn at(&self, x_ns: u64) -> f64 {
        self.at_x0_ns + self.slope * signed_difference(x_ns, self.x0_ns)
    }
}

/// Difference of two times that are not 292 years apart.
#[inline]
pub(crate) fn signed_difference(a: u64, b: u64) -> f64 {
    a.wrapping_sub(b) as i64 as f64
}

#[derive(Clone, Copy, Debug)]
struct Observation {
    window: u64,
    x_ns: u64,
    residual_ns: i64,
}

/// The smallest residuals over time and the line under them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    points: VecDeque<Observation>,
    /// Start of the last window, and its smallest residual.
    start_ns: u64,
    least_ns: i64,
}

impl Envelope {
    #[inline]
    pub(super) fn add(&mut self, x_ns: u64, residual_ns: i64) {
        if x_ns.wrapping_sub(self.start_ns) < WINDOW_NS
            && residual_ns >= self.least_ns
            && !self.points.is_empty()
        {
            return;
        }
        self.add_to(x_ns / WINDOW_NS, x_ns, residual_ns);
        if let Some(last) = self.points.back() {
            self.start_ns = last.window * WINDOW_NS;
            self.least_ns = last.residual_ns;
        }
    }

    #[inline(never)]
    fn add_to(&mut self, window: u64, x_ns: u64, residual_ns: i64) {
        // Nearly always the last window; a little disorder is normal.
        for p in self.points.iter_mut().rev().take(8) {
            if p.window == window {
                if residual_ns < p.residual_ns {
                    p.x_ns = x_ns;
                    p.residual_ns = residual_ns;
                }
                return;
            }
            if p.window < window {
                break;
            }
        }
        if self.points.back().is_some_and(|p| p.window > window) {
            return;
        }
        if self.points.len() == MAX_WINDOWS {
            self.points.pop_front();
        }
        self.points.push_back(Observation {
            window,
            x_ns,
            residual_ns,
        });
    }

    /// The line below all points with the least mean distance: the edge of the
    /// lower convex hull over the mean abscissa.
    pub(super) fn line(&self) -> Option<Line> {
        let first = self.points.front()?;
        let last = self.points.back()?;
        let lowest = self.points.iter().min_by_key(|p| p.residual_ns)?;
        let flat = Line {
            x0_ns: lowest.x_ns,
            at_x0_ns: lowest.residual_ns as f64,
            slope: 0.0,
        };
        if last.x_ns.saturating_sub(first.x_ns) < MIN_DRIFT_SPAN_NS {
            return Some(flat);
        }
        let origin = first.x_ns;
        let base = first.residual_ns;
        let mut hull: Vec<(f64, f64)> = Vec::new();
        let mut sum_x = 0.0;
        for p in &self.points {
            let x = signed_difference(p.x_ns, origin);
            let y = p.residual_ns.wrapping_sub(base) as f64;
            sum_x += x;
            while let [.., a, b] = hull.as_slice() {
                if (b.0 - a.0) * (y - a.1) <= (b.1 - a.1) * (x - a.0) {
                    hull.pop();
                } else {
                    break;
                }
            }
            hull.push((x, y));
        }
        let mean_x = sum_x / self.points.len() as f64;
        let edge = hull
            .windows(2)
            .find(|e| e[1].0 >= mean_x)
            .or_else(|| hull.windows(2).last())?;
        let dx = edge[1].0 - edge[0].0;
        if dx <= 0.0 {
            return Some(flat);
        }
        let slope = (edge[1].1 - edge[0].1) / dx;
        if slope.abs() > MAX_DRIFT {
            return Some(flat);
        }
        Some(Line {
            x0_ns: origin.wrapping_add(edge[0].0 as i64 as u64),
            at_x0_ns: base as f64 + edge[0].1,
            slope,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Compares with a map of windows, for times that never go back by a window.
        #[test]
        fn keeps_the_smallest_of_each_window(
            steps in prop::collection::vec((0u64..400_000_000, -50i64..50), 1..300),
        ) {
            let mut envelope = Envelope::default();
            let mut plain: BTreeMap<u64, (i64, u64)> = BTreeMap::new();
            let mut x = 1u64 << 40;
            for (forward, residual) in steps {
                x += forward / 3;
                envelope.add(x, residual);
                let least = plain.entry(x / WINDOW_NS).or_insert((residual, x));
                if residual < least.0 {
                    *least = (residual, x);
                }
            }
            let kept: Vec<_> = envelope.points.iter().map(|p| (p.window, (p.residual_ns, p.x_ns))).collect();
            prop_assert_eq!(kept, plain.into_iter().collect::<Vec<_>>());
        }
    }
}
