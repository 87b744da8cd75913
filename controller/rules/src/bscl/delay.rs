// SPDX-License-Identifier: Apache-2.0
//! The largest buffer within a delay bound.

use super::formulas::{PAPER, delay_bytes};
use crate::rule::{Basis, Input, Rule};
use crate::targets::Goal;

/// B ≤ C·d̂ (BSCL eq. 24-25): [`delay_bytes`].
pub static RULE: Rule = Rule {
    id: "delay",
    name: "delay bound",
    paper: &PAPER,
    equation: "eq. 24-25",
    formula: "B <= C*d",
    goals: &[Goal::Delay],
    basis: Basis::Model,
    combines: &[],
    assumptions: &[],
    inputs: |s| {
        vec![
            Input::new("C", s.drain_bytes_per_s(), "bytes/s"),
            Input::maybe("d", s.delay_bound_s().ok(), "s"),
        ]
    },
    size_bytes: |s| Ok(delay_bytes(s.drain_bytes_per_s(), s.delay_bound_s()?)?),
};
