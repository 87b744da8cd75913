// SPDX-License-Identifier: Apache-2.0
//! How far off an extrapolation may be.

use crate::models::sampling::Z90;
use tidemark_rules::bscl;
use tidemark_rules::traffic::Traffic;

/// How uncertain the exponent of k is for windows: 1 within this.
const EXPONENT_ERROR: f64 = 0.15;
/// CUBIC's window grows with time and not with RTTs: its swing may change less.
const CUBIC_EXPONENT_LOW: f64 = 0.5;
/// Loss events in which all flows lose, that count with those seen: a handful
/// says little of how flows lose together.
pub(super) const PRIOR_EVENTS: f64 = 4.0;
/// Part of the drops that are of flows which follow a model of the path.
pub(super) fn model_based(m: &Traffic) -> f64 {
    let drops = m.observed.map_or(0, |o| o.drops);
    (m.model_based_drops as f64 / drops.max(1) as f64).min(1.0)
}

/// The measured loss rate without the drops of flows that follow a model.
pub(super) fn loss_rate_without_model_based(m: &Traffic) -> Option<f64> {
    let observed = m.observed?;
    Some(observed.loss_rate * (1.0 - model_based(m)))
}

/// Relative sampling error (90 %) of a loss rate that will be measured, in as long a time,
/// at a limit that loses `factor` times as much: both samples are drawn.
pub(super) fn loss_sampling_error_at(m: &Traffic, factor: f64) -> f64 {
    let here = m.loss_events();
    let there = (here * factor.min(1e6)).max(1.0);
    Z90 * (1.0 / here + 1.0 / there).sqrt()
}

/// Student's t of a two-sided 90 % interval, up to 10 degrees of freedom.
const T90: [f64; 10] = [
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812,
];

/// Sampling error (90 %) of a mean utilisation over its deviation. Of a few flows
/// sawteeth are counted: their deviation is known from as many as were seen
/// (Student), and what will be measured in as long a time is drawn, too.
pub(super) fn utilisation_sampling_error(m: &Traffic) -> f64 {
    let events = m.loss_events();
    if m.n_b.value >= bscl::FEW_FLOWS {
        return Z90 / events.sqrt();
    }
    let degrees = (events.floor() - 1.0).max(1.0);
    let t = T90.get(degrees as usize - 1).copied();
    // Beyond the table its expansion about the normal quantile, first term.
    let t = t.unwrap_or(Z90 + (Z90.powi(3) + Z90) / 4.0 / degrees);
    t * (2.0 / events).sqrt()
}

/// Lowest and highest exponent of k for windows.
pub(super) fn exponents(m: &Traffic) -> [f64; 2] {
    let cubic = m.mix().cubic;
    let low = cubic * CUBIC_EXPONENT_LOW + (1.0 - cubic) * (1.0 - EXPONENT_ERROR);
    [low, 1.0 + EXPONENT_ERROR]
}
