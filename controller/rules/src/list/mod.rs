// SPDX-License-Identifier: Apache-2.0
//! The list of rules.

use crate::rule::{Rule, RuleResult, Situation};
use crate::targets::{Options, Targets};
use crate::traffic::Traffic;
use crate::{bscl, extrapolation, ngi, srb, utb};

/// The lists of the papers' folders.
const FOLDERS: [&[&Rule]; 5] = [
    bscl::RULES,
    srb::RULES,
    utb::RULES,
    ngi::RULES,
    extrapolation::RULES,
];

/// Every rule, by paper.
pub static RULES: [&Rule; count(&FOLDERS)] = joined(&FOLDERS);

const fn count(folders: &[&[&'static Rule]]) -> usize {
    let (mut i, mut sum) = (0, 0);
    while i < folders.len() {
        sum += folders[i].len();
        i += 1;
    }
    sum
}

const fn joined<const N: usize>(folders: &[&[&'static Rule]]) -> [&'static Rule; N] {
    let mut all = [folders[0][0]; N];
    let (mut folder, mut next) = (0, 0);
    while folder < folders.len() {
        let mut i = 0;
        while i < folders[folder].len() {
            all[next] = folders[folder][i];
            next += 1;
            i += 1;
        }
        folder += 1;
    }
    all
}

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
