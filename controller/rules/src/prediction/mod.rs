// SPDX-License-Identifier: Apache-2.0
//! Utilisation, loss and delay to expect at a limit.
//!
//! Elastic regime: the aggregate window of the LBP flows swings between what
//! BSCL eq. 14 leaves after a loss event, W' = q·β·W + (1 − q)·(W + M), and
//! C·T + B, growing by one segment per flow and RTT. Below C·T the link is not
//! full, above it the surplus stands in the queue; the means over one swing are
//! closed forms ([`crate::sawtooth`]). Loss is BSCL eq. 18. What was measured at the limit
//! in force goes before both where it can be scaled (see [`crate::extrapolation`]).
//! Without a flow that waits for the link: M/M/1/K, with the occupancy as measured
//! where it was.

mod model;
mod model_based;
mod outcome;
mod uncertainty;
mod without_lbp;

pub use outcome::{FormulaPrediction, Prediction, WhatIfPoint};

use crate::bisection::smallest_between;
use crate::error::{RuleError, positive};
use crate::extrapolation::{LEAST_DROPS, LossScaling, WindowScaling, overshoot_bytes};
use crate::range::Range;
use crate::traffic::{CongestionControl, Traffic};
use model::Parameters;
pub(crate) use model::lbp_present;
use outcome::ModelOutcome;
use uncertainty::{
    at_limit_in_force, floor_of_theorem_7, widen_by_observation, widen_for_constant,
    widen_for_description, widen_for_synchrony, widen_for_unobserved_losses,
};

/// Prediction at a limit of `buffer_bytes`, with the range that the uncertainty
/// of N_b, α, Tₑ, Cₑ (every combination of their bounds) and Δ (UTB Theorem 7
/// as a floor where its condition holds) leaves, and that of the constant of eq. 18
/// where nothing was measured. It is widened by how far the
/// model is off at the limit in force: the loss rate by the ratio (the constant
/// of eq. 18 depends on acknowledgement and recovery policy), utilisation by the
/// difference.
///
/// Where the conditions of [`crate::extrapolation`] hold, what was measured at the
/// limit in force, scaled to this limit, takes the place of the formulas, which
/// are then given in `formula`.
pub fn predict(traffic: &Traffic, buffer_bytes: f64) -> Result<Prediction, RuleError> {
    positive("queue drain rate (bits/s)", traffic.queue_drain_bps)?;
    positive("M (bytes)", traffic.segment_bytes)?;
    if !lbp_present(traffic) {
        return without_lbp::predict(traffic, buffer_bytes);
    }
    let at = |choice| model::outcome(traffic, choice, buffer_bytes);
    let central = at(Parameters::central(traffic))?;
    let mut prediction = Prediction::exact(&central);
    let ends = |i: Range| [i.low, i.high];
    // Fewer than one flow would be another regime.
    let least = traffic.n_b.value.clamp(0.0, 1.0);
    for n_b in ends(traffic.n_b).map(|n| n.max(least)) {
        for alpha in ends(traffic.alpha) {
            for t_e_s in ends(traffic.t_e_s) {
                for share in ends(traffic.c_e_share) {
                    prediction.widen(&at(Parameters {
                        n_b,
                        alpha,
                        t_e_s,
                        share,
                        together: false,
                    })?);
                }
            }
        }
    }
    floor_of_theorem_7(traffic, &mut prediction.utilisation)?;
    if losses_unobserved(traffic) {
        widen_for_synchrony(traffic, buffer_bytes, &mut prediction)?;
        widen_for_unobserved_losses(&mut prediction);
    }
    if let Some(constant) = traffic.assumed_constant {
        widen_for_synchrony(traffic, buffer_bytes, &mut prediction)?;
        widen_for_constant(constant, &mut prediction);
        widen_for_description(traffic, buffer_bytes, &mut prediction);
    }
    let there = at_limit_in_force(traffic)?;
    if let Some(there) = &there {
        widen_by_observation(traffic, there, &central, &mut prediction);
    }
    let there = there.as_ref();
    model_based::predict_by_cap(traffic, there, &central, buffer_bytes, &mut prediction)?;
    put_measurement_first(traffic, buffer_bytes, &central, &mut prediction)?;
    add_overshoot(traffic, buffer_bytes, &mut prediction);
    Ok(prediction)
}

/// Smallest buffer at which a prediction that only gets better with more of it
/// meets what is asked, up to 100 times C·T̄, or 2 s where that is less.
pub(crate) fn smallest(m: &Traffic, good: impl Fn(&Prediction) -> bool) -> Option<f64> {
    let meets = |bytes: f64| predict(m, bytes).is_ok_and(|p| good(&p));
    if meets(0.0) {
        return Some(0.0);
    }
    let high = m.drain_bytes_per_s() * (100.0 * m.t_mean_s.value).max(2.0);
    if !meets(high) {
        return None;
    }
    Some(smallest_between((0.0, high), 60, meets))
}

/// Predictions over a range of limits, for charts.
pub fn what_if(
    traffic: &Traffic,
    buffers_bytes: impl IntoIterator<Item = f64>,
) -> Result<Vec<WhatIfPoint>, RuleError> {
    buffers_bytes
        .into_iter()
        .map(|buffer_bytes| {
            Ok(WhatIfPoint {
                buffer_bytes,
                predicted: predict(traffic, buffer_bytes)?,
            })
        })
        .collect()
}

/// Whether flows bottlenecked here were watched and lost few packets: nothing is
/// known then of how many lose together, nor of how much each loses.
pub fn losses_unobserved(traffic: &Traffic) -> bool {
    lbp_present(traffic)
        && traffic.observed.is_some_and(|o| o.drops < LEAST_DROPS)
        && traffic.congestion_control != CongestionControl::Bbr
}

/// Above a marking threshold packets are admitted until the flows answer: none of
/// them, as many as were measured, or twice as many.
fn add_overshoot(traffic: &Traffic, buffer_bytes: f64, prediction: &mut Prediction) {
    if let Some(bytes) = overshoot_bytes(traffic, buffer_bytes) {
        let ms = bytes / traffic.drain_bytes_per_s() * 1e3;
        let threshold = prediction.delay_ms;
        prediction.delay_ms = Range::new(
            threshold.value + ms,
            threshold.low,
            threshold.high + 2.0 * ms,
        );
    }
}

/// Where the measured values can be scaled they replace the formulas.
fn put_measurement_first(
    traffic: &Traffic,
    buffer_bytes: f64,
    formula: &ModelOutcome,
    prediction: &mut Prediction,
) -> Result<(), RuleError> {
    let (loss, window) = (LossScaling::of(traffic), WindowScaling::of(traffic));
    if loss.is_none() && window.is_none() {
        return Ok(());
    }
    prediction.formula = Some(formula.into());
    if let Some(loss) = loss {
        prediction.loss_rate = loss.range_at(buffer_bytes)?;
    }
    if let Some(window) = window {
        prediction.utilisation = window.range_at(buffer_bytes)?;
        let full = prediction.delay_ms.value;
        let mean = window.mean_delay_range_ms_at(buffer_bytes)?;
        prediction.delay_mean_ms = Range::new(
            mean.value.min(full),
            mean.low.min(full),
            mean.high.min(full),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
