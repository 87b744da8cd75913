// SPDX-License-Identifier: Apache-2.0
//! The buffer at the number of flows from which the loss bound decides.

use super::formulas::{Link, PAPER, crossover_flows, loss_fraction, utilisation_bytes};
use crate::rule::{Basis, Input, LBP_FLOWS, LBP_SHARE, Missing, Rule, Situation};

/// B_ρ = B_p at Ñ_b (BSCL §IV-B): [`crossover_flows`]. For comparison.
pub static RULE: Rule = Rule {
    id: "bscl_crossover",
    name: "BSCL cross-over Ñ_b",
    paper: &PAPER,
    equation: "§IV-B",
    formula: "B_rho(N) = B_p(N)",
    goals: &[],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[&LBP_FLOWS, &LBP_SHARE],
    inputs: |s| {
        let at = crossover(s).ok();
        vec![Input::maybe("N_crossover", at.map(|at| at.0), "flows")]
    },
    size_bytes: |s| crossover(s).map(|at| at.1),
};

/// Ñ_b and the buffer there, bytes.
fn crossover(s: &Situation<'_>) -> Result<(f64, f64), Missing> {
    let alpha = s.traffic.alpha.value;
    let bound = s.loss_bound()?;
    let Some(flows) = crossover_flows(Link::of(s, s.n_b()), alpha, bound)? else {
        return Err(Missing::NoBuffer(
            "the loss bound decides for any number of flows".into(),
        ));
    };
    let q = loss_fraction(flows, (alpha * flows).max(1.0))?;
    Ok((flows, utilisation_bytes(Link::of(s, flows), q)?))
}
