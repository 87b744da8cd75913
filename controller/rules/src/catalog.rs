// SPDX-License-Identifier: Apache-2.0
//! Every rule applied to one measurement.

mod build;
mod few;
mod many;
mod scaled;

use crate::measured::{Measured, Options, Targets};
use crate::rule::Rule;

/// Evaluates every rule. A rule that lacks an input, or is given one out of
/// range, has no buffer and says why in `missing`; a rule of which an
/// assumption is known to fail has `applies == false`.
pub fn evaluate(measured: &Measured, targets: &Targets, options: &Options) -> Vec<Rule> {
    let mut rules = many::rules(measured, targets, options);
    rules.extend(few::rules(measured, targets));
    rules.extend(scaled::rules(measured, targets, options));
    rules
}

#[cfg(test)]
mod tests;
