// SPDX-License-Identifier: Apache-2.0
//! C·T̄, the rule of thumb.

use super::formulas::PAPER;
use crate::bdp;
use crate::rule::{Assumption, Basis, Condition, Input, LBP_FLOWS, Rule};
use crate::targets::Goal;

/// B = C·T̄ (BSCL §I, UTB §3.1): always enough for windows that are halved.
pub static RULE: Rule = Rule {
    id: "bdp",
    name: "BDP (rule of thumb)",
    paper: &PAPER,
    equation: "§I, UTB §3.1",
    formula: "B = C*T_mean",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&LBP_FLOWS, &HALVED_AT_MOST],
    inputs: |s| {
        vec![
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("T_mean", s.traffic.t_mean_s.value, "s"),
        ]
    },
    size_bytes: |s| {
        Ok(bdp::product(
            s.drain_bytes_per_s(),
            s.traffic.t_mean_s.value,
        )?)
    },
};

static HALVED_AT_MOST: Assumption = Assumption {
    statement: "windows at most halved on loss",
    check: |s, _| {
        Some(Condition::new(
            "windows are at most halved on loss (always sufficient then)",
            s.traffic.heeds_loss(),
        ))
    },
};
