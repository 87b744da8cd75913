// SPDX-License-Identifier: Apache-2.0
//! The buffer for a loss bound, from the measured loss rate.

use super::conditions::{ENOUGH_DROPS, LBP_FILL, LOW_LOSS, NOT_ALL_BBR};
use super::loss::LossScaling;
use super::source::{PAPER, missing};
use crate::rule::{Basis, Input, Missing, Rule};
use crate::targets::Goal;

/// The loss law of the flows, with its constant measured: [`LossScaling::buffer_for`].
pub static RULE: Rule = Rule {
    id: "measured_loss",
    name: "loss, measured scaling",
    paper: &PAPER,
    equation: "(BSCL eq. 21 with its constant measured, RFC 9438 for CUBIC)",
    formula: "smallest B with (p_now - p_o - p_m)*(f(B)/f(B_now))^e + p_o + p_m(B) <= p, f = 1/(w + 2.5)^2 (CUBIC: at least 0.71*RTT/w^(4/3)), w = C_e*(T_e + B/C)/(M*N_b), p_o: overshoots of slow start, p_m: drops of BBR, along a line to its cap, e: by limits tried (1 without)",
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
            Input::maybe("w_now", scaling.map(LossScaling::window_pkts), "packets"),
            Input::maybe("e", scaling.map(LossScaling::exponent), ""),
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("T_e", m.t_e_s.value, "s"),
        ]
    },
    size_bytes: |s| {
        let bound = s.loss_bound()?;
        let scaling = LossScaling::of(s.traffic).ok_or_else(|| missing(s.traffic))?;
        let buffer = scaling.buffer_for(bound, s.options.conservative)?;
        buffer.ok_or_else(|| {
            let stays = scaling.model_based_rate_anywhere();
            Missing::NoBuffer(if stays >= bound {
                format!(
                    "no buffer: flows that follow a model of the path (BBR) lose {:.2} % whatever it is",
                    stays * 100.0
                )
            } else {
                "no buffer: loss hardly falls with it".into()
            })
        })
    },
};
