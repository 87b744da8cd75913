// SPDX-License-Identifier: Apache-2.0
//! Least-squares lines.

/// Standard errors that a slope must be apart from 0 and from 1 to tell one from the other.
const STANDARD_ERRORS: f64 = 3.0;

/// The slope of a least-squares line with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Slope {
    pub value: f64,
    pub error: f64,
}

impl Slope {
    /// Of the points (x, y), of which `independent` do not depend on each other. `None`
    /// where x does not change.
    pub fn of(points: &[(f64, f64)], independent: f64) -> Option<Self> {
        let n = points.len() as f64;
        let (x_sum, y_sum) = points
            .iter()
            .fold((0.0, 0.0), |(x, y), p| (x + p.0, y + p.1));
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for p in points {
            let (x, y) = (p.0 - x_sum / n, p.1 - y_sum / n);
            xx += x * x;
            xy += x * y;
            yy += y * y;
        }
        if xx <= 0.0 || independent <= 2.0 {
            return None;
        }
        let value = xy / xx;
        let left = (yy - value * xy).max(0.0);
        Some(Self {
            value,
            error: (left / (independent - 2.0) / xx).sqrt(),
        })
    }

    /// The slope, where it is known well enough to tell 0 from 1.
    pub fn between_0_and_1(self) -> Option<f64> {
        (2.0 * STANDARD_ERRORS * self.error < 1.0).then_some(self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_and_its_error() {
        let exact: Vec<(f64, f64)> = (0..10)
            .map(|i| (f64::from(i), 3.0 * f64::from(i)))
            .collect();
        let slope = Slope::of(&exact, 10.0).unwrap();
        assert!((slope.value - 3.0).abs() < 1e-12 && slope.error < 1e-6);
        // Residuals -1, 2, -1 around a slope of 0: 6 / (3 - 2) / 2.
        let slope = Slope::of(&[(0.0, 0.0), (1.0, 3.0), (2.0, 0.0)], 3.0).unwrap();
        assert!(slope.value.abs() < 1e-12 && (slope.error - 3f64.sqrt()).abs() < 1e-12);
        assert_eq!(slope.between_0_and_1(), None);
        assert_eq!(Slope::of(&[(1.0, 0.0), (1.0, 3.0), (1.0, 0.0)], 3.0), None);
        assert_eq!(Slope::of(&[], 0.0), None);
    }
}
