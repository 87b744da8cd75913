// SPDX-License-Identifier: Apache-2.0
//! The buffer for flows that end in slow start.

use super::formulas::{PAPER, short_flow_packets, slow_start_bursts};
use crate::ngi::{BELOW_CAPACITY, NO_LBP_FLOW};
use crate::rule::{Assumption, Basis, Condition, Input, Rule};
use crate::targets::Goal;

/// Length of a short flow, packets: three bursts of 2, 4 and 8.
const SHORT_FLOW_PKTS: f64 = 14.0;

/// b = −ln p̂·ρ/(2(1−ρ))·E\[X²\]/E\[X\] (SRB §4): [`short_flow_packets`].
pub static RULE: Rule = Rule {
    id: "srb_short",
    name: "short flows only",
    paper: &PAPER,
    equation: "§4",
    formula: "b = -ln(p)*rho/(2(1-rho))*E[X²]/E[X] packets",
    // Utilisation is the load there, whatever the buffer.
    goals: &[Goal::Loss],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&NO_LBP_FLOW, &BELOW_CAPACITY, &SLOW_START],
    inputs: |s| {
        vec![
            Input::new("rho", s.traffic.rho, "fraction"),
            Input::new("flow length", SHORT_FLOW_PKTS, "packets"),
        ]
    },
    size_bytes: |s| {
        let bound = s.loss_bound()?;
        let bursts = slow_start_bursts(SHORT_FLOW_PKTS)?;
        Ok(short_flow_packets(s.traffic.rho, bursts, bound)? * s.traffic.segment_bytes)
    },
};

static SLOW_START: Assumption = Assumption {
    statement: "slow-start bursts only",
    check: |_, _| {
        Some(Condition::new(
            "flows send slow-start bursts of 2, 4, 8, … packets",
            None,
        ))
    },
};
