// SPDX-License-Identifier: Apache-2.0
//! Advice.

use tidemark_rules::Advice;

/// An advice, with or without its rules and its sensitivity.
pub fn advice(a: &Advice, with_rules: bool) -> tidemark_api::Advice {
    let Advice {
        regime,
        limit_bytes,
        limit_packets,
        limit_ms,
        marking,
        rule,
        decided_by,
        feasible,
        infeasible,
        predicted,
        present,
        rules,
        rejected,
        sensitivity,
        reasons,
    } = a;
    tidemark_api::Advice {
        regime: *regime,
        limit_bytes: *limit_bytes,
        limit_packets: *limit_packets,
        limit_ms: *limit_ms,
        marking: marking.clone(),
        rule: rule.as_ref().map(ToString::to_string),
        decided_by: *decided_by,
        feasible: *feasible,
        infeasible: infeasible.clone(),
        predicted: *predicted,
        present: present.clone(),
        rules: with_rules.then(|| rules.clone()),
        rejected: with_rules.then(|| rejected.clone()),
        sensitivity: match with_rules {
            true => sensitivity.get().to_vec(),
            false => Vec::new(),
        },
        reasons: reasons.clone(),
    }
}
