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

use crate::bscl::{self, Link};
use crate::error::{RuleError, positive};
use crate::measured::{CongestionControl, Interval, Measured, Regime, Synchrony};
use crate::observed::{LEAST_DROPS, LossScaling, WindowScaling};
use crate::{ngi, single_flow, utb};
use serde::{Deserialize, Serialize};

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

/// Means over one swing of the aggregate window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swing {
    /// Share of the LBP flows' capacity that they use.
    pub utilisation: f64,
    /// Mean queue over C·T.
    pub mean_queue_bdp: f64,
}

/// Means over a swing of the aggregate window between `lowest` and `highest`,
/// both over C·T. One round takes T while the link is not full and W/C after.
///
/// # Errors
/// `highest` not above 0.
pub fn swing(lowest: f64, highest: f64) -> Result<Swing, RuleError> {
    let x = positive("largest window over C*T", highest)?;
    let r = lowest.clamp(0.0, x);
    if x - r < 1e-9 {
        return Ok(Swing {
            utilisation: x.min(1.0),
            mean_queue_bdp: (x - 1.0).max(0.0),
        });
    }
    let (empty_to, full_from) = (x.min(1.0), r.max(1.0));
    let empty_time = (empty_to - r).max(0.0);
    let empty_work = ((empty_to * empty_to - r * r) / 2.0).max(0.0);
    let full_time = ((x * x - full_from * full_from) / 2.0).max(0.0);
    let queue = |w: f64| w * w * w / 3.0 - w * w / 2.0;
    let backlog = if x > full_from {
        queue(x) - queue(full_from)
    } else {
        0.0
    };
    let time = empty_time + full_time;
    Ok(Swing {
        utilisation: ((empty_work + full_time) / time).min(1.0),
        mean_queue_bdp: backlog / time,
    })
}

/// One choice of the uncertain quantities.
#[derive(Clone, Copy)]
struct Choice {
    n_b: f64,
    alpha: f64,
    t_e_s: f64,
    share: f64,
}

#[derive(Clone, Copy)]
struct Outcome {
    utilisation: f64,
    loss_rate: f64,
    delay_ms: f64,
    delay_mean_ms: f64,
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
    let central = at(Choice {
        n_b: measured.n_b.value,
        alpha: measured.alpha.value,
        t_e_s: measured.t_e_s.value,
        share: measured.c_e_share.value,
    })?;
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
    if let Some(there) = at_limit_in_force(measured)? {
        widen_by_observation(measured, &there, &central, &mut prediction);
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
    let choice = Choice {
        n_b: measured.n_b.value,
        alpha: measured.alpha.value,
        t_e_s: measured.t_e_s.value,
        share: measured.c_e_share.value,
    };
    outcome(measured, choice, limit).map(Some)
}

fn widen_by_observation(
    measured: &Measured,
    there: &Outcome,
    here: &Outcome,
    prediction: &mut Prediction,
) {
    let Some(observed) = measured.observed else {
        return;
    };
    if observed.drops >= LEAST_DROPS {
        let factor = (observed.loss_rate / there.loss_rate.max(1e-12)).clamp(0.1, 10.0);
        widen(
            &mut prediction.loss_rate,
            (here.loss_rate * factor).min(1.0),
        );
    }
    let off = observed.utilisation - there.utilisation;
    widen(
        &mut prediction.utilisation,
        (here.utilisation + off).clamp(0.0, 1.0),
    );
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

fn lbp_present(measured: &Measured) -> bool {
    measured.n_b.value >= 1.0
        && measured.regime != Regime::Transparent
        && measured.saturable != Some(false)
}

fn outcome(m: &Measured, c: Choice, buffer_bytes: f64) -> Result<Outcome, RuleError> {
    let drain = m.drain_bytes_per_s();
    // A packet is admitted while the occupancy is below the limit, and waits
    // for the one in transmission too.
    let full_ms = (buffer_bytes + m.segment_bytes) / drain * 1e3;
    if !lbp_present(m) || c.n_b < 1.0 || c.share <= 0.0 {
        return without_lbp(m, buffer_bytes, full_ms);
    }
    let link = Link {
        lbp_bytes_per_s: drain * c.share.min(1.0),
        t_e_s: c.t_e_s,
        segment_bytes: m.segment_bytes,
        n_b: c.n_b,
    };
    let q = if c.n_b < 5.0 {
        1.0
    } else {
        bscl::loss_fraction(c.n_b, (c.alpha * c.n_b).max(1.0))?
    };
    let beta = m.beta.unwrap_or(single_flow::BETA_RENO);
    let bdp = link.bdp_bytes();
    let highest = (bdp + buffer_bytes) / bdp;
    let step = (1.0 - q) * m.segment_bytes * c.n_b / bdp;
    let lowest = highest * (1.0 - q * (1.0 - beta)) + step;
    let s = swing(lowest, highest)?;
    let share = c.share.min(1.0);
    let others = m.rho_other.min(1.0 - share).max(0.0);
    let overload = m.regime == Regime::Overload;
    let utilisation = if overload {
        1.0
    } else if m.congestion_control == CongestionControl::Bbr {
        // One of the eight phases of its cycle drains at 3/4 (UTB §3.5).
        let lowest = single_flow::bbr_utilisation(bdp, buffer_bytes)?;
        (1.0 - share * (1.0 - lowest) / 8.0).min(1.0)
    } else {
        // What the LBP flows leave unused of their part stays unused.
        (share * s.utilisation + others.max(1.0 - share)).min(1.0)
    };
    let mut loss_rate = bscl::loss_rate_at(link, buffer_bytes)?;
    if overload && m.rho_other > 1.0 {
        loss_rate = loss_rate.max(1.0 - 1.0 / m.rho_other);
    }
    let mean_ms = (s.mean_queue_bdp * bdp / drain * 1e3).min(full_ms);
    Ok(Outcome {
        utilisation,
        loss_rate,
        delay_ms: full_ms,
        delay_mean_ms: if overload { full_ms } else { mean_ms },
    })
}

fn without_lbp(m: &Measured, buffer_bytes: f64, full_ms: f64) -> Result<Outcome, RuleError> {
    let load = m.rho.max(0.0);
    let packets = buffer_bytes / m.segment_bytes;
    let packet_ms = m.segment_bytes / m.drain_bytes_per_s() * 1e3;
    if load >= 1.0 {
        return Ok(Outcome {
            utilisation: 1.0,
            loss_rate: 1.0 - 1.0 / load,
            delay_ms: full_ms,
            delay_mean_ms: full_ms,
        });
    }
    let loss_rate = if load > 0.0 {
        ngi::transparent_loss(load, packets)?
    } else {
        0.0
    };
    Ok(Outcome {
        utilisation: load,
        loss_rate,
        delay_ms: full_ms,
        delay_mean_ms: (load / (1.0 - load) * packet_ms).min(full_ms),
    })
}

#[cfg(test)]
mod tests;
