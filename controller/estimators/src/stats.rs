// SPDX-License-Identifier: Apache-2.0
//! Small statistics.

pub(crate) use crate::quantile::quantile;
use tidemark_rules::quantiles::{Z90, t90};

/// Returns the slope of the least-squares line through points (x, y); `None` if x does not change.
pub(crate) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let n = points.len() as f64;
    let (x_sum, y_sum) = points
        .iter()
        .fold((0.0, 0.0), |(x, y), p| (x + p.0, y + p.1));
    let (xx, xy) = points.iter().fold((0.0, 0.0), |(xx, xy), p| {
        let (x, y) = (p.0 - x_sum / n, p.1 - y_sum / n);
        (xx + x * x, xy + x * y)
    });
    (xx > 0.0).then(|| xy / xx)
}

/// Returns the smallest value with at least half of the weight at or below it, from (value, weight)
/// pairs; `None` without weight.
pub(crate) fn weighted_median(mut values: Vec<(f64, f64)>) -> Option<f64> {
    values.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * values.iter().map(|v| v.1).sum::<f64>();
    let mut below = 0.0;
    let reached = values.iter().find(|v| {
        below += v.1;
        half > 0.0 && below >= half
    });
    reached.map(|v| v.0)
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns half the width of the 90 % range of the mean (Student). For a single value, the width is
/// that of two values whose standard deviation is as large as the value.
pub(crate) fn mean_error(values: &[f64]) -> f64 {
    let Some(m) = mean(values) else { return 0.0 };
    let n = values.len() as f64;
    if values.len() < 2 {
        return t90(1) * m.abs() / std::f64::consts::SQRT_2;
    }
    let variance = values.iter().map(|v| (v - m).powi(2)).sum::<f64>() / (n - 1.0);
    t90(values.len() - 1) * (variance / n).sqrt()
}

/// Numbers of parts whose means are compared (batch means). Correlation for longer than a part
/// makes neighbouring means alike: longer parts show it, but with fewer means, less surely.
const BLOCKS: [usize; 3] = [10, 5, 4];
/// Least number of values in the shortest part for its mean to tell more than a single value.
const LEAST_OF_BLOCK: usize = 4;

/// [`mean_error`] of values in order of time that may be correlated: congestion controls change
/// their state over many round trips, so that neighbouring values tell less than independent ones.
/// Returns the mean of the errors by parts if it exceeds the error of the values. The largest error
/// would allow for chance twice: Student's t already does, and one of several errors is too large
/// by chance.
pub(crate) fn mean_error_in_time(values: &[f64]) -> f64 {
    let alone = mean_error(values);
    let most = BLOCKS.into_iter().fold(0, usize::max);
    if values.len() < most * LEAST_OF_BLOCK {
        return alone;
    }
    let of_parts = BLOCKS.map(|parts| {
        let part = |i: usize| values.get(i * values.len() / parts..(i + 1) * values.len() / parts);
        let means: Vec<f64> = (0..parts).filter_map(part).filter_map(mean).collect();
        mean_error(&means)
    });
    alone.max(of_parts.iter().sum::<f64>() / BLOCKS.len() as f64)
}

/// Least number of sizes for Student's t alone: fewer tell too little about their spread.
const FEW: usize = 40;

/// Returns the 90 % range of the mean of sizes in order of time, as ln(mean/low) and ln(high/mean).
/// Sizes are positive, and a few large ones dominate their mean: its error is a factor, so that
/// there is more room above than below. A single size, or few sizes that differ much by chance,
/// are taken as exponentially distributed: sizes are geometric if packets are lost at random until
/// the queue has room. `None` without sizes.
pub(crate) fn log_errors_of_sizes(sizes: &[f64]) -> Option<(f64, f64)> {
    let m = mean(sizes).filter(|&m| m > 0.0)?;
    let error = mean_error_in_time(sizes) / m;
    if sizes.len() >= FEW {
        return Some((error, error));
    }
    let (less, more) = exponential_log_errors(sizes.len());
    Some((error.min(less), error.min(more)))
}

/// [`log_errors_of_sizes`] for `n` exponentially distributed values: 2n times their mean over the
/// true mean is χ² with 2n degrees of freedom. Uses Wilson and Hilferty's quantiles (to 3 %), and
/// exact ones for a single value.
fn exponential_log_errors(n: usize) -> (f64, f64) {
    if n <= 1 {
        return ((-0.05f64.ln()).ln(), -(-0.95f64.ln()).ln());
    }
    let part = 1.0 / (9.0 * n as f64);
    let quantile = |z: f64| (1.0 - part + z * part.sqrt()).powi(3);
    (quantile(Z90).ln(), -quantile(-Z90).ln())
}

/// Returns the 90 % range of a share, given that `of` out of `all` were counted (Wilson).
pub(crate) fn share_range(of: f64, all: f64) -> (f64, f64) {
    if all <= 0.0 {
        return (0.0, 1.0);
    }
    let (p, z2) = (of / all, Z90 * Z90);
    let middle = (p + z2 / (2.0 * all)) / (1.0 + z2 / all);
    let half = Z90 * (p * (1.0 - p) / all + z2 / (4.0 * all * all)).sqrt() / (1.0 + z2 / all);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::rng::Rng;

    #[test]
    fn a_line_has_its_slope() {
        let line: Vec<(f64, f64)> = (0..10)
            .map(|i| (f64::from(i), 3.0 * f64::from(i)))
            .collect();
        assert!((slope(&line).unwrap() - 3.0).abs() < 1e-12);
        assert_eq!(slope(&[(1.0, 0.0), (1.0, 3.0)]), None);
        assert_eq!(slope(&[]), None);
    }

    #[test]
    fn half_of_the_weight() {
        let values = vec![(40.0, 9.0), (2.0, 1.0), (1.0, 1.0), (3.0, 1.0)];
        assert_eq!(weighted_median(values), Some(40.0));
        let alike = vec![(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)];
        assert_eq!(weighted_median(alike), Some(2.0));
        assert_eq!(weighted_median(vec![(1.0, 0.0)]), None);
        assert_eq!(weighted_median(Vec::new()), None);
    }

    #[test]
    fn quantiles_and_means() {
        let v = [4.0, 1.0, 3.0, 2.0, 5.0];
        assert_eq!(quantile(&v, 0.5), Some(3.0));
        assert_eq!(quantile(&v, 1.0), Some(5.0));
        assert_eq!(quantile(&v, 0.125), Some(1.5));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(mean(&v), Some(3.0));
        assert_eq!(mean(&[]), None);
        // Student's t with four degrees of freedom for five values.
        assert!((mean_error(&v) - 2.132 * (2.5f64 / 5.0).sqrt()).abs() < 1e-12);
        // Two different halves count as two values, alternating values count one by one.
        let slow: Vec<f64> = (0..80).map(|i| f64::from(i / 40)).collect();
        let fast: Vec<f64> = (0..80).map(|i| f64::from(i % 2)).collect();
        assert!(mean_error_in_time(&slow) > 2.5 * mean_error(&slow));
        assert_eq!(mean_error_in_time(&fast), mean_error(&fast));
        // Values that are high for half of the time: ten parts show it less than four.
        let wave: Vec<f64> = (0..80)
            .map(|i| (f64::from(i) / 80.0 * std::f64::consts::TAU).sin())
            .collect();
        let parts: Vec<f64> = wave.chunks(8).filter_map(mean).collect();
        assert!(mean_error_in_time(&wave) > 1.2 * mean_error(&parts));
        assert_eq!(mean_error_in_time(&v), mean_error(&v));
        assert!(mean_error(&[3.0]) > 3.0 && mean_error(&[]) == 0.0);
        let (low, high) = share_range(9.0, 10.0);
        assert!(low < 0.7 && (0.95..1.0).contains(&high), "{low} {high}");
        assert_eq!(share_range(0.0, 0.0), (0.0, 1.0));
    }

    /// Holds for independent values, and for values that are correlated over a fortieth of the
    /// time.
    #[test]
    fn nine_of_ten_means_in_time_are_in_the_range() {
        const VALUES: usize = 80;
        let mut rng = Rng::of(3);
        let mut held = |kept: f64| {
            const RUNS: usize = 2000;
            let mut one = || {
                let mut now = 0.0;
                // Starts in equilibrium.
                let values: Vec<f64> = (0..2 * VALUES)
                    .map(|_| {
                        now = kept * now + rng.fraction() - 0.5;
                        now
                    })
                    .skip(VALUES)
                    .collect();
                mean(&values).unwrap().abs() <= mean_error_in_time(&values)
            };
            (0..RUNS).filter(|_| one()).count() as f64 / RUNS as f64
        };
        let (alone, together) = (held(0.0), held((-0.5f64).exp()));
        assert!((0.90..=0.95).contains(&alone), "{alone}");
        assert!((0.85..=0.95).contains(&together), "{together}");
    }

    #[test]
    fn the_mean_of_sizes_is_known_to_a_factor() {
        let near = |got: (f64, f64), want: (f64, f64)| {
            let apart = (got.0 - want.0).abs().max((got.1 - want.1).abs());
            assert!(apart < 0.03, "{got:?} {want:?}");
        };
        // χ² with 2, 4 and 20 degrees of freedom at 5 and 95 %, over the degrees of freedom.
        near(exponential_log_errors(1), (2.996f64.ln(), -0.0513f64.ln()));
        near(exponential_log_errors(2), (2.372f64.ln(), -0.1777f64.ln()));
        near(
            exponential_log_errors(10),
            (1.5705f64.ln(), -0.5425f64.ln()),
        );
        assert_eq!(log_errors_of_sizes(&[]), None);
        assert_eq!(log_errors_of_sizes(&[7.0]), Some(exponential_log_errors(1)));
        // Two sizes that are far apart by chance, and ten that hardly differ.
        assert_eq!(
            log_errors_of_sizes(&[1.0, 16.0]),
            Some(exponential_log_errors(2))
        );
        let alike: Vec<f64> = (0..10).map(|i| 10.0 + f64::from(i % 2)).collect();
        let (less, more) = log_errors_of_sizes(&alike).unwrap();
        assert!(less == more && less < 0.04, "{less}");
        // Many correlated sizes tell less than as many independent ones.
        let wave: Vec<f64> = (0..400).map(|i| f64::from(1 + i / 100)).collect();
        let mixed: Vec<f64> = (0..400).map(|i| f64::from(1 + i % 4)).collect();
        let error = |sizes: &[f64]| log_errors_of_sizes(sizes).unwrap().1;
        assert!(error(&wave) > 5.0 * error(&mixed));
    }
}
