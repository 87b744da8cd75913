// SPDX-License-Identifier: Apache-2.0
//! Spang, Arslan, McKeown: *Updating the Theory of Buffer Sizing*, Performance
//! 2021 (UTB). One flow alone (§3) is in [`single_flow`]; [`formulas`] has the
//! formulas for many flows (§4-5).

pub mod formulas;
mod rules;
pub mod single_flow;

pub use formulas::*;

use crate::rule::Rule;

/// Rules of this folder.
pub const RULES: &[&Rule] = &[
    &rules::SQRT_N,
    &rules::DESYNCHRONISED,
    &rules::BBR,
    &single_flow::rules::RENO,
    &single_flow::rules::CUBIC,
    &single_flow::rules::SCALABLE,
    &single_flow::rules::BBR,
];
