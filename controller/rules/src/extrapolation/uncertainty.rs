// SPDX-License-Identifier: Apache-2.0
//! How far off an extrapolation may be.

use crate::traffic::{CongestionControl, Traffic};

/// How uncertain the exponent of k is: 1 for windows (2 for loss) within this.
const EXPONENT_ERROR: f64 = 0.15;
/// CUBIC's window grows with time and not with RTTs: its exponent for loss is
/// between 1 and 2.
const CUBIC_EXPONENT_LOW: f64 = 0.5;
/// Loss events in which all flows lose, that count with those seen: a handful
/// says little of how flows lose together.
pub(super) const PRIOR_EVENTS: f64 = 4.0;
/// Normal quantile of a two-sided 90 % interval.
pub(crate) const Z90: f64 = 1.645;

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

/// Relative sampling error of a loss rate (90 %): drops come in bursts of
/// L̄ = α·N_b, and bursts are what is counted.
pub(super) fn loss_sampling_error(m: &Traffic) -> f64 {
    Z90 / loss_events(m).sqrt()
}

pub(super) fn loss_events(m: &Traffic) -> f64 {
    let burst = if m.alpha_measured {
        (m.alpha.value * m.n_b.value).max(1.0)
    } else {
        1.0
    };
    (m.observed.map_or(0, |o| o.drops) as f64 / burst).max(1.0)
}

/// Lowest and highest exponent of k for windows.
pub(super) fn exponents(m: &Traffic) -> [f64; 2] {
    let low = if m.congestion_control == CongestionControl::Cubic {
        CUBIC_EXPONENT_LOW
    } else {
        1.0 - EXPONENT_ERROR
    };
    [low, 1.0 + EXPONENT_ERROR]
}
