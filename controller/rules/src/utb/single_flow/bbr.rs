// SPDX-License-Identifier: Apache-2.0
//! One flow of BBR v1.

use super::formulas::{SINGLE_FLOW, bbr_buffer_bytes, inputs, runs};
use crate::rule::{Assumption, Basis, Condition, Rule};
use crate::targets::Goal;
use crate::traffic::CongestionControl;
use crate::utb::formulas::PAPER;

/// B = max(0, γ − 3/4)·BDP (UTB §3.5): [`bbr_buffer_bytes`].
pub static RULE: Rule = Rule {
    id: "single_bbr",
    name: "single flow, BBR v1",
    paper: &PAPER,
    equation: "§3.5",
    formula: "B = max(0, gamma - 3/4)*BDP",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&SINGLE_FLOW, &RUNS_IT],
    inputs: |s| inputs(s, None),
    size_bytes: |s| Ok(bbr_buffer_bytes(s.bdp_bytes(), s.targets.utilisation)?),
};

static RUNS_IT: Assumption = Assumption {
    statement: "it runs BBR v1",
    check: |s, _| {
        Some(Condition::new(
            "it runs BBR v1 in its probe-bandwidth phase",
            runs(s.traffic, CongestionControl::Bbr),
        ))
    },
};
