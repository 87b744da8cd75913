// SPDX-License-Identifier: Apache-2.0
//! The bound each target puts on the limit.

use super::bound::{Bound, LossBound, UTILISATION_TOLERANCE};
use super::candidate::{Candidate, Evaluated, candidates};
use super::model_based;
use super::response;
use super::single_flow;
use super::unobserved_loss;
use crate::bscl::{self, SQRT_CONSTANT, loss_fraction_of};
use crate::extrapolation::{LossScaling, WindowScaling, threshold_within};
use crate::prediction::{Prediction, lbp_present, losses_unobserved, predict, smallest};
use crate::rule::{Basis, RuleId, Situation};
use crate::targets::Goal;
use crate::traffic::Regime;
use crate::utb::single_flow::BETA_RENO;

/// What the targets ask for.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    /// At least this for utilisation.
    pub utilisation: Option<Bound>,
    /// At least this for loss.
    pub loss: Option<Bound>,
    /// At most this for delay.
    pub delay: Option<Bound>,
    /// No buffer keeps the loss bound.
    pub loss_unattainable: bool,
}

impl Bounds {
    /// Those that ask for at least so much.
    pub fn floors(&self) -> impl Iterator<Item = &Bound> {
        [&self.utilisation, &self.loss].into_iter().flatten()
    }
}

pub(super) fn bounds(s: &Situation<'_>, rules: &[Evaluated], reasons: &mut Vec<String>) -> Bounds {
    let utilisation = for_utilisation(s, rules, reasons)
        .map(|bound| model_based::not_more(bound, s, reasons))
        .map(|bound| unobserved_loss::not_less_where_missed(bound, s, reasons));
    let loss = s.targets.loss_rate.map(|p| for_loss(s, p, rules, reasons));
    Bounds {
        utilisation,
        delay: for_delay(s, rules),
        loss_unattainable: loss.as_ref().is_some_and(|l| !l.attainable),
        loss: loss.and_then(|l| l.bound),
    }
}

fn for_utilisation(
    s: &Situation<'_>,
    rules: &[Evaluated],
    reasons: &mut Vec<String>,
) -> Option<Bound> {
    let m = s.traffic;
    let target = s.targets.utilisation * 100.0;
    let packets = |bytes: f64| bytes / m.segment_bytes;
    if s.targets.utilisation <= 0.0 {
        return None;
    }
    if m.regime == Regime::Transparent || m.saturable == Some(false) {
        reasons.push(format!(
            "utilisation equals the load ({:.0} %) whatever the buffer: no flow waits for this link",
            m.rho * 100.0
        ));
        return None;
    }
    // What was measured goes before what a model expects.
    let measured = candidates(rules, Goal::Utilisation, Basis::Measurement);
    if let Some(c) = measured.min_by(|a, b| a.bytes.total_cmp(&b.bytes)) {
        let (rule, bytes) = (c.rule.name, c.bytes);
        reasons.push(format!(
            "utilisation: {rule} asks for {bytes:.0} bytes ({:.0} packets) for {target:.1} %; {:.1} % was measured at {:.0} bytes",
            packets(bytes),
            m.observed.map_or(0.0, |o| o.utilisation) * 100.0,
            m.limit_bytes.unwrap_or(0.0)
        ));
        reasons.extend(utilisation_model_set_aside(s));
        return Some(single_flow::not_less(c.into(), s, rules, reasons));
    }
    if losses_unobserved(m)
        && let Some(bound) = unobserved_loss::for_utilisation(s, reasons)
    {
        return Some(bound);
    }
    let mut models: Vec<Candidate> = candidates(rules, Goal::Utilisation, Basis::Model).collect();
    models.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    for c in models {
        let Ok(expected) = predict(m, c.bytes) else {
            continue;
        };
        let (rule, bytes) = (c.rule.name, c.bytes);
        let utilisation = expected.utilisation.value;
        if utilisation + UTILISATION_TOLERANCE >= s.targets.utilisation {
            reasons.push(format!(
                "utilisation: {rule} asks for {bytes:.0} bytes ({:.0} packets); expected utilisation {:.1} %",
                packets(bytes),
                utilisation * 100.0
            ));
            return Some(c.into());
        }
        reasons.push(format!(
            "{rule} ({bytes:.0} bytes) is passed over: the expected utilisation is {:.1} %, below {target:.1} %",
            utilisation * 100.0
        ));
    }
    let bytes = s.drain_bytes_per_s() * m.t_mean_s.value;
    reasons.push(format!(
        "utilisation: no rule that applies is expected to reach {target:.1} %; the rule of thumb C*T_mean, {bytes:.0} bytes, is taken"
    ));
    Some(Bound {
        bytes,
        rule: bscl::rules::BDP.id(),
    })
}

fn for_loss(
    s: &Situation<'_>,
    bound: f64,
    rules: &[Evaluated],
    reasons: &mut Vec<String>,
) -> LossBound {
    let m = s.traffic;
    if losses_unobserved(m)
        && let Some(bound) = unobserved_loss::for_loss(s, bound, reasons)
    {
        return LossBound::at(bound);
    }
    if m.regime == Regime::Overload && m.rho_other >= 1.0 {
        reasons.push(format!(
            "loss: traffic that does not react to this link fills it ({:.0} % of capacity); no buffer keeps the loss bound",
            m.rho_other * 100.0
        ));
        return LossBound::unattainable(None);
    }
    if let Some(by_cap) = model_based::for_loss(s, bound, reasons) {
        return by_cap;
    }
    if let Some(best) = response::best_where_missed(s, bound, reasons) {
        return best;
    }
    // What was measured goes before what a model expects.
    let best = [Basis::Measurement, Basis::Model]
        .into_iter()
        .find_map(|basis| {
            let all = candidates(rules, Goal::Loss, basis);
            all.max_by(|a, b| a.bytes.total_cmp(&b.bytes))
        });
    if let Some(c) = best {
        let (rule, bytes) = (c.rule.name, c.bytes);
        let percent = bound * 100.0;
        reasons.push(if bytes > 0.0 {
            let end = if s.options.conservative {
                " (upper end of what is uncertain)"
            } else {
                ""
            };
            format!("loss: {rule} asks for at least {bytes:.0} bytes for {percent:.2} %{end}")
        } else {
            format!(
                "loss: {rule} asks for no buffer: the packets in flight on the path already keep loss below {percent:.2} %"
            )
        });
        if c.rule.basis == Basis::Measurement {
            reasons.extend(loss_model_set_aside(s));
            return LossBound::at(c.into());
        }
        return LossBound::at(with_todays_stacks(c.into(), s, bound, reasons));
    }
    let Some(bytes) = smallest(m, |p| p.loss_rate.value <= bound * (1.0 + 1e-9)) else {
        reasons.push("loss: no buffer of a reasonable size keeps the bound".into());
        // What a larger limit saves is kept.
        let missed = m.observed.is_some_and(|o| o.loss_rate > bound);
        let in_force = m.limit_bytes.filter(|_| missed);
        let bound = in_force.map(|bytes| Bound {
            bytes,
            rule: RuleId::LimitInForce,
        });
        return LossBound::unattainable(bound);
    };
    reasons.push(format!(
        "loss: no rule's conditions hold; outside them eq. 18 of BSCL asks for {bytes:.0} bytes"
    ));
    LossBound::at(Bound {
        bytes,
        rule: bscl::rules::LOSS.id(),
    })
}

/// Where nothing was measured, what is known of today's stacks and of their bursts
/// asks for beyond the papers' rules.
fn with_todays_stacks(
    model: Bound,
    s: &Situation<'_>,
    bound: f64,
    reasons: &mut Vec<String>,
) -> Bound {
    let m = s.traffic;
    let constant = m.assumed_constant.map(|k| k.value);
    if constant.is_none() && lbp_present(m) {
        return model;
    }
    let keeps = |p: &Prediction| p.loss_rate.value <= bound * (1.0 + 1e-9);
    match smallest(m, keeps).filter(|&b| b > model.bytes) {
        Some(bytes) => {
            reasons.push(match constant.filter(|_| lbp_present(m)) {
                Some(constant) => format!(
                    "loss: with the constant of today's stacks ({constant:.2}; BSCL has {SQRT_CONSTANT:.2}, of delayed acknowledgements and one drop per reduction) eq. 18 asks for {bytes:.0} bytes"
                ),
                None => format!(
                    "loss: the bursts are not known; with three packets in each, as a mix of single packets and initial windows of ten has, M/M/1/K asks for {bytes:.0} bytes"
                ),
            });
            Bound { bytes, ..model }
        }
        None => model,
    }
}

/// The smallest of what rules for a delay bound allow; of a threshold, what is left
/// of it for what comes above.
fn for_delay(s: &Situation<'_>, rules: &[Evaluated]) -> Option<Bound> {
    let all = [Basis::Measurement, Basis::Model].into_iter();
    all.flat_map(|basis| candidates(rules, Goal::Delay, basis))
        .min_by(|a, b| a.bytes.total_cmp(&b.bytes))
        .map(Bound::from)
        .map(|bound| Bound {
            bytes: threshold_within(s.traffic, bound.bytes),
            ..bound
        })
}

impl From<Candidate> for Bound {
    fn from(c: Candidate) -> Self {
        Self {
            bytes: c.bytes,
            rule: c.rule.id(),
        }
    }
}

/// What BSCL would ask for utilisation, beside the measured window.
fn utilisation_model_set_aside(s: &Situation<'_>) -> Option<String> {
    let bytes = bscl::rules::UTILISATION.evaluate(s).buffer_bytes?;
    let measured_lowest = WindowScaling::of(s.traffic)?.lowest_over_peak();
    let q = loss_fraction_of(s).ok()?;
    let beta = s.traffic.beta.unwrap_or(BETA_RENO);
    let assumed_lowest = 1.0 - q * (1.0 - beta);
    Some(format!(
        "BSCL B_ρ would ask for {bytes:.0} bytes; not taken: the distribution of the window was measured (its swing is {} BSCL assumes: down to {:.0} % of its peak, assumed {:.0} %)",
        compared(measured_lowest, assumed_lowest),
        measured_lowest * 100.0,
        assumed_lowest * 100.0
    ))
}

/// What BSCL would ask for loss, beside its constant as measured.
fn loss_model_set_aside(s: &Situation<'_>) -> Option<String> {
    Some(format!(
        "BSCL B_p would ask for {:.0} bytes; not taken: its constant is {:.2} by measurement instead of {SQRT_CONSTANT:.2}",
        bscl::rules::LOSS.evaluate(s).buffer_bytes?,
        LossScaling::of(s.traffic)?.constant()
    ))
}

/// Lowest windows over their peak that differ by less are the same.
const SAME_SWING: f64 = 0.05;

fn compared(measured_lowest: f64, assumed_lowest: f64) -> &'static str {
    match measured_lowest - assumed_lowest {
        d if d < -SAME_SWING => "larger than",
        d if d > SAME_SWING => "smaller than",
        _ => "about what",
    }
}
