// SPDX-License-Identifier: Apache-2.0
//! One flow of Scalable TCP.

use super::formulas::{BETA_SCALABLE, SINGLE_FLOW, buffer_bytes, inputs, runs};
use crate::rule::{Assumption, Basis, Condition, Rule};
use crate::targets::Goal;
use crate::traffic::CongestionControl;
use crate::utb::formulas::PAPER;

/// B = max(0, γ/β − 1)·BDP (UTB §3.5): [`buffer_bytes`] with [`BETA_SCALABLE`].
pub static RULE: Rule = Rule {
    id: "single_scalable",
    name: "single flow, Scalable",
    paper: &PAPER,
    equation: "§3.5",
    formula: "B = max(0, gamma/beta - 1)*BDP",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&SINGLE_FLOW, &RUNS_IT],
    inputs: |s| inputs(s, Some(BETA_SCALABLE)),
    size_bytes: |s| {
        Ok(buffer_bytes(
            s.bdp_bytes(),
            BETA_SCALABLE,
            s.targets.utilisation,
        )?)
    },
};

static RUNS_IT: Assumption = Assumption {
    statement: "it runs Scalable TCP",
    check: |s, _| {
        let holds = runs(s.traffic, CongestionControl::Scalable);
        Some(Condition::new("it runs Scalable", holds))
    },
};
