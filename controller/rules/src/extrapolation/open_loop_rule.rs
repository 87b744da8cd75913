// SPDX-License-Identifier: Apache-2.0
//! The buffer of a link that no flow waits for, from the measured occupancy.

use super::conditions::ENOUGH_ARRIVALS;
use super::open_loop::OpenLoop;
use super::source::{PAPER, missing};
use crate::ngi::{BELOW_CAPACITY, NO_LBP_FLOW};
use crate::rule::{Basis, Input, Missing, Rule};
use crate::targets::Goal;

/// M/M/1/K with the tail of the queue as measured: [`OpenLoop::buffer_for`].
pub static RULE: Rule = Rule {
    id: "measured_open_loop",
    name: "no bottlenecked flow, measured occupancy",
    paper: &PAPER,
    equation: "(M/M/1/K with its tail measured)",
    formula: "smallest B with T(B) <= p at the upper end, loss = (1 - rho)*T/(1 - rho*T), T(B): part of the arrivals that met B or more",
    // Utilisation is the load there, whatever the buffer.
    goals: &[Goal::Loss],
    basis: Basis::Measurement,
    combines: &[],
    assumptions: &[&NO_LBP_FLOW, &BELOW_CAPACITY, &ENOUGH_ARRIVALS],
    inputs: |s| {
        let m = s.traffic;
        let occupancy = m.occupancy.as_ref();
        vec![
            Input::maybe("p", s.targets.loss_rate, "fraction"),
            Input::maybe("p_now", m.observed.map(|o| o.loss_rate), "fraction"),
            Input::new("rho", m.rho, "fraction"),
            Input::maybe("B_now", m.limit_bytes, "bytes"),
            Input::maybe("arrivals", occupancy.map(|o| o.arrivals as f64), ""),
        ]
    },
    size_bytes: |s| {
        let bound = s.loss_bound()?;
        let measured = OpenLoop::of(s.traffic).ok_or_else(|| missing(s.traffic))?;
        let buffer = measured.buffer_for(bound, s.largest_limit_bytes());
        buffer
            .ok_or_else(|| Missing::NoBuffer("no buffer up to the largest keeps the bound".into()))
    },
};
