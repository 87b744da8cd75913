// SPDX-License-Identifier: Apache-2.0
//! From the measured traffic and the operator's targets to one limit.

mod goals;
mod smallest;
mod unseen;
mod words;

use crate::catalog::evaluate;
use crate::measured::{Goal, Measured, Observed, Options, Regime, Targets};
use crate::predict::{Prediction, predict};
use crate::rule::Rule;
use serde::{Deserialize, Serialize};

/// A rule that was set aside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejected {
    pub id: String,
    pub name: String,
    /// The conditions that fail, or what is missing.
    pub reasons: Vec<String>,
}

/// What each target could be at best when they cannot hold together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nearest {
    /// Utilisation expected at the advised limit.
    pub utilisation: f64,
    /// Loss rate expected at the advised limit.
    pub loss_rate: f64,
    /// Smallest delay bound with which utilisation and loss both hold
    /// (BSCL eq. 25), ms.
    pub delay_ms: f64,
}

/// Targets that cannot hold together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Infeasibility {
    /// Given up, by the operator's priority.
    pub given_up: Vec<Goal>,
    pub nearest: Nearest,
}

/// What to expect of the limit now in force, beside what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Present {
    pub limit_bytes: f64,
    pub predicted: Option<Prediction>,
    pub measured: Option<Observed>,
}

/// The advisor's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    pub regime: Regime,
    /// The limit to set, bytes as the queue counts them; `None` when too little
    /// is known, `reasons` says what.
    pub limit_bytes: Option<u64>,
    pub limit_packets: Option<f64>,
    /// Delay of the full queue, ms.
    pub limit_ms: Option<f64>,
    /// Id of the rule that decided.
    pub rule: Option<String>,
    /// The target that decided; `None` for the smallest or largest limit.
    pub decided_by: Option<Goal>,
    /// All targets are expected to hold.
    pub feasible: bool,
    pub infeasible: Option<Infeasibility>,
    pub predicted: Option<Prediction>,
    pub present: Option<Present>,
    /// Every rule, with its buffer, inputs and conditions.
    pub rules: Vec<Rule>,
    pub rejected: Vec<Rejected>,
    /// The way to the answer, in sentences.
    pub reasons: Vec<String>,
}

/// Advises a limit (BSCL §V): names the regime, evaluates every rule, drops
/// those whose assumptions fail, takes the smallest buffer that meets the
/// utilisation target (by what was measured where that can be scaled, else by
/// the papers' rules), raises it for the loss bound and caps it by the delay
/// bound; where the targets cannot hold together the operator's priority says
/// which is given up.
pub fn advise(measured: &Measured, targets: &Targets, options: &Options) -> Advice {
    let rules = evaluate(measured, targets, options);
    let mut advice = Advice {
        regime: measured.regime,
        limit_bytes: None,
        limit_packets: None,
        limit_ms: None,
        rule: None,
        decided_by: None,
        feasible: false,
        infeasible: None,
        predicted: None,
        present: measured.limit_bytes.map(|limit_bytes| Present {
            limit_bytes,
            predicted: predict(measured, limit_bytes).ok(),
            measured: measured.observed,
        }),
        rejected: rejected(&rules),
        rules,
        reasons: vec![words::regime(measured)],
    };
    let refused = words::refused(measured, targets);
    if !refused.is_empty() {
        advice.reasons.extend(refused);
        return advice;
    }
    decide(measured, targets, options, &mut advice);
    advice
}

fn rejected(rules: &[Rule]) -> Vec<Rejected> {
    rules
        .iter()
        .filter(|r| !r.applies)
        .map(|r| Rejected {
            id: r.id.clone(),
            name: r.name.clone(),
            reasons: r
                .failing()
                .map(|a| format!("does not hold: {}", a.text))
                .chain(r.missing.clone())
                .collect(),
        })
        .collect()
}

fn decide(measured: &Measured, targets: &Targets, options: &Options, advice: &mut Advice) {
    let wanted = goals::wanted(
        measured,
        targets,
        options,
        &advice.rules,
        &mut advice.reasons,
    );
    let range = goals::within(&wanted, targets);
    let mut bytes = range.bytes;
    (advice.rule, advice.decided_by) = (range.rule, range.decided_by);
    advice.reasons.extend(range.reasons);

    let smallest = options.min_packets.max(1.0) * measured.segment_bytes;
    if bytes < smallest {
        let capped = wanted.delay.as_ref().is_some_and(|d| d.bytes < smallest);
        if !(capped && range.delay_kept) {
            bytes = smallest;
            advice.rule = Some("smallest".into());
            advice.decided_by = None;
            advice.reasons.push(format!(
                "raised to the smallest limit, {:.0} packets: below it bursts are lost whatever the load",
                options.min_packets
            ));
        }
    }
    if let Some(max) = options.max_bytes.filter(|&max| bytes > max) {
        bytes = max;
        advice.rule = Some("largest".into());
        advice.decided_by = None;
        advice.reasons.push(format!(
            "cut to the largest limit of the target, {max:.0} bytes"
        ));
    }
    let unit = options.unit_bytes.max(1.0);
    let rounded =
        if advice.decided_by == Some(Goal::Delay) || advice.rule.as_deref() == Some("largest") {
            ((bytes / unit).floor() * unit).max(unit)
        } else {
            (bytes / unit).ceil() * unit
        };
    advice.limit_bytes = Some(rounded as u64);
    advice.limit_packets = Some(rounded / measured.segment_bytes);
    advice.limit_ms = Some(rounded / measured.drain_bytes_per_s() * 1e3);
    advice.reasons.extend(words::far(measured, rounded));
    match predict(measured, rounded) {
        Ok(predicted) => {
            advice
                .reasons
                .push(words::outcome(rounded, measured, &predicted));
            advice.predicted = Some(predicted);
        }
        Err(e) => advice.reasons.push(format!("no prediction: {e}")),
    }
    let mut given_up = range.given_up;
    let lost_to_cut = |goal: Goal, needed: &Option<goals::Wanted>| {
        needed
            .as_ref()
            .filter(|w| w.bytes > rounded * (1.0 + 1e-9))
            .map(|_| goal)
    };
    for goal in [
        lost_to_cut(Goal::Utilisation, &wanted.utilisation),
        lost_to_cut(Goal::Loss, &wanted.loss),
    ]
    .into_iter()
    .flatten()
    {
        if !given_up.contains(&goal) {
            given_up.push(goal);
        }
    }
    if wanted.loss_hopeless && !given_up.contains(&Goal::Loss) {
        given_up.push(Goal::Loss);
    }
    if let Some(p) = advice.predicted {
        advice.feasible = given_up.is_empty();
        if !given_up.is_empty() {
            let needed = [&wanted.utilisation, &wanted.loss]
                .into_iter()
                .flatten()
                .map(|w| w.bytes)
                .fold(smallest, f64::max);
            let nearest = Nearest {
                utilisation: p.utilisation.value,
                loss_rate: p.loss_rate.value,
                delay_ms: needed / measured.drain_bytes_per_s() * 1e3,
            };
            advice
                .reasons
                .push(words::given_up(&given_up, targets, &nearest));
            advice.infeasible = Some(Infeasibility { given_up, nearest });
        }
    }
}

#[cfg(test)]
mod tests;
