// SPDX-License-Identifier: Apache-2.0
//! The buffer of the transparent regime.

use super::formulas::{BELOW_CAPACITY, NO_LBP_FLOW, PAPER, transparent_packets};
use crate::rule::{Assumption, Basis, Condition, Input, Rule};
use crate::targets::Goal;

/// b = ln p̂/ln ρ (NGI §IV-A): [`transparent_packets`].
pub static RULE: Rule = Rule {
    id: "ngi_transparent",
    name: "transparent regime",
    paper: &PAPER,
    equation: "§IV-A",
    formula: "b = ln(p)/ln(rho) packets",
    // Utilisation is the load there, whatever the buffer.
    goals: &[Goal::Loss],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&NO_LBP_FLOW, &BELOW_CAPACITY, &POISSON],
    inputs: |s| {
        vec![
            Input::new("rho", s.traffic.rho, "fraction"),
            Input::maybe("p", s.targets.loss_rate, "fraction"),
        ]
    },
    size_bytes: |s| {
        let bound = s.loss_bound()?;
        Ok(transparent_packets(s.traffic.rho, bound)? * s.traffic.segment_bytes)
    },
};

static POISSON: Assumption = Assumption {
    statement: "near-Poisson arrivals",
    check: |_, _| {
        Some(Condition::new(
            "packets arrive nearly as a Poisson process",
            None,
        ))
    },
};
