// SPDX-License-Identifier: Apache-2.0
//! B_p: BSCL's buffer for a loss bound.

use super::formulas::{Link, PAPER, loss_bytes};
use crate::rule::{Assumption, Basis, Condition, HEEDS_LOSS, Input, LBP_FLOWS, LBP_SHARE, Rule};
use crate::targets::Goal;

/// B_p of BSCL eq. 21-22: [`loss_bytes`].
pub static RULE: Rule = Rule {
    id: "bscl_loss",
    name: "BSCL loss B_p",
    paper: &PAPER,
    equation: "eq. 21-22",
    formula: "B = 0.87/sqrt(p)*M*N_b - C_e*T_e",
    goals: &[Goal::Loss],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&LBP_FLOWS, &LBP_SHARE, &HEEDS_LOSS, &LOW_BOUND],
    inputs: |s| {
        let link = Link::of(s, s.n_b_for_loss());
        vec![
            Input::maybe("p", s.targets.loss_rate, "fraction"),
            Input::new("M", link.segment_bytes, "bytes"),
            Input::new("N_b", link.n_b, "flows"),
            Input::new("C_e", link.lbp_bytes_per_s, "bytes/s"),
            Input::new("T_e", link.t_e_s, "s"),
        ]
    },
    size_bytes: |s| {
        let bound = s.loss_bound()?;
        Ok(loss_bytes(Link::of(s, s.n_b_for_loss()), bound)?)
    },
};

static LOW_BOUND: Assumption = Assumption {
    statement: "loss bound < 5 %",
    check: |s, _| {
        let holds = s.targets.loss_rate.map(|p| p < 0.05);
        Some(Condition::new("loss bound below 5 %", holds))
    },
};
