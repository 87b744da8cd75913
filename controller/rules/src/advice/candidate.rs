// SPDX-License-Identifier: Apache-2.0
//! The rules that the advisor chooses from, by what they are for.

use crate::rule::{Basis, Rule, RuleResult, Situation};
use crate::targets::Goal;

/// A rule with what it says.
pub(super) struct Evaluated {
    pub rule: &'static Rule,
    pub result: RuleResult,
}

/// A rule that applies, and the buffer it asks for.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub rule: &'static Rule,
    pub bytes: f64,
}

pub(super) fn evaluate(rules: &[&'static Rule], s: &Situation<'_>) -> Vec<Evaluated> {
    let rules = rules.iter();
    rules
        .map(|&rule| Evaluated {
            rule,
            result: rule.evaluate(s),
        })
        .collect()
}

/// Rules that apply, serve a goal (whatever else they serve) and rest on `basis`.
pub(super) fn candidates(
    all: &[Evaluated],
    goal: Goal,
    basis: Basis,
) -> impl Iterator<Item = Candidate> {
    let fit = all.iter().filter(move |e| {
        let r = e.rule;
        e.result.applies && r.serves(goal) && r.basis == basis
    });
    fit.filter_map(|e| {
        let bytes = e.result.buffer_bytes?;
        Some(Candidate {
            rule: e.rule,
            bytes,
        })
    })
}
