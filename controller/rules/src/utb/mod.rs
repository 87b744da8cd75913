// SPDX-License-Identifier: Apache-2.0
//! Spang, Arslan, McKeown: *Updating the Theory of Buffer Sizing*, Performance
//! 2021 (UTB). One flow alone (§3) is in [`single_flow`]; [`formulas`] has the
//! formulas for many flows (§4-5). Each rule has a file of its own.

mod bbr;
mod desynchronised;
pub mod formulas;
pub mod single_flow;
mod sqrt_n;

pub use formulas::*;

use crate::rule::Rule;

/// Rules of this folder.
pub const RULES: &[&Rule] = &[
    &sqrt_n::RULE,
    &desynchronised::RULE,
    &bbr::RULE,
    &single_flow::loss_based::RENO,
    &single_flow::loss_based::CUBIC,
    &single_flow::loss_based::SCALABLE,
    &single_flow::bbr::RULE,
];
