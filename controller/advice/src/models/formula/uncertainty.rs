// SPDX-License-Identifier: Apache-2.0
//! Errors of the formulas: for unobserved losses, by theorem 7 of UTB, and by their deviation at
//! the limit in force.

use super::outcome::{self, Parameters};
use crate::models::reductions::short_by_bursts;
use crate::prediction::Prediction;
use tidemark_rules::bscl;
use tidemark_rules::error::RuleError;
use tidemark_rules::range::Range;
use tidemark_rules::traffic::{Regime, Synchrony, Traffic};
use tidemark_rules::utb::{self, single_flow};

/// Largest factor of loss over BSCL eq. 18 if no loss was seen: its constant is 0.87 with an
/// acknowledgement for every other segment and 1.22 if every segment counts (as in Linux), and eq.
/// 2 has one drop per reduction where bursts cause two or three.
const UNOBSERVED_LOSS_FACTOR: f64 = (1.22 / 0.87) * (1.22 / 0.87) * 2.5;

/// Widens the range for synchronised losses. Without losses the worst case is that all flows lose
/// at once (q = 1), and for a single flow its utilisation right after a decrease (UTB §3.5), where
/// a burst of losses keeps it.
pub(super) fn widen_for_synchrony(
    traffic: &Traffic,
    buffer_bytes: f64,
    prediction: &mut Prediction,
) -> Result<(), RuleError> {
    for t_e_s in [traffic.t_e_s.value, traffic.t_e_s.high] {
        for share in [traffic.c_e_share.low, traffic.c_e_share.high] {
            let choice = Parameters {
                t_e_s,
                share,
                together: true,
                ..Parameters::central(traffic)
            };
            let o = outcome::outcome(traffic, choice, buffer_bytes)?;
            prediction.utilisation.widen(o.utilisation);
            if traffic.n_b.value < 2.0 {
                let bdp_bytes = traffic.drain_bytes_per_s() * t_e_s * share;
                let beta = single_flow::beta_of(traffic.congestion_control)
                    .unwrap_or(single_flow::BETA_RENO);
                let left = single_flow::utilisation(bdp_bytes, beta, buffer_bytes)?;
                prediction
                    .utilisation
                    .widen(1.0 - share.min(1.0) * (1.0 - left));
            }
        }
    }
    Ok(())
}

/// Widens loss up to [`UNOBSERVED_LOSS_FACTOR`] times its value.
pub(super) fn widen_for_unobserved_losses(prediction: &mut Prediction) {
    let high = (prediction.loss_rate.value * UNOBSERVED_LOSS_FACTOR).min(1.0);
    prediction.loss_rate.widen(high);
}

/// Widens loss by the square of the constant of eq. 2.
pub(super) fn widen_for_constant(constant: Range, prediction: &mut Prediction) {
    let loss = prediction.loss_rate;
    for (end, k) in [(loss.low, constant.low), (loss.high, constant.high)] {
        let factor = (k / constant.value).powi(2);
        prediction.loss_rate.widen((end * factor).min(1.0));
    }
}

/// Error of the formulas if nothing was measured: the mean of a sawtooth ignores recoveries,
/// timeouts and bursts. From simulated runs of one to twenty flows, nine of ten of which are
/// within: factor of the mean delay, and below, absolute error of the utilisation.
const DESCRIBED_DELAY: f64 = 1.3;
const DESCRIBED_UTILISATION: f64 = 0.02;
/// With few flows a loss event takes several packets from each.
const DESCRIBED_LOSS_OF_FEW: f64 = 2.5;

pub(super) fn widen_for_description(
    traffic: &Traffic,
    buffer_bytes: f64,
    prediction: &mut Prediction,
) {
    let (delay, full_ms) = (prediction.delay_mean_ms, prediction.delay_ms.value);
    prediction.delay_mean_ms.widen(delay.low / DESCRIBED_DELAY);
    let short = short_by_bursts(traffic, buffer_bytes);
    // The second of two packets that arrive together waits for the first.
    let segment_ms = traffic.segment_bytes / traffic.drain_bytes_per_s() * 1e3;
    let waits_ms = if short.is_some() { segment_ms } else { 0.0 };
    let high = (delay.high + waits_ms) * DESCRIBED_DELAY;
    let high = high.min(full_ms.max(delay.high));
    prediction.delay_mean_ms.widen(high);
    let used = prediction.utilisation;
    let low = (used.low * short.unwrap_or(1.0) - DESCRIBED_UTILISATION).max(0.0);
    prediction.utilisation.widen(low);
    let high = (used.high + DESCRIBED_UTILISATION).min(used.high.max(1.0));
    prediction.utilisation.widen(high);
    if traffic.n_b.value < bscl::FEW_FLOWS {
        let high = prediction.loss_rate.high * DESCRIBED_LOSS_OF_FEW;
        prediction.loss_rate.widen(high.min(1.0));
    }
}

pub(super) fn floor_of_theorem_7(
    traffic: &Traffic,
    utilisation: &mut Range,
) -> Result<(), RuleError> {
    let (
        Some(delta),
        Some(Synchrony {
            condition_fraction, ..
        }),
    ) = (traffic.delta, traffic.synchrony)
    else {
        return Ok(());
    };
    if traffic.regime == Regime::Elastic && traffic.n_b.low >= 1.0 && condition_fraction >= 0.95 {
        let floor = utb::utilisation_floor(traffic.n_b.low, delta.high.max(1.0))?;
        utilisation.low = utilisation.low.max(floor).min(utilisation.value);
    }
    Ok(())
}
