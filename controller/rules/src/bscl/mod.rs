// SPDX-License-Identifier: Apache-2.0
//! Dhamdhere, Jiang, Dovrolis: *Buffer Sizing for Congested Internet Links*,
//! INFOCOM 2005 (BSCL).
//!
//! Holds where at least 80-90 % of the capacity is used by locally bottlenecked
//! persistent (LBP) flows and the loss rate is below about 5 %. [`formulas`] has
//! the formulas; each rule that uses them has a file of its own.

mod combined;
mod crossover;
mod delay;
pub mod formulas;
mod fpq;
pub(crate) mod loss;
pub(crate) mod rule_of_thumb;
mod synchronised;
pub(crate) mod utilisation;

pub use formulas::*;

use crate::rule::Rule;

/// Rules of this folder.
pub const RULES: &[&Rule] = &[
    &rule_of_thumb::RULE,
    &synchronised::RULE,
    &utilisation::RULE,
    &loss::RULE,
    &combined::RULE,
    &crossover::RULE,
    &fpq::RULE,
    &delay::RULE,
];

#[cfg(test)]
mod tests;
