// SPDX-License-Identifier: Apache-2.0
//! The rules of NGI.

use super::formulas::*;
use crate::rule::{Assumption, Basis, Condition, Input, Rule};
use crate::targets::Goal;

/// b = ln p̂/ln ρ (NGI §IV-A): [`transparent_packets`].
pub static TRANSPARENT: Rule = Rule {
    id: "ngi_transparent",
    name: "transparent regime",
    paper: &PAPER,
    equation: "§IV-A",
    formula: "b = ln(p)/ln(rho) packets",
    // On such a link the utilisation equals the load, whatever the buffer.
    goals: &[Goal::Loss],
    basis: Basis::Model,
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

/// 100 to 200 packets (NGI §IV-B, §VI). For comparison.
pub static ELASTIC: Rule = Rule {
    id: "ngi_elastic",
    name: "elastic, few flows",
    paper: &PAPER,
    equation: "§IV-B, §VI",
    formula: "100-200 packets as a starting point (the middle is shown)",
    goals: &[],
    basis: Basis::Model,
    assumptions: &[&ONE_TO_FOUR_FLOWS, &HALF_BACKGROUND],
    inputs: |_| {
        let (from, to) = ELASTIC_FEW_FLOWS_PKTS;
        vec![
            Input::new("from", from, "packets"),
            Input::new("to", to, "packets"),
        ]
    },
    size_bytes: |s| {
        let (from, to) = ELASTIC_FEW_FLOWS_PKTS;
        Ok(0.5 * (from + to) * s.traffic.segment_bytes)
    },
};

static ONE_TO_FOUR_FLOWS: Assumption = Assumption {
    statement: "1 to 4 bottlenecked flows",
    check: |s, _| {
        let n = s.n_b();
        Some(Condition::new(
            format!("one to four flows are bottlenecked ({n:.1})"),
            Some((0.5..4.5).contains(&n)),
        ))
    },
};

static HALF_BACKGROUND: Assumption = Assumption {
    statement: "about half of the load is background",
    check: |s, _| {
        let others = s.traffic.rho_other;
        Some(Condition::new(
            format!(
                "about half of the load is background ({:.0} %)",
                others * 100.0
            ),
            Some((0.25..0.75).contains(&others)),
        ))
    },
};
