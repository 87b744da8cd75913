// SPDX-License-Identifier: Apache-2.0
//! The list of rules.

use crate::rule::{Rule, RuleResult, Situation};
use crate::targets::{Options, Targets};
use crate::traffic::Traffic;
use crate::{bscl, dctcp, ngi, srb, utb};
use std::sync::LazyLock;

/// All rules, grouped by paper.
pub static RULES: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    [
        bscl::RULES,
        srb::RULES,
        utb::RULES,
        ngi::RULES,
        dctcp::RULES,
    ]
    .concat()
});

/// Applies every rule of the list.
pub fn evaluate(traffic: &Traffic, targets: &Targets, options: &Options) -> Vec<RuleResult> {
    let situation = Situation {
        traffic,
        targets,
        options,
    };
    RULES.iter().map(|r| r.evaluate(&situation)).collect()
}

#[cfg(test)]
mod tests;
