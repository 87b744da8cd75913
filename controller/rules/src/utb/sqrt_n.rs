// SPDX-License-Identifier: Apache-2.0
//! Δ·BDP/√n, the square-root rule with its conditions.

use super::formulas::{
    EQUAL_RTTS, LARGE_WINDOWS, PAPER, SEVERAL_FLOWS, SMALL_BUFFER, Share, share_inputs,
    sqrt_n_bytes,
};
use crate::bscl::formulas::LOW_LOSS;
use crate::rule::{Assumption, Basis, Condition, HEEDS_LOSS, LBP_FLOWS, Rule};
use crate::targets::Goal;

/// B = Δ·BDP/√n (UTB Theorems 5-6): [`sqrt_n_bytes`].
pub static RULE: Rule = Rule {
    id: "utb_sqrt_n",
    name: "UTB √n",
    paper: &PAPER,
    equation: "Thm 5-6",
    formula: "B = delta*BDP/sqrt(n)",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    combines: &[],
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
