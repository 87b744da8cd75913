// SPDX-License-Identifier: Apache-2.0
//! The buffer for utilisation, from the measured distribution of the window.

use super::conditions::{ENOUGH_ARRIVALS, ENOUGH_DROPS, LBP_FILL, LOW_LOSS, NOT_ALL_BBR};
use super::source::{PAPER, missing};
use super::window::WindowScaling;
use crate::rule::{Basis, Input, Missing, Rule};
use crate::targets::Goal;

/// Largest buffer looked at, in C·T̄.
const LARGEST_BDP: f64 = 100.0;

/// Smallest buffer with the target utilisation: [`WindowScaling::buffer_for`].
pub static RULE: Rule = Rule {
    id: "measured_utilisation",
    name: "utilisation, measured scaling",
    paper: &PAPER,
    equation: "",
    formula: "smallest B with u*mean(min(1, W*k)) + (1 - u)*sawtooth(B) >= target, k = (C*T_e + B)/(C*T_e + B_now), u = k^(2*(1 + 4/events)), sawtooth(B): W between (1 - q'/2) and 1 of its peak, q' = q + 1.645*sqrt(q*(1 - q)/N_b), q by BSCL eq. 13",
    goals: &[Goal::Utilisation],
    basis: Basis::Measurement,
    combines: &[],
    assumptions: &[
        &LBP_FILL,
        &NOT_ALL_BBR,
        &ENOUGH_DROPS,
        &LOW_LOSS,
        &ENOUGH_ARRIVALS,
    ],
    inputs: |s| {
        let m = s.traffic;
        let scaling = WindowScaling::of(m);
        let lowest = scaling.map(|w| w.lowest_over_peak());
        vec![
            Input::new("target", s.targets.utilisation, "fraction"),
            Input::maybe(
                "utilisation_now",
                m.observed.map(|o| o.utilisation),
                "fraction",
            ),
            Input::maybe("W_low/W_peak", lowest, "fraction"),
            Input::maybe("B_now", m.limit_bytes, "bytes"),
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("T_e", m.t_e_s.value, "s"),
        ]
    },
    size_bytes: |s| {
        let m = s.traffic;
        let scaling = WindowScaling::of(m).ok_or_else(|| missing(m))?;
        let largest = LARGEST_BDP * s.drain_bytes_per_s() * m.t_mean_s.value.max(m.t_e_s.value);
        let buffer = scaling.buffer_for(s.targets.utilisation, largest);
        buffer.ok_or_else(|| {
            Missing::NoBuffer(format!(
                "no buffer up to {LARGEST_BDP:.0} C*T reaches the target"
            ))
        })
    },
};
