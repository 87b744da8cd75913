// SPDX-License-Identifier: Apache-2.0
//! The rules of SRB.

use super::formulas::{PAPER, short_flow_packets, slow_start_bursts, stanford_bytes};
use crate::bscl::{LOW_LOSS, loss_fraction_of};
use crate::ngi::{BELOW_CAPACITY, NO_LBP_FLOW};
use crate::rule::{Assumption, Basis, Condition, Input, Rule};
use crate::targets::Goal;

/// B = C·T̄/√N (SRB; BSCL eq. 1): [`stanford_bytes`].
pub static STANFORD: Rule = Rule {
    id: "stanford",
    name: "Stanford √n",
    paper: &PAPER,
    equation: "(BSCL eq. 1)",
    formula: "B = C*T_mean/sqrt(N)",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
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
        let holds = loss_fraction_of(s).ok().map(|q| q < 0.5);
        Some(Condition::new("flows are not synchronised", holds))
    },
};

/// Length of a short flow, packets: three bursts of 2, 4 and 8.
const SHORT_FLOW_PKTS: f64 = 14.0;

/// b = −ln p̂·ρ/(2(1−ρ))·E\[X²\]/E\[X\] (SRB §4): [`short_flow_packets`].
pub static SHORT_FLOWS: Rule = Rule {
    id: "srb_short",
    name: "short flows only",
    paper: &PAPER,
    equation: "§4",
    formula: "b = -ln(p)*rho/(2(1-rho))*E[X²]/E[X] packets",
    // On such a link the utilisation equals the load, whatever the buffer.
    goals: &[Goal::Loss],
    basis: Basis::Model,
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
