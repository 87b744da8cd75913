// SPDX-License-Identifier: Apache-2.0
//! Converts between ranges and the probability that a target is met.
//!
//! A range contains the true value in 90 of 100 cases: its ends are taken as the 5th and 95th
//! percentile of a normal distribution of the value (utilisation, delay) or of its logarithm
//! (loss), with a separate width for each side.

use tidemark_rules::Range;
use tidemark_rules::quantiles::Z90;

/// Constants of H. Shore's approximation of the normal quantile (1982); the error is below 0.01
/// between 0.5 and 0.99.
const SHORE: (f64, f64) = (5.5556, 0.1186);

/// Returns the normal quantile of a probability, in units of the width of a range's side.
fn quantile(probability: f64) -> f64 {
    let p = probability.clamp(0.001, 0.999);
    let upper = |p: f64| SHORE.0 * (1.0 - ((1.0 - p) / p).powf(SHORE.1));
    if p < 0.5 {
        -upper(1.0 - p) / Z90
    } else {
        upper(p) / Z90
    }
}

/// Returns the probability of a normal quantile in units of a side's width.
fn probability(widths: f64) -> f64 {
    let z = (widths.abs() * Z90).min(SHORE.0 - 1e-6);
    let upper = 1.0 / (1.0 + (1.0 - z / SHORE.0).powf(1.0 / SHORE.1));
    if widths < 0.0 { 1.0 - upper } else { upper }
}

/// Returns the utilisation that is reached with a probability of `confidence`.
pub(crate) fn utilisation_at(range: Range, confidence: f64) -> f64 {
    let z = quantile(confidence);
    let end = if z < 0.0 { range.high } else { range.low };
    range.value + (end - range.value) * z.abs()
}

/// Returns the loss rate that is not exceeded with a probability of `confidence`.
pub(crate) fn loss_at(range: Range, confidence: f64) -> f64 {
    let z = quantile(confidence);
    let end = if z < 0.0 { range.low } else { range.high };
    if range.value > 0.0 && end > 0.0 {
        range.value * (end / range.value).powf(z.abs())
    } else {
        range.value + (end - range.value) * z.abs()
    }
}

/// Returns the probability that the utilisation is at least `target`.
pub(crate) fn utilisation_met(range: Range, target: f64) -> f64 {
    let off = range.value - target;
    let side = if off < 0.0 {
        range.high - range.value
    } else {
        range.value - range.low
    };
    probability(off / side.max(1e-9))
}

/// Returns the probability that the loss rate is at most `target`.
pub(crate) fn loss_met(range: Range, target: f64) -> f64 {
    let end = if range.value <= target {
        range.high
    } else {
        range.low
    };
    let in_logarithms = range.value > 0.0 && end > 0.0;
    let (off, side) = if in_logarithms {
        ((target / range.value).ln(), (end / range.value).ln().abs())
    } else {
        (target - range.value, (end - range.value).abs())
    };
    probability(off / side.max(1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_the_5th_and_95th_percentile() {
        for (p, z) in [
            (0.5, 0.0),
            (0.9, 1.2816),
            (0.95, 1.645),
            (0.99, 2.326),
            (0.1, -1.2816),
        ] {
            assert!((quantile(p) * Z90 - z).abs() < 0.012, "{p}");
            assert!((probability(z / Z90) - p).abs() < 0.003, "{z}");
        }
    }

    #[test]
    fn a_target_is_met_with_the_probability_of_its_quantile() {
        let loss = Range::new(0.01, 0.006, 0.02);
        let used = Range::new(0.98, 0.95, 0.99);
        for p in [0.1, 0.3, 0.5, 0.8, 0.9, 0.95] {
            assert!((loss_met(loss, loss_at(loss, p)) - p).abs() < 1e-6);
            assert!((utilisation_met(used, utilisation_at(used, p)) - p).abs() < 1e-6);
        }
        assert_eq!(loss_at(loss, 0.5), 0.01);
        // Without losses the range is linear.
        let none = Range::new(0.0, 0.0, 0.001);
        assert!(loss_met(none, 0.01) > 0.99 && loss_at(none, 0.95) < 0.0011);
    }
}
