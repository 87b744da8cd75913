// SPDX-License-Identifier: Apache-2.0
//! B_ρ: BSCL's buffer for utilisation.

use super::formulas::{LOW_LOSS, Link, PAPER, loss_fraction_of, utilisation_bytes};
use crate::rule::{Assumption, Basis, Condition, HEEDS_LOSS, Input, LBP_FLOWS, LBP_SHARE, Rule};
use crate::targets::Goal;

/// B_ρ of BSCL eq. 16: [`utilisation_bytes`] with q as measured, else of eq. 13.
pub static RULE: Rule = Rule {
    id: "bscl_utilisation",
    name: "BSCL utilisation B_ρ",
    paper: &PAPER,
    equation: "eq. 13, 16",
    formula: "B = (q*C_e*T_e - 2*M*N_b*(1-q))/(2-q), q as measured, else 1 - (1 - 1/N_b)^(alpha*N_b)",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[
        &LBP_FLOWS,
        &LBP_SHARE,
        &AT_LEAST_FIVE,
        &BELOW_EIGHTY,
        &HEEDS_LOSS,
        &LOW_LOSS,
    ],
    inputs: |s| {
        let link = Link::of(s, s.n_b());
        vec![
            Input::maybe("q", loss_fraction_of(s).ok(), "fraction"),
            Input::new("C_e", link.lbp_bytes_per_s, "bytes/s"),
            Input::new("T_e", link.t_e_s, "s"),
            Input::new("M", link.segment_bytes, "bytes"),
            Input::new("N_b", link.n_b, "flows"),
            Input::new("alpha", s.traffic.alpha.value, ""),
        ]
    },
    size_bytes: |s| {
        let q = loss_fraction_of(s)?;
        Ok(utilisation_bytes(Link::of(s, s.n_b()), q)?)
    },
};

static AT_LEAST_FIVE: Assumption = Assumption {
    statement: "N_b ≥ 5",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("N_b at least 5 ({n:.1}; below it C*T_e is used)"),
            Some(n >= 5.0),
        ))
    },
};

static BELOW_EIGHTY: Assumption = Assumption {
    statement: "N_b < 80",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("N_b below about 80 ({n:.1})"),
            Some(n < 80.0),
        ))
    },
};
