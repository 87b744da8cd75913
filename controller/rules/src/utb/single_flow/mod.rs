// SPDX-License-Identifier: Apache-2.0
//! One flow alone on a link: Spang, Arslan, McKeown, *Updating the Theory of
//! Buffer Sizing*, Performance 2021 (UTB) §3.

pub mod formulas;
pub(super) mod rules;

pub use formulas::*;
