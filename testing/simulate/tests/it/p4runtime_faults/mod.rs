// SPDX-License-Identifier: Apache-2.0
//! The driver and the embedded switch's real P4Runtime server, over connections that stall, break
//! and change bytes, in simulated time. A seed determines the faults and replays exactly.
//!
//! `P4RUNTIME_SEEDS=5000` runs more of them, `P4RUNTIME_SEED=N` one.
#![allow(clippy::unwrap_used, clippy::panic)] // helpers of tests

mod books;
mod controllers;
mod network;
mod others;
mod plan;
mod switch;
mod tally;
mod world;

use std::collections::BTreeSet;
use tally::Tally;
use world::run;

/// Seeds of each run of the tests.
const SEEDS: u64 = 80;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn what_succeeds_is_in_force_and_all_works_again() {
    let one = number("P4RUNTIME_SEED");
    let seeds = match one {
        Some(seed) => seed..seed + 1,
        None => 0..number("P4RUNTIME_SEEDS").unwrap_or(SEEDS),
    };
    let mut sum = Tally::default();
    let mut found = Vec::new();
    for seed in seeds {
        match run(seed) {
            Ok(played) => sum += played.tally,
            Err(e) => found.push(e),
        }
    }
    println!("{sum:?}");
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Runs in which nothing happens prove nothing.
    let each = [
        sum.set,
        sum.not_primary,
        sum.refused,
        sum.unconnected,
        sum.late,
        sum.pushed,
        sum.killed,
    ];
    assert!(one.is_some() || each.iter().all(|n| *n > 0), "{sum:?}");
}

/// A bit of our election id changed in transit. The server remembers the highest one seen, as
/// P4Runtime requires: by reading it in the driver's health and setting a higher one, a controller
/// becomes the primary again.
#[test]
fn an_election_id_with_a_changed_bit_is_overtaken() {
    run(1182).unwrap();
}

#[test]
fn a_seed_replays_exactly() {
    let mut digests = BTreeSet::new();
    for seed in 0..24 {
        let first = run(seed).unwrap();
        assert_eq!(first, run(seed).unwrap(), "seed {seed}");
        digests.insert(first.digest);
    }
    assert_eq!(digests.len(), 24, "seeds that are the same run");
}
