// SPDX-License-Identifier: Apache-2.0
//! One flow of CUBIC.

use super::formulas::{BETA_CUBIC, SINGLE_FLOW, buffer_bytes, inputs, runs};
use crate::rule::{Assumption, Basis, Condition, Rule};
use crate::targets::Goal;
use crate::traffic::CongestionControl;
use crate::utb::formulas::PAPER;

/// B = max(0, γ/β − 1)·BDP (UTB §3.5): [`buffer_bytes`] with [`BETA_CUBIC`].
pub static RULE: Rule = Rule {
    id: "single_cubic",
    name: "single flow, CUBIC",
    paper: &PAPER,
    equation: "§3.5",
    formula: "B = max(0, gamma/beta - 1)*BDP",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&SINGLE_FLOW, &RUNS_IT],
    inputs: |s| inputs(s, Some(BETA_CUBIC)),
    size_bytes: |s| {
        Ok(buffer_bytes(
            s.bdp_bytes(),
            BETA_CUBIC,
            s.targets.utilisation,
        )?)
    },
};

static RUNS_IT: Assumption = Assumption {
    statement: "it runs CUBIC",
    check: |s, _| {
        let holds = runs(s.traffic, CongestionControl::Cubic);
        Some(Condition::new("it runs Cubic", holds))
    },
};
