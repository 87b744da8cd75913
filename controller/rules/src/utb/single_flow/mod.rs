// SPDX-License-Identifier: Apache-2.0
//! One flow alone on a link: Spang, Arslan, McKeown, *Updating the Theory of
//! Buffer Sizing*, Performance 2021 (UTB) §3.

pub(super) mod bbr;
pub mod formulas;
pub(super) mod loss_based;

pub use formulas::*;
