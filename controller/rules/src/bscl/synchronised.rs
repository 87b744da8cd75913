// SPDX-License-Identifier: Apache-2.0
//! C·Tₑ, what flows need that lose together.

use super::formulas::{PAPER, loss_fraction_observed};
use crate::bdp;
use crate::rule::{Assumption, Basis, Condition, Input, LBP_FLOWS, Rule};
use crate::targets::Goal;

/// B = C·Tₑ (BSCL eq. 11-12): enough for globally synchronised flows of
/// different RTTs.
pub static RULE: Rule = Rule {
    id: "c_te",
    name: "C·T_e",
    paper: &PAPER,
    equation: "eq. 11-12",
    formula: "B = C*T_e",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&LBP_FLOWS, &LOSE_TOGETHER],
    inputs: |s| {
        vec![
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("T_e", s.traffic.t_e_s.value, "s"),
        ]
    },
    size_bytes: |s| Ok(bdp::product(s.drain_bytes_per_s(), s.traffic.t_e_s.value)?),
};

static LOSE_TOGETHER: Assumption = Assumption {
    statement: "flows lose together (q ≥ 0.9), or N_b < 5",
    check: |s, _| {
        let q = loss_fraction_observed(s);
        let text = match q {
            Some(q) => format!("flows lose together: q near 1 (q = {q:.2}), or fewer than 5 flows"),
            None => "flows lose together: q near 1, or fewer than 5 flows".into(),
        };
        let holds = if s.n_b() < 5.0 {
            Some(true)
        } else {
            q.map(|q| q >= 0.9)
        };
        Some(Condition::new(text, holds))
    },
};
