// SPDX-License-Identifier: Apache-2.0
//! Utilisation, loss and delay to expect at a limit.
//!
//! Elastic regime: the aggregate window of the LBP flows swings between what
//! BSCL eq. 14 leaves after a loss event, W' = q·β·W + (1 − q)·(W + M), and
//! C·T + B, growing by one segment per flow and RTT. Below C·T the link is not
//! full, above it the surplus stands in the queue; the means over one swing are
//! closed forms ([`swing`]). Loss is BSCL eq. 18. What was measured at the limit
//! in force goes before both where it can be scaled ([`crate::observed`]).
//! Transparent regime: NGI §IV-A.

mod outcome;
mod swing;

use crate::error::{RuleError, positive};
use crate::measured::{CongestionControl, Interval, Measured, Regime, Synchrony};
use crate::observed::{LEAST_DROPS, LossScaling, WindowScaling, Z90};
use crate::{single_flow, utb};
use outcome::{Choice, Outcome, lbp_present, outcome};
use serde::{Deserialize, Serialize};
pub use swing::{Swing, swing};

/// The expected outcome at one limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Mean utilisation, fraction.
    pub utilisation: Interval,
    /// Drops over arrivals.
    pub loss_rate: Interval,
    /// Largest queueing delay, ms.
    pub delay_ms: Interval,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: Interval,
    /// What the papers' formulas give, where the prediction rests on what was
    /// measured at the limit in force instead ([`crate::observed`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub formula: Option<FormulaPrediction>,
}

/// The papers' formulas at one limit (BSCL eq. 14 and 18; NGI §IV-A).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormulaPrediction {
    pub utilisation: f64,
    pub loss_rate: f64,
    pub delay_mean_ms: f64,
}

/// One point of a what-if curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIfPoint {
    pub buffer_bytes: f64,
    pub predicted: Prediction,
}

/// Prediction at a limit of `buffer_bytes`, with the range that the uncertainty
/// of N_b, α, Tₑ, Cₑ (every combination of their bounds) and Δ (UTB Theorem 7
/// as a floor where its condition holds) leaves. It is widened by how far the
/// model is off at the limit in force: the loss rate by the ratio (the constant
/// of eq. 18 depends on acknowledgement and recovery policy), utilisation by the
/// difference.
///
/// Where the conditions of [`crate::observed`] hold, what was measured at the
/// limit in force, scaled to this limit, takes the place of the formulas, which
/// are then given in `formula`.
///
/// # Errors
/// A quantity is out of range; the error names it.
pub fn predict(measured: &Measured, buffer_bytes: f64) -> Result<Prediction, RuleError> {
    positive("queue drain rate (bits/s)", measured.queue_drain_bps)?;
    positive("M (bytes)", measured.segment_bytes)?;
    let at = |choice| outcome(measured, choice, buffer_bytes);
    let central = at(Choice::central(measured))?;
    let mut prediction = Prediction {
        utilisation: Interval::exact(central.utilisation),
        loss_rate: Interval::exact(central.loss_rate),
        delay_ms: Interval::exact(central.delay_ms),
        delay_mean_ms: Interval::exact(central.delay_mean_ms),
        formula: None,
    };
    let ends = |i: Interval| [i.low, i.high];
    // Fewer than one flow would be another regime.
    let least = measured.n_b.value.clamp(0.0, 1.0);
    for n_b in ends(measured.n_b).map(|n| n.max(least)) {
        for alpha in ends(measured.alpha) {
            for t_e_s in ends(measured.t_e_s) {
                for share in ends(measured.c_e_share) {
                    let o = at(Choice {
                        n_b,
                        alpha,
                        t_e_s,
                        share,
                        together: false,
                    })?;
                    widen(&mut prediction.utilisation, o.utilisation);
                    widen(&mut prediction.loss_rate, o.loss_rate);
                    widen(&mut prediction.delay_ms, o.delay_ms);
                    widen(&mut prediction.delay_mean_ms, o.delay_mean_ms);
                }
            }
        }
    }
    floor_of_theorem_7(measured, &mut prediction.utilisation)?;
    if losses_unseen(measured) {
        widen_for_unseen_losses(measured, buffer_bytes, &mut prediction)?;
    }
    if let Some(there) = at_limit_in_force(measured)? {
        widen_by_observation(measured, &there, &central, &mut prediction);
        stay_with_bbr(measured, &there, &central, &mut prediction);
    }
    put_measurement_first(measured, buffer_bytes, &central, &mut prediction)?;
    Ok(prediction)
}

/// Predictions over a range of limits, for charts.
///
/// # Errors
/// As [`predict`].
pub fn what_if(
    measured: &Measured,
    buffers_bytes: impl IntoIterator<Item = f64>,
) -> Result<Vec<WhatIfPoint>, RuleError> {
    buffers_bytes
        .into_iter()
        .map(|buffer_bytes| {
            Ok(WhatIfPoint {
                buffer_bytes,
                predicted: predict(measured, buffer_bytes)?,
            })
        })
        .collect()
}

fn widen(interval: &mut Interval, value: f64) {
    *interval = Interval::new(
        interval.value,
        interval.low.min(value),
        interval.high.max(value),
    );
}

/// Whether flows bottlenecked here were watched that hardly lost: nothing is
/// known then of how many lose together, nor of how much each loses.
pub fn losses_unseen(measured: &Measured) -> bool {
    lbp_present(measured)
        && measured.observed.is_some_and(|o| o.drops < LEAST_DROPS)
        && measured.congestion_control != CongestionControl::Bbr
}

/// How far loss may be above BSCL eq. 18 while no loss was seen: its constant is
/// 0.87 with an acknowledgement for every other segment and 1.22 where every
/// segment counts (as in Linux), and eq. 2 has one drop per reduction where
/// bursts make it two or three.
const UNSEEN_LOSS_FACTOR: f64 = (1.22 / 0.87) * (1.22 / 0.87) * 2.5;

/// Without losses the worst end is that all flows lose at once (q = 1), and for a
/// single flow what its window leaves right after a decrease (UTB §3.5): a burst
/// of losses keeps it there.
fn widen_for_unseen_losses(
    measured: &Measured,
    buffer_bytes: f64,
    prediction: &mut Prediction,
) -> Result<(), RuleError> {
    for t_e_s in [measured.t_e_s.value, measured.t_e_s.high] {
        for share in [measured.c_e_share.low, measured.c_e_share.high] {
            let choice = Choice {
                t_e_s,
                share,
                together: true,
                ..Choice::central(measured)
            };
            let o = outcome(measured, choice, buffer_bytes)?;
            widen(&mut prediction.utilisation, o.utilisation);
            if measured.n_b.value < 2.0 {
                let bdp_bytes = measured.drain_bytes_per_s() * t_e_s * share;
                let beta = single_flow::beta_of(measured.congestion_control)
                    .unwrap_or(single_flow::BETA_RENO);
                let left = single_flow::utilisation(bdp_bytes, beta, buffer_bytes)?;
                widen(
                    &mut prediction.utilisation,
                    1.0 - share.min(1.0) * (1.0 - left),
                );
            }
        }
    }
    let high = (prediction.loss_rate.value * UNSEEN_LOSS_FACTOR).min(1.0);
    widen(&mut prediction.loss_rate, high);
    Ok(())
}

fn floor_of_theorem_7(measured: &Measured, utilisation: &mut Interval) -> Result<(), RuleError> {
    let (
        Some(delta),
        Some(Synchrony {
            condition_fraction, ..
        }),
    ) = (measured.delta, measured.synchrony)
    else {
        return Ok(());
    };
    if measured.regime == Regime::Elastic && measured.n_b.low >= 1.0 && condition_fraction >= 0.95 {
        let floor = utb::utilisation_floor(measured.n_b.low, delta.high.max(1.0))?;
        utilisation.low = utilisation.low.max(floor).min(utilisation.value);
    }
    Ok(())
}

/// What the model says of the limit in force, where that was observed.
fn at_limit_in_force(measured: &Measured) -> Result<Option<Outcome>, RuleError> {
    let (Some(_), Some(limit)) = (measured.observed, measured.limit_bytes) else {
        return Ok(None);
    };
    if !lbp_present(measured) {
        return Ok(None);
    }
    outcome(measured, Choice::central(measured), limit).map(Some)
}

/// Where few drops were seen, the formula counts as much as this many. None seen
/// says little: the first may be the flows' first at all.
const PRIOR_DROPS: f64 = 4.0;

fn widen_by_observation(
    measured: &Measured,
    there: &Outcome,
    here: &Outcome,
    prediction: &mut Prediction,
) {
    let Some(observed) = measured.observed else {
        return;
    };
    if observed.drops > 0 {
        let factor = (observed.loss_rate / there.loss_rate.max(1e-12)).clamp(0.1, 10.0);
        widen(
            &mut prediction.loss_rate,
            (here.loss_rate * factor).min(1.0),
        );
    }
    if (1..LEAST_DROPS).contains(&observed.drops) {
        let expected = there.loss_rate * observed.drops as f64 / observed.loss_rate;
        let more = (observed.drops as f64 + PRIOR_DROPS) / (expected + PRIOR_DROPS);
        put_first(
            &mut prediction.loss_rate,
            (here.loss_rate * more.max(1.0)).min(1.0),
        );
    }
    let off = observed.utilisation - there.utilisation;
    widen(
        &mut prediction.utilisation,
        (here.utilisation + off).clamp(0.0, 1.0),
    );
}

/// Flows that all follow a model of the path (BBR) lose at another limit what
/// they do at this one, and what they leave unused here (for a cause that no
/// formula has: probing of the base RTT, a changing path) they leave there, too.
fn stay_with_bbr(
    measured: &Measured,
    there: &Outcome,
    here: &Outcome,
    prediction: &mut Prediction,
) {
    let Some(observed) = measured.observed else {
        return;
    };
    if measured.congestion_control != CongestionControl::Bbr {
        return;
    }
    let off = observed.utilisation - there.utilisation;
    put_first(
        &mut prediction.utilisation,
        (here.utilisation + off).clamp(0.0, 1.0),
    );
    if observed.drops > 0 {
        let error = (Z90 / (observed.drops as f64).sqrt()).min(1.0);
        for factor in [1.0 - error, 1.0 + error] {
            let end = (observed.loss_rate * factor).min(1.0);
            widen(&mut prediction.loss_rate, end);
        }
        put_first(&mut prediction.loss_rate, observed.loss_rate);
    }
}

/// Another value within the range, which it widens where it has to.
fn put_first(interval: &mut Interval, value: f64) {
    *interval = Interval::new(value, interval.low, interval.high);
}

/// Where the measured values can be scaled they replace the formulas.
fn put_measurement_first(
    measured: &Measured,
    buffer_bytes: f64,
    formula: &Outcome,
    prediction: &mut Prediction,
) -> Result<(), RuleError> {
    let (loss, window) = (LossScaling::of(measured), WindowScaling::of(measured));
    if loss.is_none() && window.is_none() {
        return Ok(());
    }
    prediction.formula = Some(FormulaPrediction {
        utilisation: formula.utilisation,
        loss_rate: formula.loss_rate,
        delay_mean_ms: formula.delay_mean_ms,
    });
    if let Some(loss) = loss {
        prediction.loss_rate = loss.interval_at(buffer_bytes)?;
    }
    if let Some(window) = window {
        prediction.utilisation = window.interval_at(buffer_bytes)?;
        let full = prediction.delay_ms.value;
        let mean = window.delay_interval_at(buffer_bytes)?;
        prediction.delay_mean_ms = Interval::new(
            mean.value.min(full),
            mean.low.min(full),
            mean.high.min(full),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests;
