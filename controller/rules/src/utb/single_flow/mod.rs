// SPDX-License-Identifier: Apache-2.0
//! One flow alone on a link: Spang, Arslan, McKeown, *Updating the Theory of
//! Buffer Sizing*, Performance 2021 (UTB) §3.

//!
//! The formulas are here; the rule of each congestion control is in a file of
//! its own.

pub(super) mod bbr;
pub(super) mod cubic;
pub mod formulas;
pub(super) mod reno;
pub(super) mod scalable;

pub use formulas::*;
