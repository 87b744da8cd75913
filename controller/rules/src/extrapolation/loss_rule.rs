// SPDX-License-Identifier: Apache-2.0
//! The buffer for a loss bound, from the measured loss rate.

use super::conditions::{ENOUGH_DROPS, LBP_FILL, LOW_LOSS, NOT_ALL_BBR};
use super::loss::LossScaling;
use super::source::{PAPER, missing};
use crate::rule::{Basis, Input, Missing, Rule};
use crate::targets::Goal;

/// BSCL eq. 21 with its constant measured: [`LossScaling::buffer_for`].
pub static RULE: Rule = Rule {
    id: "measured_loss",
    name: "loss, measured scaling",
    paper: &PAPER,
    equation: "(BSCL eq. 21 with its constant measured)",
    formula: "B = K*M*N_b/sqrt(p - p_o - p_m) - C*T_e, K = sqrt(p_now - p_o - p_m)*(C*T_e + B_now)/(M*N_b), p_o: overshoots of slow start (0 where p < p_now), p_m: drops of BBR",
    goals: &[Goal::Loss],
    basis: Basis::Measurement,
    combines: &[],
    assumptions: &[&LBP_FILL, &NOT_ALL_BBR, &ENOUGH_DROPS, &LOW_LOSS],
    inputs: |s| {
        let m = s.traffic;
        let scaling = LossScaling::of(m);
        let scaling = scaling.as_ref();
        let fraction = "fraction";
        vec![
            Input::maybe("p", s.targets.loss_rate, fraction),
            Input::maybe("p_now", m.observed.map(|o| o.loss_rate), fraction),
            Input::maybe("p_o", scaling.map(LossScaling::overshoot_rate), fraction),
            Input::maybe("p_m", scaling.map(LossScaling::model_based_rate), fraction),
            Input::maybe("B_now", m.limit_bytes, "bytes"),
            Input::maybe("K", scaling.map(LossScaling::constant), ""),
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("T_e", m.t_e_s.value, "s"),
        ]
    },
    size_bytes: |s| {
        let bound = s.loss_bound()?;
        let scaling = LossScaling::of(s.traffic).ok_or_else(|| missing(s.traffic))?;
        let buffer = scaling.buffer_for(bound, s.options.conservative)?;
        buffer.ok_or_else(|| {
            Missing::NoBuffer(format!(
                "no buffer: flows that follow a model of the path (BBR) lose {:.2} % whatever it is",
                scaling.model_based_rate() * 100.0
            ))
        })
    },
};
