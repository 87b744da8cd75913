// SPDX-License-Identifier: Apache-2.0
//! Axes: their span, the position of a value, round ticks.

/// A value at a limit, with its range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The limit, bytes.
    pub limit_bytes: f64,
    /// Lower end, in the panel's unit.
    pub low: f64,
    /// The value, in the panel's unit.
    pub value: f64,
    /// Upper end, in the panel's unit.
    pub high: f64,
}

/// Distribution of values over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic; both ends are above 0.
    Log,
}

/// The span of values that an axis shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Lower end.
    pub low: f64,
    /// Upper end, above the lower end.
    pub high: f64,
    /// Scale of the axis.
    pub scale: Scale,
}

impl Axis {
    /// Creates the axis of a quantity whose target is a lower bound: from `top` down to twice as
    /// far as the target or the lowest measured value.
    pub(super) fn below(top: f64, target: f64, measured: &[Point]) -> Self {
        let lowest = measured.iter().map(|p| p.value).fold(target, f64::min);
        let low = (top - 2.0 * (top - lowest)).clamp(0.0, 0.99 * top);
        Self {
            low,
            high: top + 0.05 * (top - low),
            scale: Scale::Linear,
        }
    }

    /// Creates the axis of a quantity whose target is an upper bound: from 0 to twice the target,
    /// or beyond the largest measured value.
    pub(super) fn above_zero(target: Option<f64>, measured: &[Point]) -> Self {
        let highest = measured.iter().map(|p| p.value).fold(0.0, f64::max);
        let wanted = (2.0 * target.unwrap_or(0.0)).max(1.25 * highest);
        Self {
            low: 0.0,
            high: if wanted > 0.0 { wanted } else { 1.0 },
            scale: Scale::Linear,
        }
    }

    /// Returns the position of a value: 0 at the lower end, 1 at the upper; beyond if outside.
    pub fn part(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        }
    }

    /// Returns the value at a position from 0 to 1.
    pub fn at(&self, part: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.low + part * (self.high - self.low),
            Scale::Log => self.low * (self.high / self.low).powf(part),
        }
    }

    /// Returns round values within the axis: about `count` on a linear one; 1, 2 and 5 of each
    /// decade on a logarithmic one (1 and 3, or only 1, if that is too many).
    pub fn ticks(&self, count: usize) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = round_step((self.high - self.low) / count.max(1) as f64);
                let first = (self.low / step - 1e-9).ceil() as i64;
                let last = (self.high / step + 1e-9).floor() as i64;
                (first..=last).map(|i| i as f64 * step).collect()
            }
            Scale::Log => {
                let decades = (self.high / self.low).log10();
                let steps: &[f64] = match count as f64 {
                    few if decades * 2.0 > few => &[1.0],
                    few if decades * 3.0 > few => &[1.0, 3.0],
                    _ => &[1.0, 2.0, 5.0],
                };
                let (first, last) = (self.low.log10().floor(), self.high.log10().ceil());
                let powers = (first as i32..=last as i32).map(|d| 10f64.powi(d));
                let all = powers.flat_map(|p| steps.iter().map(move |s| s * p));
                all.filter(|v| (self.low..=self.high).contains(v)).collect()
            }
        }
    }
}

/// Returns 1, 2 or 5 times a power of ten, at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
    steps
        .into_iter()
        .find(|s| *s >= least * 0.999_999)
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let linear = Axis {
            low: 0.0,
            high: 2.3,
            scale: Scale::Linear,
        };
        assert_eq!(linear.ticks(4), [0.0, 1.0, 2.0]);
        let log = Axis {
            low: 3e4,
            high: 1.2e6,
            scale: Scale::Log,
        };
        assert_eq!(log.ticks(8), [5e4, 1e5, 2e5, 5e5, 1e6]);
        assert_eq!(log.ticks(4), [3e4, 1e5, 3e5, 1e6]);
        assert_eq!(log.ticks(3), [1e5, 1e6]);
    }

    #[test]
    fn a_place_is_found_again() {
        for scale in [Scale::Linear, Scale::Log] {
            let axis = Axis {
                low: 10.0,
                high: 1000.0,
                scale,
            };
            for value in [10.0, 33.0, 1000.0] {
                assert!((axis.at(axis.part(value)) / value - 1.0).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn axes_show_target_and_measurement() {
        let measured = [Point {
            limit_bytes: 1e5,
            low: 90.0,
            value: 92.0,
            high: 94.0,
        }];
        let used = Axis::below(100.0, 98.0, &measured);
        assert!(used.low <= 84.0 && used.high > 100.0);
        let lost = Axis::above_zero(Some(1.0), &[]);
        assert_eq!((lost.low, lost.high), (0.0, 2.0));
        assert_eq!(Axis::above_zero(None, &[]).high, 1.0);
    }
}
