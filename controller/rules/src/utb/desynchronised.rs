// SPDX-License-Identifier: Apache-2.0
//! s·Δ·BDP/n, the rule of desynchronised flows with measured s.

use super::formulas::{
    EQUAL_RTTS, LARGE_WINDOWS, PAPER, SEVERAL_FLOWS, SMALL_BUFFER, Share, desynchronised_bytes,
    share_inputs,
};
use crate::rule::{Basis, HEEDS_LOSS, Input, LBP_FLOWS, Missing, Rule, Situation};
use crate::targets::Goal;

/// s of the worst RTT, as the theorem has it.
fn worst(s: &Situation<'_>) -> Option<f64> {
    let synchrony = s.traffic.synchrony;
    synchrony.map(|s| s.s_max.max(s.s_mean))
}

/// B = s·Δ·BDP/n (UTB eq. 3, §4.6): [`desynchronised_bytes`].
pub static RULE: Rule = Rule {
    id: "utb_desynchronised",
    name: "UTB desynchronised",
    paper: &PAPER,
    equation: "eq. 3, §4.6",
    formula: "B = s*delta*BDP/n, s of the worst RTT",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[
        &LBP_FLOWS,
        &SEVERAL_FLOWS,
        &HEEDS_LOSS,
        &LARGE_WINDOWS,
        &EQUAL_RTTS,
        &SMALL_BUFFER,
    ],
    inputs: |s| {
        let mean = s.traffic.synchrony.map(|s| s.s_mean);
        let mut inputs = vec![
            Input::maybe("s", worst(s), "flows per RTT"),
            Input::maybe("s_mean", mean, "flows per RTT"),
        ];
        inputs.extend(share_inputs(s));
        inputs
    },
    size_bytes: |s| {
        let share = Share::of(s)?;
        let reductions = worst(s).ok_or(Missing::Unknown("s (reductions per RTT)"))?;
        Ok(desynchronised_bytes(share, reductions)?)
    },
};
