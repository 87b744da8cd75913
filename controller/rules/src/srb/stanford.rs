// SPDX-License-Identifier: Apache-2.0
//! C·T̄/√N, the Stanford rule.

use super::formulas::{PAPER, stanford_bytes};
use crate::bscl::formulas::LOW_LOSS;
use crate::bscl::loss_fraction_observed;
use crate::rule::{Assumption, Basis, Condition, Input, Rule};
use crate::targets::Goal;

/// B = C·T̄/√N (SRB; BSCL eq. 1): [`stanford_bytes`].
pub static RULE: Rule = Rule {
    id: "stanford",
    name: "Stanford √n",
    paper: &PAPER,
    equation: "(BSCL eq. 1)",
    formula: "B = C*T_mean/sqrt(N)",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&HUNDREDS, &DESYNCHRONISED, &LOW_LOSS],
    inputs: |s| {
        vec![
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("T_mean", s.traffic.t_mean_s.value, "s"),
            Input::new("N", s.n_b(), "flows"),
        ]
    },
    size_bytes: |s| {
        let t_mean_s = s.traffic.t_mean_s.value;
        Ok(stanford_bytes(s.drain_bytes_per_s(), t_mean_s, s.n_b())?)
    },
};

static HUNDREDS: Assumption = Assumption {
    statement: "hundreds of flows",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("hundreds of flows ({n:.0})"),
            Some(n >= 100.0),
        ))
    },
};

static DESYNCHRONISED: Assumption = Assumption {
    statement: "not synchronised (q < 0.5)",
    check: |s, _| {
        let holds = loss_fraction_observed(s).map(|q| q < 0.5);
        Some(Condition::new("flows are not synchronised", holds))
    },
};
