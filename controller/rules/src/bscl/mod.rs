// SPDX-License-Identifier: Apache-2.0
//! Dhamdhere, Jiang, Dovrolis: *Buffer Sizing for Congested Internet Links*,
//! INFOCOM 2005 (BSCL).
//!
//! Valid if at least 80-90 % of the capacity is used by locally bottlenecked persistent (LBP) flows
//! and the loss rate is below about 5 %. [`formulas`] contains the formulas.

pub mod formulas;
pub mod rules;

pub use formulas::*;

use crate::rule::Rule;

/// Rules of this folder.
pub const RULES: &[&Rule] = &[
    &rules::BDP,
    &rules::C_TE,
    &rules::UTILISATION,
    &rules::LOSS,
    &rules::COMBINED,
    &rules::CROSSOVER,
    &rules::FPQ,
    &rules::DELAY,
];

#[cfg(test)]
mod tests;
