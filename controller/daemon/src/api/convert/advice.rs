// SPDX-License-Identifier: Apache-2.0
//! Rules, predictions, advice, and the changes made of it.

use super::{ToApi, fields, variants};
use tidemark_rules::Advice;
use tidemark_southbound::Limit;

variants! {
    tidemark_rules::Goal => Goal { Utilisation, Loss, Delay }
    crate::core::audit::Origin => Origin { Operator, Confirmed, Auto, Rollback, Restore }
    crate::core::audit::Outcome => Outcome { Set, Refused, Failed, DryRun, Kept, Worse, Unclear }
}

fields! {
    tidemark_rules::Targets => Targets { utilisation, loss_rate, delay_ms, priority }
    tidemark_rules::Range => Interval { value, low, high }
    tidemark_rules::Input => Input { name, value, unit }
    tidemark_rules::Condition => Assumption { text, holds }
    tidemark_rules::RuleResult => Rule {
        id, name, buffer_bytes, buffer_packets, buffer_ms, inputs, assumptions, applies, missing,
        goals, formula, source,
    }
    tidemark_rules::Rejected => RejectedRule { id, name, reasons }
    tidemark_rules::FormulaPrediction => FormulaPrediction { utilisation, loss_rate, delay_mean_ms }
    tidemark_rules::Prediction => Prediction {
        utilisation, loss_rate, delay_ms, delay_mean_ms, formula,
    }
    tidemark_rules::WhatIfPoint => CurvePoint { buffer_bytes, predicted }
    tidemark_rules::Observed => Observed {
        utilisation, loss_rate, drops, delay_mean_ms, delay_p50_ms, delay_p99_ms, delay_max_ms,
    }
    tidemark_rules::Nearest => Nearest { utilisation, loss_rate, delay_ms }
    tidemark_rules::Infeasibility => Infeasibility { given_up, nearest }
    tidemark_rules::Present => Present { limit_bytes, predicted, measured }
    crate::core::audit::Change => Change {
        unix_ms, node, port, origin, outcome, before, limit, reason, error, expected,
        measured_before, measured_after,
    }
}

impl ToApi for tidemark_rules::RuleId {
    type Api = String;
    fn to_api(&self) -> String {
        self.to_string()
    }
}

impl ToApi for Limit {
    type Api = tidemark_api::Limit;
    fn to_api(&self) -> tidemark_api::Limit {
        match *self {
            Limit::DropTail { limit_bytes } => tidemark_api::Limit::DropTail { limit_bytes },
            Limit::MarkCe { limit_bytes } => tidemark_api::Limit::MarkCe { limit_bytes },
            Limit::Unlimited => tidemark_api::Limit::Unlimited,
        }
    }
}

/// An advice, with or without its rules.
pub fn advice(a: &Advice, with_rules: bool) -> tidemark_api::Advice {
    let Advice {
        regime,
        limit_bytes,
        limit_packets,
        limit_ms,
        rule,
        decided_by,
        feasible,
        infeasible,
        predicted,
        present,
        rules,
        rejected,
        reasons,
    } = a;
    tidemark_api::Advice {
        regime: regime.to_api(),
        limit_bytes: *limit_bytes,
        limit_packets: *limit_packets,
        limit_ms: *limit_ms,
        rule: rule.to_api(),
        decided_by: decided_by.to_api(),
        feasible: *feasible,
        infeasible: infeasible.to_api(),
        predicted: predicted.to_api(),
        present: present.to_api(),
        rules: with_rules.then(|| rules.to_api()),
        rejected: with_rules.then(|| rejected.to_api()),
        reasons: reasons.clone(),
    }
}
