// SPDX-License-Identifier: Apache-2.0
//! From the measured traffic and the operator's targets to one limit.
//!
//! [`crate::search`] finds the limit that each target needs, `priorities` reconciles the targets,
//! `fit` keeps the limit within what the switch can hold, and `direction` compares it with the
//! measurement at the limit in force. Each step adds the reason of its decision as a sentence.

mod direction;

use crate::answer::{Advice, Infeasibility, Nearest, Present, Rejected};
use crate::fit::{self, Limit};
use crate::outlook::Outlook;
use crate::search::{self, Needs};
use crate::{confidence, marking, moved, preconditions, priorities, rationale};
use tidemark_rules::rule::{RuleResult, Situation};
use tidemark_rules::{Goal, Options, Targets, Traffic, evaluate};

/// Advises a limit: the smallest that meets the targets with the requested confidence. If the
/// targets cannot all hold, the operator's priority says which is given up (BSCL §V). Never advises
/// a smaller limit while measured utilisation or loss misses its target, nor a larger one while all
/// targets are met, and keeps the limit in force if a change would gain little.
pub fn advise(traffic: &Traffic, targets: &Targets, options: &Options) -> Advice {
    let mut advice = answer(traffic, targets, options);
    let (targets, options) = (targets.clone(), options.clone());
    let limit = move |other: &Traffic| answer(other, &targets, &options).limit_bytes;
    advice.sensitivity = moved::of(&advice, traffic, limit);
    advice
}

/// Returns the advice without its sensitivity.
pub(crate) fn answer(traffic: &Traffic, targets: &Targets, options: &Options) -> Advice {
    let targets = &targets.aimed();
    let situation = Situation {
        traffic,
        targets,
        options,
    };
    let outlook = Outlook::of(traffic);
    let mut reasons = vec![rationale::regime(traffic)];
    if traffic.shares_port {
        reasons.push(rationale::shared_port(traffic));
    }
    let mut advice = Advice {
        regime: traffic.regime,
        present: traffic.limit_bytes.map(|limit_bytes| Present {
            limit_bytes,
            predicted: outlook.as_ref().ok().and_then(|o| o.at(limit_bytes).ok()),
            measured: traffic.observed,
            missed: Vec::new(),
        }),
        confidence_asked: targets.confidence,
        rules: evaluate(traffic, targets, options),
        ..Advice::default()
    };
    let refusals = preconditions::refusals(traffic, targets);
    match outlook {
        Ok(outlook) if refusals.is_empty() => {
            decide(&situation, &outlook, &mut advice, &mut reasons)
        }
        Err(e) if refusals.is_empty() => reasons.push(format!("no advice: {e}")),
        _ => reasons.extend(refusals),
    }
    advice.reasons = reasons;
    advice.rejected = rejected(&advice.rules);
    advice
}

fn decide(
    s: &Situation<'_>,
    outlook: &Outlook<'_>,
    advice: &mut Advice,
    reasons: &mut Vec<String>,
) {
    let needs = search::needs(outlook, s);
    for (goal, by) in [
        (Goal::Utilisation, outlook.utilisation_by()),
        (Goal::Loss, outlook.loss_by()),
    ] {
        match needs.of(goal) {
            Some(need) => reasons.push(rationale::need(goal, need, s, by)),
            None if goal == Goal::Utilisation && s.targets.utilisation > 0.0 => {
                reasons.push(format!(
                    "utilisation equals the load ({:.0} %) whatever the buffer: no flow waits for this link",
                    s.traffic.rho * 100.0
                ));
            }
            None => {}
        }
    }
    if let Some(present) = &mut advice.present {
        present.missed = direction::missed(s, &needs);
    }
    let kept = priorities::reconcile(&needs, s, reasons);
    let fitted = fit::fit(s, &needs, &kept, reasons);
    let limit = direction::held((s, outlook), &needs, &kept.given_up, fitted, reasons);
    let drain = s.drain_bytes_per_s();
    advice.set(&limit, s);
    advice.marking = marking::above(s, limit.bytes);
    reasons.extend(far_from_limit_in_force(s.traffic, limit.bytes));
    let predicted = match outlook.at(limit.bytes) {
        Ok(predicted) => predicted,
        Err(e) => return reasons.push(format!("no prediction: {e}")),
    };
    reasons.push(rationale::expected(limit.bytes, s, &predicted));
    advice.predicted = Some(predicted);
    let mut given_up = kept.given_up;
    let (used, lost) = (predicted.utilisation, predicted.loss_rate);
    let chances = [
        (
            Goal::Utilisation,
            confidence::utilisation_met(used, s.targets.utilisation),
        ),
        (
            Goal::Loss,
            s.targets
                .loss_rate
                .map_or(1.0, |p| confidence::loss_met(lost, p)),
        ),
    ];
    for (goal, chance) in chances {
        let missed = chance < EXPECTED && needs.of(goal).is_some();
        if missed && !given_up.contains(&goal) {
            given_up.push(goal);
        }
    }
    let confident = chances.iter().filter(|(goal, _)| needs.of(*goal).is_some());
    let short = f64::from(u8::from(direction::delay_kept(&limit, &needs)));
    advice.chance = Some(confident.map(|c| c.1).fold(short, f64::min));
    advice.interval_bytes = Some(direction::interval(s, &needs, &limit, &given_up));
    advice.feasible = given_up.is_empty();
    if !given_up.is_empty() {
        let needed = floors(&needs).fold(s.smallest_limit_bytes(), f64::max);
        let nearest = Nearest {
            utilisation: predicted.utilisation.value,
            loss_rate: predicted.loss_rate.value,
            delay_ms: needed / drain * 1e3,
        };
        reasons.push(rationale::given_up(&given_up, s, &nearest));
        advice.infeasible = Some(Infeasibility { given_up, nearest });
    }
}

/// Returns the limits that utilisation and loss need, bytes.
fn floors(needs: &Needs) -> impl Iterator<Item = f64> {
    [&needs.utilisation, &needs.loss]
        .into_iter()
        .flatten()
        .map(|n| n.bytes)
}

impl Advice {
    fn set(&mut self, limit: &Limit, s: &Situation<'_>) {
        self.rule = limit.rule.clone();
        self.decided_by = limit.decided_by;
        self.towards_bytes = limit.towards.map(|b| b.ceil() as u64);
        self.limit_bytes = Some(limit.bytes as u64);
        self.limit_packets = Some(limit.bytes / s.traffic.segment_bytes);
        self.limit_ms = Some(limit.bytes / s.drain_bytes_per_s() * 1e3);
    }
}

/// Probability of a target below which it is not expected to hold; less than 0.5, because a limit
/// in force that is near enough to be kept may be slightly too small.
const EXPECTED: f64 = 0.4;
/// Ratio of the advised limit and the one in force from which a reason mentions it.
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
#[path = "advise_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "unobserved_loss_tests.rs"]
mod unobserved_loss_tests;
