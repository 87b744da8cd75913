// SPDX-License-Identifier: Apache-2.0
//! The rules of UTB for one flow (§3).

use super::formulas::*;
use crate::rule::{Assumption, Basis, Condition, Rule};
use crate::targets::Goal;
use crate::traffic::CongestionControl;
use crate::utb::formulas::PAPER;

/// B = max(0, γ/β − 1)·BDP (UTB §3.5): [`buffer_bytes`] with the β of `$control`.
macro_rules! rule {
    ($name:ident, $id:literal, $shown:literal, $runs:literal, $control:ident, $beta:ident) => {
        /// The buffer of a single flow of this congestion control.
        pub static $name: Rule = Rule {
            id: $id,
            name: concat!("single flow, ", $shown),
            paper: &PAPER,
            equation: "§3.5",
            formula: "B = max(0, gamma/beta - 1)*BDP",
            goals: &[Goal::Utilisation],
            basis: Basis::Model,
            assumptions: &[
                &SINGLE_FLOW,
                &Assumption {
                    statement: concat!("it runs ", $runs),
                    check: |s, _| {
                        let holds = runs(s.traffic, CongestionControl::$control);
                        let told = concat!("it runs ", stringify!($control));
                        Some(Condition::new(told, holds))
                    },
                },
            ],
            inputs: |s| inputs(s, Some($beta)),
            size_bytes: |s| Ok(buffer_bytes(s.bdp_bytes(), $beta, s.targets.utilisation)?),
        };
    };
}

rule!(RENO, "single_reno", "Reno", "Reno", Reno, BETA_RENO);
rule!(CUBIC, "single_cubic", "CUBIC", "CUBIC", Cubic, BETA_CUBIC);
rule!(
    SCALABLE,
    "single_scalable",
    "Scalable",
    "Scalable TCP",
    Scalable,
    BETA_SCALABLE
);

/// B = max(0, γ − 3/4)·BDP (UTB §3.5): [`bbr_buffer_bytes`].
pub static BBR: Rule = Rule {
    id: "single_bbr",
    name: "single flow, BBR v1",
    paper: &PAPER,
    equation: "§3.5",
    formula: "B = max(0, gamma - 3/4)*BDP",
    goals: &[Goal::Utilisation],
    basis: Basis::Model,
    assumptions: &[&SINGLE_FLOW, &RUNS_IT],
    inputs: |s| inputs(s, None),
    size_bytes: |s| Ok(bbr_buffer_bytes(s.bdp_bytes(), s.targets.utilisation)?),
};

static RUNS_IT: Assumption = Assumption {
    statement: "it runs BBR v1",
    check: |s, _| {
        Some(Condition::new(
            "it runs BBR v1 in its probe-bandwidth phase",
            runs(s.traffic, CongestionControl::Bbr),
        ))
    },
};
