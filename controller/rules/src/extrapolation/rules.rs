// SPDX-License-Identifier: Apache-2.0
//! The rules that carry over what was measured.

use super::conditions::{ENOUGH_ARRIVALS, ENOUGH_DROPS, LBP_FILL, LOW_LOSS, NOT_ALL_BBR};
use super::loss::LossScaling;
use super::open_loop::OpenLoop;
use super::window::WindowScaling;
use crate::ngi::{BELOW_CAPACITY, NO_LBP_FLOW};
use crate::rule::{Basis, Input, Missing, Paper, Rule};
use crate::targets::Goal;
use crate::traffic::Traffic;

/// The source of these rules.
pub static PAPER: Paper = Paper {
    name: "Tidemark",
    citation: "derived in `controller/rules/src/extrapolation/mod.rs`",
};

/// Why nothing can be carried over.
pub(super) fn missing(m: &Traffic) -> Missing {
    let why = if m.observed.is_none() {
        "nothing was measured at the limit in force"
    } else if m.limit_bytes.is_none() {
        "the limit in force is not known, or there is none"
    } else if m.t_e_s.value <= 0.0 {
        return Missing::Unknown("T_e");
    } else {
        "a condition does not hold"
    };
    Missing::NoBuffer(why.into())
}

/// The loss law of the flows, with its constant measured: [`LossScaling::buffer_for`].
pub static LOSS: Rule = Rule {
    id: "measured_loss",
    name: "loss, measured scaling",
    paper: &PAPER,
    equation: "(BSCL eq. 21 with its constant measured, RFC 9438 for CUBIC)",
    formula: "smallest B with (p_now - p_o - p_m)*(f(B)/f(B_now))^e + p_o + p_m(B) <= p, f = 1/(w + 2.5)^2 (CUBIC: at least 0.71*RTT/w^(4/3)), w = C_e*(T_e + B/C)/(M*N_b), p_o: overshoots of slow start, p_m: drops of BBR, along a line to its cap, e: by limits tried (1 without)",
    goals: &[Goal::Loss],
    basis: Basis::Measurement,
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

/// Largest buffer looked at, in C·T̄.
const LARGEST_BDP: f64 = 100.0;

/// Smallest buffer with the target utilisation: [`WindowScaling::buffer_for`].
pub static UTILISATION: Rule = Rule {
    id: "measured_utilisation",
    name: "utilisation, measured scaling",
    paper: &PAPER,
    equation: "",
    formula: "smallest B with u*mean(min(1, W*k)) + (1 - u)*sawtooth(B) >= target, k = (C*T_e + B)/(C*T_e + B_now), u = k^(2*(1 + 4/events)), sawtooth(B): W between (1 - q'/2) and 1 of its peak, q' = q + 1.645*sqrt(q*(1 - q)/N_b), q by BSCL eq. 13",
    goals: &[Goal::Utilisation],
    basis: Basis::Measurement,
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

/// M/M/1/K with the tail of the queue as measured: [`OpenLoop::buffer_for`].
pub static OPEN_LOOP: Rule = Rule {
    id: "measured_open_loop",
    name: "no bottlenecked flow, measured occupancy",
    paper: &PAPER,
    equation: "(M/M/1/K with its tail measured)",
    formula: "smallest B with T(B) <= p at the upper end, loss = (1 - rho)*T/(1 - rho*T), T(B): part of the arrivals that met B or more",
    // Utilisation is the load there, whatever the buffer.
    goals: &[Goal::Loss],
    basis: Basis::Measurement,
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
