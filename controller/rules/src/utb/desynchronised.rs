// SPDX-License-Identifier: Apache-2.0
//! s·Δ·BDP/n, the rule of desynchronised flows with measured s.

use super::formulas::{
    LARGE_WINDOWS, PAPER, SEVERAL_FLOWS, Share, desynchronised_bytes, share_inputs,
};
use crate::rule::{Basis, HEEDS_LOSS, Input, LBP_FLOWS, Missing, Rule};
use crate::targets::Goal;

/// B = s·Δ·BDP/n (UTB eq. 3, §4.6): [`desynchronised_bytes`].
pub static RULE: Rule = Rule {
    id: "utb_desynchronised",
    name: "UTB desynchronised",
    paper: &PAPER,
    equation: "eq. 3, §4.6",
    formula: "B = s*delta*BDP/n",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&LBP_FLOWS, &SEVERAL_FLOWS, &HEEDS_LOSS, &LARGE_WINDOWS],
    inputs: |s| {
        let reductions = s.traffic.synchrony.map(|s| s.s_mean);
        let mut inputs = vec![Input::maybe("s", reductions, "flows per RTT")];
        inputs.extend(share_inputs(s));
        inputs
    },
    size_bytes: |s| {
        let share = Share::of(s)?;
        let reductions = s.traffic.synchrony.map(|s| s.s_mean);
        let reductions = reductions.ok_or(Missing::Unknown("s (reductions per RTT)"))?;
        Ok(desynchronised_bytes(share, reductions)?)
    },
};
