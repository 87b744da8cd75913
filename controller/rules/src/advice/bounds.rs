// SPDX-License-Identifier: Apache-2.0
//! The bound each target puts on the limit.

use super::bound::{Bound, LossBound, UTILISATION_TOLERANCE};
use super::candidate::{Candidate, Evaluated, candidates};
use super::model_based;
use super::record::{Finding, Record};
use super::response;
use super::search::smallest;
use super::single_flow;
use super::unobserved_loss;
use crate::bscl::{self, loss_fraction_of};
use crate::extrapolation::{LossScaling, WindowScaling, threshold_within};
use crate::prediction::{Prediction, lbp_present, losses_unobserved, predict};
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

pub(super) fn bounds(s: &Situation<'_>, rules: &[Evaluated], record: &mut Record) -> Bounds {
    let utilisation = for_utilisation(s, rules, record)
        .map(|bound| model_based::not_more(bound, s, record))
        .map(|bound| unobserved_loss::not_less_where_missed(bound, s, record));
    let loss = s.targets.loss_rate.map(|p| for_loss(s, p, rules, record));
    Bounds {
        utilisation,
        delay: for_delay(s, rules),
        loss_unattainable: loss.as_ref().is_some_and(|l| !l.attainable),
        loss: loss.and_then(|l| l.bound),
    }
}

fn for_utilisation(s: &Situation<'_>, rules: &[Evaluated], record: &mut Record) -> Option<Bound> {
    let m = s.traffic;
    if s.targets.utilisation <= 0.0 {
        return None;
    }
    if m.regime == Regime::Transparent || m.saturable == Some(false) {
        record.note(Finding::UtilisationIsLoad);
        return None;
    }
    // What was measured goes before what a model expects.
    let measured = candidates(rules, Goal::Utilisation, Basis::Measurement);
    if let Some(c) = measured.min_by(|a, b| a.bytes.total_cmp(&b.bytes)) {
        let (rule, bytes) = (c.rule.name, c.bytes);
        record.note(Finding::UtilisationExtrapolated { rule, bytes });
        record.extend(utilisation_model_set_aside(s));
        return Some(single_flow::not_less(c.into(), s, rules, record));
    }
    if losses_unobserved(m)
        && let Some(bound) = unobserved_loss::for_utilisation(s, record)
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
            record.note(Finding::UtilisationExpected {
                rule,
                bytes,
                utilisation,
            });
            return Some(c.into());
        }
        record.note(Finding::PassedOver {
            rule,
            bytes,
            utilisation,
        });
    }
    let bytes = s.drain_bytes_per_s() * m.t_mean_s.value;
    record.note(Finding::RuleOfThumb { bytes });
    Some(Bound {
        bytes,
        rule: bscl::rule_of_thumb::RULE.id(),
    })
}

fn for_loss(s: &Situation<'_>, bound: f64, rules: &[Evaluated], record: &mut Record) -> LossBound {
    let m = s.traffic;
    if losses_unobserved(m)
        && let Some(bound) = unobserved_loss::for_loss(s, bound, record)
    {
        return LossBound::at(bound);
    }
    if m.regime == Regime::Overload && m.rho_other >= 1.0 {
        record.note(Finding::NonResponsiveOverload);
        return LossBound::unattainable(None);
    }
    if let Some(by_cap) = model_based::for_loss(s, bound, record) {
        return by_cap;
    }
    if let Some(best) = response::best_where_missed(s, bound, record) {
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
        record.note(Finding::LossBound { rule, bytes });
        if c.rule.basis == Basis::Measurement {
            record.extend(loss_model_set_aside(s));
        }
        let by_rule = Bound::from(c);
        return LossBound::at(match c.rule.basis {
            Basis::Measurement => by_rule,
            Basis::Model => with_todays_stacks(by_rule, s, bound, record),
        });
    }
    let Some(bytes) = smallest(m, |p| p.loss_rate.value <= bound * (1.0 + 1e-9)) else {
        record.note(Finding::LossUnattainable);
        // What a larger limit saves is kept.
        let missed = m.observed.is_some_and(|o| o.loss_rate > bound);
        let in_force = m.limit_bytes.filter(|_| missed);
        let bound = in_force.map(|bytes| Bound {
            bytes,
            rule: RuleId::LimitInForce,
        });
        return LossBound::unattainable(bound);
    };
    record.note(Finding::LossOutsideConditions { bytes });
    LossBound::at(Bound {
        bytes,
        rule: bscl::loss::RULE.id(),
    })
}

/// Where nothing was measured, what is known of today's stacks and of their bursts
/// asks for beyond the papers' rules.
fn with_todays_stacks(model: Bound, s: &Situation<'_>, bound: f64, record: &mut Record) -> Bound {
    let m = s.traffic;
    let constant = m.assumed_constant.map(|k| k.value);
    if constant.is_none() && lbp_present(m) {
        return model;
    }
    let keeps = |p: &Prediction| p.loss_rate.value <= bound * (1.0 + 1e-9);
    match smallest(m, keeps).filter(|&b| b > model.bytes) {
        Some(bytes) => {
            record.note(match constant.filter(|_| lbp_present(m)) {
                Some(constant) => Finding::LossOfStacks { bytes, constant },
                None => Finding::LossOfBursts { bytes },
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
fn utilisation_model_set_aside(s: &Situation<'_>) -> Option<Finding> {
    let bytes = bscl::utilisation::RULE.evaluate(s).buffer_bytes?;
    let measured_lowest = WindowScaling::of(s.traffic)?.lowest_over_peak();
    let q = loss_fraction_of(s).ok()?;
    let beta = s.traffic.beta.unwrap_or(BETA_RENO);
    Some(Finding::UtilisationModelSetAside {
        bytes,
        measured_lowest,
        assumed_lowest: 1.0 - q * (1.0 - beta),
    })
}

/// What BSCL would ask for loss, beside its constant as measured.
fn loss_model_set_aside(s: &Situation<'_>) -> Option<Finding> {
    Some(Finding::LossModelSetAside {
        bytes: bscl::loss::RULE.evaluate(s).buffer_bytes?,
        constant: LossScaling::of(s.traffic)?.constant(),
    })
}
