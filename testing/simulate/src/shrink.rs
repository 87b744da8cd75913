// SPDX-License-Identifier: Apache-2.0
//! Finds the smallest plan that still breaks an invariant: removes faults one by one, shortens the
//! others, and cuts unneeded time at the end.

use crate::plan::Plan;
use crate::run::run;
use anyhow::Result;

/// Largest number of runs spent on a finding.
const MOST_RUNS: usize = 60;

/// Shrinks a plan that breaks an invariant; returns it and the number of runs it took.
///
/// # Errors
/// Like [`run`].
pub fn shrink(plan: &Plan, invariant: &str) -> Result<(Plan, usize)> {
    let mut best = plan.clone();
    let mut runs = 0;
    let mut try_plan = |candidate: Plan, best: &mut Plan| -> Result<bool> {
        if runs >= MOST_RUNS {
            return Ok(false);
        }
        runs += 1;
        let fails = run(&candidate)?
            .violation
            .is_some_and(|v| v.invariant == invariant);
        if fails {
            *best = candidate;
        }
        Ok(fails)
    };
    let mut i = 0;
    while i < best.faults.len() {
        let mut without = best.clone();
        without.faults.remove(i);
        without.settle();
        if !try_plan(without, &mut best)? {
            i += 1;
        }
    }
    for i in 0..best.faults.len() {
        while best.faults[i].for_ms > 50 {
            let mut shorter = best.clone();
            shorter.faults[i].for_ms /= 2;
            shorter.settle();
            if !try_plan(shorter, &mut best)? {
                break;
            }
        }
    }
    while best.flows > 1 {
        let mut fewer = best.clone();
        fewer.flows /= 2;
        if !try_plan(fewer, &mut best)? {
            break;
        }
    }
    Ok((best, runs))
}
