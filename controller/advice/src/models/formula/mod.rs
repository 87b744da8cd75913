// SPDX-License-Identifier: Apache-2.0
//! The papers' formulas of utilisation, loss and delay at a limit.
//!
//! Elastic regime: the aggregate window of the LBP flows swings between its value after a loss
//! event by BSCL eq. 14, W' = q·β·W + (1 − q)·(W + M), and C·T + B, growing by one segment per flow
//! and RTT. Below C·T the link is not full, above it the excess is queued; the means over one cycle
//! are closed forms ([`tidemark_rules::sawtooth`]). Loss is BSCL eq. 18. Without a flow
//! bottlenecked at the link: M/M/1/K.

mod at_limit;
mod outcome;
mod uncertainty;
mod without_lbp;

pub(in crate::models) use at_limit::full_ms;

use super::reductions::losses_unobserved;
use super::{Curve, Curves, Model};
use crate::prediction::{FormulaPrediction, Prediction};
use at_limit::ModelOutcome;
use outcome::Parameters;
use std::cell::Cell;
use std::rc::Rc;
use tidemark_rules::error::{RuleError, positive};
use tidemark_rules::{Range, Traffic};
use uncertainty::{
    floor_of_theorem_7, widen_for_constant, widen_for_description, widen_for_synchrony,
    widen_for_unobserved_losses,
};
use without_lbp::BURST;

/// The papers' formulas, unmodified.
pub static MODEL: Model = Model {
    id: "formulas",
    name: "the papers' formulas",
    source: "BSCL eq. 14 and 18, UTB Theorem 7, NGI §IV-A",
    evidence: "ns-3 runs described by hand: at least 85 % inside (tests/it/predictions.rs)",
    fit: |m| {
        let rtt_known = m.t_e_s.value > 0.0;
        if m.lbp_present() && !rtt_known && m.observed.is_some() {
            return None;
        }
        // Four curves are evaluated at one limit after the other.
        let last: Rc<Cell<Option<(f64, Prediction)>>> = Rc::default();
        let curve = |of: fn(&Prediction) -> Range| -> Option<Curve<'_>> {
            let last = Rc::clone(&last);
            Some(Box::new(move |bytes: f64| {
                if let Some((at, known)) = last.get()
                    && at == bytes
                {
                    return Ok(of(&known));
                }
                let p = predict(m, bytes)?;
                last.set(Some((bytes, p)));
                Ok(of(&p))
            }))
        };
        Some(Curves {
            utilisation: curve(|p| p.utilisation),
            loss_rate: curve(|p| p.loss_rate),
            delay_mean_ms: curve(|p| p.delay_mean_ms),
            delay_ms: curve(|p| p.delay_ms),
        })
    },
};

/// Returns the formulas' values at a limit, without uncertainty.
///
/// # Errors
/// An argument outside a formula's range.
pub(crate) fn central(m: &Traffic, buffer_bytes: f64) -> Result<FormulaPrediction, RuleError> {
    let o = outcome::outcome(m, Parameters::central(m), buffer_bytes)?;
    Ok(FormulaPrediction {
        utilisation: o.utilisation,
        loss_rate: o.loss_rate,
        delay_mean_ms: o.delay_mean_ms,
    })
}

/// Predicts the outcome at a limit, with the range due to the uncertainty of N_b, α, Tₑ, Cₑ (every
/// combination of their bounds) and Δ (UTB Theorem 7 as a floor if its condition holds); if no loss
/// was seen, also of synchronised flows, and if nothing was measured, of the constant of eq. 18.
///
/// # Errors
/// An argument outside a formula's range.
pub(super) fn predict(traffic: &Traffic, buffer_bytes: f64) -> Result<Prediction, RuleError> {
    positive("queue drain rate (bits/s)", traffic.queue_drain_bps)?;
    positive("M (bytes)", traffic.segment_bytes)?;
    if !traffic.lbp_present() {
        let of = |burst| without_lbp::outcome(traffic, burst, buffer_bytes);
        let mut prediction = exact(&of(BURST.value)?);
        for burst in [BURST.low, BURST.high] {
            widen(&mut prediction, &of(burst)?);
        }
        return Ok(prediction);
    }
    let at = |choice| outcome::outcome(traffic, choice, buffer_bytes);
    let mut prediction = exact(&at(Parameters::central(traffic))?);
    let ends = |i: Range| [i.low, i.high];
    // Less than one flow would be another regime.
    let least = traffic.n_b.value.clamp(0.0, 1.0);
    for n_b in ends(traffic.n_b).map(|n| n.max(least)) {
        for alpha in ends(traffic.alpha) {
            for t_e_s in ends(traffic.t_e_s) {
                for share in ends(traffic.c_e_share) {
                    let choice = Parameters {
                        n_b,
                        alpha,
                        t_e_s,
                        share,
                        together: false,
                    };
                    widen(&mut prediction, &at(choice)?);
                }
            }
        }
    }
    floor_of_theorem_7(traffic, &mut prediction.utilisation)?;
    if losses_unobserved(traffic) {
        widen_for_synchrony(traffic, buffer_bytes, &mut prediction)?;
        widen_for_unobserved_losses(&mut prediction);
    }
    if traffic.observed.is_none() {
        widen_for_synchrony(traffic, buffer_bytes, &mut prediction)?;
        if let Some(constant) = traffic.assumed_constant {
            widen_for_constant(constant, &mut prediction);
        }
        widen_for_description(traffic, buffer_bytes, &mut prediction);
    }
    Ok(prediction)
}

fn exact(o: &ModelOutcome) -> Prediction {
    Prediction {
        utilisation: Range::exact(o.utilisation),
        loss_rate: Range::exact(o.loss_rate),
        delay_ms: Range::exact(o.delay_ms),
        delay_mean_ms: Range::exact(o.delay_mean_ms),
        formula: None,
    }
}

fn widen(p: &mut Prediction, o: &ModelOutcome) {
    p.utilisation.widen(o.utilisation);
    p.loss_rate.widen(o.loss_rate);
    p.delay_ms.widen(o.delay_ms);
    p.delay_mean_ms.widen(o.delay_mean_ms);
}

#[cfg(test)]
mod tests;
