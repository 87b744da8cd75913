// SPDX-License-Identifier: Apache-2.0
//! Flow-proportional queueing, which BSCL compares itself with.

use super::formulas::{PAPER, fpq_bytes};
use crate::rule::{Basis, Input, Rule};

/// B = 6·M·N (BSCL §IV-A): [`fpq_bytes`]. For comparison.
pub static RULE: Rule = Rule {
    id: "fpq",
    name: "FPQ (six packets per flow)",
    paper: &PAPER,
    equation: "§IV-A",
    formula: "B = 6*M*N",
    goals: &[],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[],
    inputs: |s| {
        vec![
            Input::new("M", s.traffic.segment_bytes, "bytes"),
            Input::new("N", s.traffic.n_active, "flows"),
        ]
    },
    size_bytes: |s| Ok(fpq_bytes(s.traffic.segment_bytes, s.traffic.n_active)?),
};
