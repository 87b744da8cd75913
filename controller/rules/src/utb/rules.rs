// SPDX-License-Identifier: Apache-2.0
//! The rules of UTB for many flows (§4-5).

use super::formulas::*;
use crate::bscl::LOW_LOSS;
use crate::rule::{
    Assumption, Basis, Condition, HEEDS_LOSS, Input, LBP_FLOWS, Missing, Rule, Situation,
};
use crate::targets::Goal;

/// B = Δ·BDP/√n (UTB Theorems 5-6): [`sqrt_n_bytes`].
pub static SQRT_N: Rule = Rule {
    id: "utb_sqrt_n",
    name: "UTB √n",
    paper: &PAPER,
    equation: "Thm 5-6",
    formula: "B = delta*BDP/sqrt(n)",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    assumptions: &[
        &LBP_FLOWS,
        &SEVERAL_FLOWS,
        &HEEDS_LOSS,
        &FEW_REDUCTIONS,
        &LARGE_WINDOWS,
        &EQUAL_RTTS,
        &SMALL_BUFFER,
        &LOW_LOSS,
    ],
    inputs: share_inputs,
    size_bytes: |s| Ok(sqrt_n_bytes(Share::of(s)?)?),
};

/// The condition of Theorem 5.
static FEW_REDUCTIONS: Assumption = Assumption {
    statement: "D ≤ n²/(Δ·BDP) + √n",
    check: |s, _| {
        let synchrony = s.traffic.synchrony;
        let text = match synchrony {
            Some(s) => format!(
                "D <= n²/(delta*BDP) + √n in the RTTs with loss (holds in {:.0} % of them)",
                s.condition_fraction * 100.0
            ),
            None => "D <= n²/(delta*BDP) + √n in the RTTs with loss".into(),
        };
        let holds = synchrony.map(|s| s.condition_fraction >= 0.95);
        Some(Condition::new(text, holds))
    },
};

/// Returns s of the worst RTT, as in the theorem.
fn worst(s: &Situation<'_>) -> Option<f64> {
    let synchrony = s.traffic.synchrony;
    synchrony.map(|s| s.s_max.max(s.s_mean))
}

/// B = s·Δ·BDP/n (UTB eq. 3, §4.6): [`desynchronised_bytes`].
pub static DESYNCHRONISED: Rule = Rule {
    id: "utb_desynchronised",
    name: "UTB desynchronised",
    paper: &PAPER,
    equation: "eq. 3, §4.6",
    formula: "B = s*delta*BDP/n, s of the worst RTT",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
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

/// B = Δ·BDP/√(2n)·√(ln 1/δ) (UTB Theorem 8): [`bbr_bytes`].
pub static BBR: Rule = Rule {
    id: "utb_bbr",
    name: "UTB BBR",
    paper: &PAPER,
    equation: "Thm 8",
    formula: "B = delta*BDP/sqrt(2n)*sqrt(ln(1/delta_p))",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    assumptions: &[&LBP_FLOWS, &SEVERAL_FLOWS, &ALL_BBR],
    inputs: |s| {
        let mut inputs = share_inputs(s);
        let delta_p = s.options.bbr_delta;
        inputs.push(Input::new("delta_p", delta_p, "probability"));
        inputs
    },
    size_bytes: |s| Ok(bbr_bytes(Share::of(s)?, s.options.bbr_delta)?),
};

static ALL_BBR: Assumption = Assumption {
    statement: "all flows BBR v1",
    check: |s, _| {
        Some(Condition::new(
            "all flows run BBR v1 in its probe-bandwidth phase",
            s.traffic.all_model_based(),
        ))
    },
};
