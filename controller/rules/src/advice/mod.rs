// SPDX-License-Identifier: Apache-2.0
//! From the measured traffic and the operator's targets to one limit.
//!
//! `bounds` finds what each target asks for, `priorities` reconciles the targets,
//! `fit` keeps the limit within what the target can hold. Each step gives the
//! reason of its decision where it takes it, as a sentence.

mod answer;
mod bound;
mod bounds;
mod candidate;
mod fit;
mod marking;
mod model_based;
mod moved;
mod preconditions;
mod priorities;
mod rationale;
mod response;
mod sensitivity;
mod single_flow;
mod unobserved_loss;

pub use answer::{Advice, Infeasibility, Nearest, Present, Rejected};
pub use marking::Marking;
pub use sensitivity::{Sensitivities, Sensitivity};

use crate::list::RULES;
use crate::prediction::predict;
use crate::rule::{Rule, RuleResult, Situation};
use crate::targets::{Goal, Options, Targets};
use crate::traffic::Traffic;
use bound::Bound;
use bounds::Bounds;
use candidate::Evaluated;

/// Advises a limit (BSCL §V): names the regime, evaluates every rule, drops
/// those whose assumptions fail, takes the smallest buffer that meets the
/// utilisation target (by what was measured where that can be scaled, else by
/// the papers' rules), raises it for the loss bound and caps it by the delay
/// bound; where the targets cannot hold together the operator's priority says
/// which is given up.
pub fn advise(traffic: &Traffic, targets: &Targets, options: &Options) -> Advice {
    advise_by(&RULES, traffic, targets, options)
}

/// The same by these rules.
fn advise_by(
    rules: &[&'static Rule],
    traffic: &Traffic,
    targets: &Targets,
    options: &Options,
) -> Advice {
    let mut advice = answer(rules, traffic, targets, options);
    advice.sensitivity = moved::of(&advice, rules, traffic, targets, options);
    advice
}

/// The advice without its sensitivity.
fn answer(
    rules: &[&'static Rule],
    traffic: &Traffic,
    targets: &Targets,
    options: &Options,
) -> Advice {
    let situation = Situation {
        traffic,
        targets,
        options,
    };
    let evaluated = candidate::evaluate(rules, &situation);
    let mut reasons = vec![rationale::regime(traffic)];
    let mut advice = Advice {
        regime: traffic.regime,
        present: traffic.limit_bytes.map(|limit_bytes| Present {
            limit_bytes,
            predicted: predict(traffic, limit_bytes).ok(),
            measured: traffic.observed,
        }),
        ..Advice::default()
    };
    let refusals = preconditions::refusals(traffic, targets);
    if refusals.is_empty() {
        decide(&situation, &evaluated, &mut advice, &mut reasons);
    } else {
        reasons.extend(refusals);
    }
    advice.reasons = reasons;
    advice.rules = evaluated.into_iter().map(|e| e.result).collect();
    advice.rejected = rejected(&advice.rules);
    advice
}

fn decide(
    s: &Situation<'_>,
    evaluated: &[Evaluated],
    advice: &mut Advice,
    reasons: &mut Vec<String>,
) {
    let bounds = bounds::bounds(s, evaluated, reasons);
    let kept = priorities::reconcile(&bounds, s.targets, reasons);
    let limit = fit::fit(s, &bounds, &kept, reasons);
    let drain = s.drain_bytes_per_s();
    advice.rule = limit.rule;
    advice.decided_by = limit.decided_by;
    advice.limit_bytes = Some(limit.bytes as u64);
    advice.limit_packets = Some(limit.bytes / s.traffic.segment_bytes);
    advice.limit_ms = Some(limit.bytes / drain * 1e3);
    advice.marking = marking::above(s, limit.bytes);
    reasons.extend(far_from_limit_in_force(s.traffic, limit.bytes));
    let predicted = match predict(s.traffic, limit.bytes) {
        Ok(predicted) => predicted,
        Err(e) => return reasons.push(format!("no prediction: {e}")),
    };
    reasons.push(rationale::expected(limit.bytes, s, &predicted));
    advice.predicted = Some(predicted);
    let given_up = given_up(kept.given_up, &bounds, limit.bytes);
    advice.feasible = given_up.is_empty();
    if !given_up.is_empty() {
        let needed = bounds.floors().map(|b| b.bytes);
        let needed = needed.fold(s.smallest_limit_bytes(), f64::max);
        let nearest = Nearest {
            utilisation: predicted.utilisation.value,
            loss_rate: predicted.loss_rate.value,
            delay_ms: needed / drain * 1e3,
        };
        reasons.push(rationale::given_up(&given_up, s, &nearest));
        advice.infeasible = Some(Infeasibility { given_up, nearest });
    }
}

/// What priorities gave up, and what the limit falls short of in the end.
fn given_up(mut all: Vec<Goal>, bounds: &Bounds, limit_bytes: f64) -> Vec<Goal> {
    let short = |bound: &Option<Bound>| {
        let bound = bound.as_ref();
        bound.is_some_and(|b| b.bytes > limit_bytes * (1.0 + 1e-9))
    };
    for (goal, lost) in [
        (Goal::Utilisation, short(&bounds.utilisation)),
        (Goal::Loss, short(&bounds.loss) || bounds.loss_unattainable),
    ] {
        if lost && !all.contains(&goal) {
            all.push(goal);
        }
    }
    all
}

/// Factor between the advised limit and the one in force that is worth a word.
const FAR: f64 = 8.0;

fn far_from_limit_in_force(traffic: &Traffic, bytes: f64) -> Option<String> {
    let in_force = traffic.limit_bytes.filter(|&b| b > 0.0)?;
    let ratio = bytes / in_force;
    (!(1.0 / FAR..=FAR).contains(&ratio)).then(|| {
        format!(
            "far from the limit in force ({in_force:.0} bytes, more than {FAR:.0} times {}): predictions are extrapolated, measure again after the change",
            if ratio > 1.0 { "larger" } else { "smaller" }
        )
    })
}

fn rejected(rules: &[RuleResult]) -> Vec<Rejected> {
    let aside = rules.iter().filter(|r| !r.applies);
    aside
        .map(|r| Rejected {
            id: r.id.clone(),
            name: r.name.clone(),
            reasons: r
                .failing()
                .map(|c| format!("does not hold: {}", c.text))
                .chain(r.missing.clone())
                .collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
