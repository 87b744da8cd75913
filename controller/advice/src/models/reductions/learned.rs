// SPDX-License-Identifier: Apache-2.0
//! Correction of the loss law by measurements at other limits under the same traffic.
//!
//! ln(p_j/p) = e·x_j, with x_j the law's value for limit j. The law counts as evidence for e = 1
//! with the standard deviation of its range; every tried limit is weighted by its loss events and
//! its distance. Least squares with that prior give e and its remaining uncertainty.

use super::law::Deviation;
use crate::models::sampling::{LOSS_BETWEEN_RUNS, Z90, others};
use tidemark_rules::traffic::Traffic;

/// Largest accepted exponent, relative to the law's.
const STEEPEST: f64 = 3.0;
/// Part of the law's uncertainty that remains whatever limits were tried: the exponent differs
/// between ranges of limits.
const LEAST_SPREAD: f64 = 0.5;
/// The measured response of loss to the limit, relative to the law's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Steepness {
    /// Exponent of the law's p'/p; 1 without evidence.
    pub exponent: f64,
    /// Remaining part of the law's uncertainty.
    pub spread: f64,
}

impl Steepness {
    pub fn of_the_law() -> Self {
        Self {
            exponent: 1.0,
            spread: 1.0,
        }
    }
}

/// Returns the relative error of a loss rate, one standard deviation.
fn error(events: f64) -> f64 {
    (1.0 / events.max(1.0) + LOSS_BETWEEN_RUNS * LOSS_BETWEEN_RUNS).sqrt()
}

/// Fits the response; `factor` is p'/p by the law at a limit.
pub(super) fn steepness(
    m: &Traffic,
    loss_rate: f64,
    factor: impl Fn(f64, Deviation) -> f64,
) -> Steepness {
    let (mut weights, mut sum, mut prior, mut count) = (0.0, 0.0, 0.0, 0.0);
    let here = error(m.loss_events());
    for tried in others(m).filter(|t| t.loss_rate > 0.0) {
        let x = factor(tried.limit_bytes, 0.0).ln();
        if !x.is_finite() || x.abs() < 1e-3 {
            continue;
        }
        let ends = [-1.0, 1.0].map(|by| factor(tried.limit_bytes, by).ln());
        let deviation = ((ends[1] - ends[0]) / (2.0 * Z90 * x)).abs();
        let variance = here.powi(2) + error(tried.loss_events).powi(2);
        weights += x * x / variance;
        sum += x * (tried.loss_rate / loss_rate).ln() / variance;
        prior += deviation.max(0.02).powi(-2);
        count += 1.0;
    }
    if count == 0.0 {
        return Steepness::of_the_law();
    }
    let prior = prior / count;
    Steepness {
        exponent: ((prior + sum) / (prior + weights)).clamp(0.0, STEEPEST),
        spread: (prior / (prior + weights)).sqrt().max(LEAST_SPREAD),
    }
}
