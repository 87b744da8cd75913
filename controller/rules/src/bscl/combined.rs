// SPDX-License-Identifier: Apache-2.0
//! BSCL's rule as a whole: the larger of its two buffers.

use super::formulas::{LOW_LOSS, Link, PAPER, buffer_bytes, loss_bytes, loss_fraction_of};
use super::{loss, utilisation};
use crate::rule::{Basis, HEEDS_LOSS, Input, LBP_FLOWS, LBP_SHARE, Rule};
use crate::targets::Goal;

/// max(B_ρ, B_p, 0) (BSCL Fig. 4, eq. 23), with C·Tₑ for B_ρ below five flows,
/// where the paper finds its probabilistic model too low (§VII).
pub static RULE: Rule = Rule {
    id: "bscl",
    name: "BSCL",
    paper: &PAPER,
    equation: "Fig. 4, eq. 23, §VII",
    formula: "B = max(B_rho, B_p, 0); C*T_e for B_rho when N_b < 5",
    goals: &[Goal::Utilisation, Goal::Loss],
    basis: Basis::Model,
    combines: &[&utilisation::RULE, &loss::RULE],
    assumptions: &[&LBP_FLOWS, &LBP_SHARE, &HEEDS_LOSS, &LOW_LOSS],
    inputs: |s| {
        let link = Link::of(s, s.n_b());
        vec![
            Input::maybe("q", loss_fraction_of(s).ok(), "fraction"),
            Input::new("N_b", link.n_b, "flows"),
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::new("C_e", link.lbp_bytes_per_s, "bytes/s"),
            Input::new("T_e", link.t_e_s, "s"),
            Input::new("M", link.segment_bytes, "bytes"),
        ]
    },
    size_bytes: |s| {
        let q = loss_fraction_of(s)?;
        let link = Link::of(s, s.n_b());
        let for_utilisation = buffer_bytes(link, s.drain_bytes_per_s(), q, None)?;
        let for_loss = match s.targets.loss_rate {
            Some(bound) => loss_bytes(Link::of(s, s.n_b_for_loss()), bound)?,
            None => 0.0,
        };
        Ok(for_utilisation.max(for_loss).max(0.0))
    },
};
