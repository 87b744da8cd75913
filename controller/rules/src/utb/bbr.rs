// SPDX-License-Identifier: Apache-2.0
//! Many flows of BBR v1.

use super::formulas::{PAPER, SEVERAL_FLOWS, Share, bbr_bytes, share_inputs};
use crate::rule::{Assumption, Basis, Condition, Input, LBP_FLOWS, Rule};
use crate::targets::Goal;

/// B = Δ·BDP/√(2n)·√(ln 1/δ) (UTB Theorem 8): [`bbr_bytes`].
pub static RULE: Rule = Rule {
    id: "utb_bbr",
    name: "UTB BBR",
    paper: &PAPER,
    equation: "Thm 8",
    formula: "B = delta*BDP/sqrt(2n)*sqrt(ln(1/delta_p))",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&LBP_FLOWS, &SEVERAL_FLOWS, &ALL_BBR],
    inputs: |s| {
        let mut inputs = share_inputs(s);
        let delta_p = s.options.bbr_delta;
        inputs.push(Input::new("delta_p", delta_p, "probability"));
        inputs
    },
    size_bytes: |s| Ok(bbr_bytes(Share::of(s)?, s.options.bbr_delta)?),
};

static ALL_BBR: Assumption = Assumption {
    statement: "all flows BBR v1",
    check: |s, _| {
        Some(Condition::new(
            "all flows run BBR v1 in its probe-bandwidth phase",
            s.traffic.all_model_based(),
        ))
    },
};
