// SPDX-License-Identifier: Apache-2.0
//! Uncertainty of an extrapolation.

use crate::models::sampling::Z90;
use tidemark_rules::bscl;
use tidemark_rules::quantiles::t90;
use tidemark_rules::traffic::Traffic;

/// Uncertainty of the exponent of k for windows, around 1.
const EXPONENT_ERROR: f64 = 0.15;
/// CUBIC's window grows with time and not with RTTs, so its swing may change less.
const CUBIC_EXPONENT_LOW: f64 = 0.5;
/// Number of assumed loss events in which all flows lose, added to those seen: a handful of events
/// says little about how flows lose together.
pub(super) const PRIOR_EVENTS: f64 = 4.0;
/// Returns the share of drops of flows that follow a model of the path.
pub(super) fn model_based(m: &Traffic) -> f64 {
    let drops = m.observed.map_or(0, |o| o.drops);
    (m.model_based_drops as f64 / drops.max(1) as f64).min(1.0)
}

/// Returns the measured loss rate without the drops of flows that follow a model.
pub(super) fn loss_rate_without_model_based(m: &Traffic) -> Option<f64> {
    let observed = m.observed?;
    Some(observed.loss_rate * (1.0 - model_based(m)))
}

/// Returns the relative sampling error (90 %) of a future loss rate measured over the same duration
/// at a limit that loses `factor` times as much, including the error of both samples.
pub(super) fn loss_sampling_error_at(m: &Traffic, factor: f64) -> f64 {
    let here = m.loss_events();
    let there = (here * factor.min(1e6)).max(1.0);
    Z90 * (1.0 / here + 1.0 / there).sqrt()
}

/// Returns the sampling error (90 %) of a mean utilisation over its deviation. With a few flows
/// sawteeth are counted: their deviation is estimated from those seen (Student), and a future
/// measurement of the same duration has a sampling error as well.
pub(super) fn utilisation_sampling_error(m: &Traffic) -> f64 {
    let events = m.loss_events();
    if m.n_b.value >= bscl::FEW_FLOWS {
        return Z90 / events.sqrt();
    }
    let degrees = (events.floor() - 1.0).max(1.0);
    t90(degrees as usize) * (2.0 / events).sqrt()
}

/// Returns the lowest and highest exponent of k for windows.
pub(super) fn exponents(m: &Traffic) -> [f64; 2] {
    let cubic = m.mix().cubic;
    let low = cubic * CUBIC_EXPONENT_LOW + (1.0 - cubic) * (1.0 - EXPONENT_ERROR);
    [low, 1.0 + EXPONENT_ERROR]
}
