// SPDX-License-Identifier: Apache-2.0
//! Seeds break no invariant, and replay exactly. `make simulate` runs more of them.
#![allow(clippy::unwrap_used)] // helpers of tests

use tidemark_simulate::plan::{Bound, Plan, TRUST_FROM};
use tidemark_simulate::run::run;
use tidemark_simulate::shrink::shrink;

fn broken(seeds: std::ops::Range<u64>) -> Vec<String> {
    let found = |seed| {
        let violation = run(&Plan::of(seed)).unwrap().violation?;
        Some(format!(
            "seed {seed}: {violation}; again: make simulate SEEDS=1 SEED={seed}"
        ))
    };
    seeds.filter_map(found).collect()
}

#[test]
fn the_first_seeds_break_nothing() {
    let found = broken(1..51);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_next_seeds_break_nothing() {
    let found = broken(51..101);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A stall cut the controller off, and a trial was judged by only a third of its time.
#[test]
fn a_trial_heard_in_part_is_not_judged() {
    let found = broken(95_267..95_268);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Auto mode got stuck if the advice was below the range.
#[test]
fn advice_below_the_range_is_followed_to_its_end() {
    let found: Vec<String> = [699, 746]
        .into_iter()
        .flat_map(|s| broken(s..s + 1))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A limit that somebody else wrote slightly above the range stayed forever.
#[test]
fn a_limit_outside_of_the_range_is_left() {
    let found: Vec<String> = [61, 454, 827, 854]
        .into_iter()
        .flat_map(|s| broken(s..s + 1))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Changed datagrams name other ports, which also have interval records.
#[test]
fn changed_reports_are_in_interval_records() {
    let found = broken(679..680);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The first reports of a restarted switch were lost. When others arrived, its clock was close to
/// the old one, and was mistaken for it.
#[test]
fn a_clock_that_restarts_unheard_is_followed() {
    let found = broken(7267..7268);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A controller was killed before the answer to its write. The next one read the outcome, and its
/// record counted as one for its own write.
#[test]
fn a_write_that_a_kill_cut_short_has_one_record() {
    let found = broken(20066..20067);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A switch restarted twice, and the collector in between: the controller used the clock from in
/// between, and its telemetry looked 2 s old forever.
#[test]
fn a_new_collector_tells_the_time_anew() {
    let found = broken(63094..63095);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The time of day was set between a datagram's stamp and its reading: an honest report was
/// refused.
#[test]
fn a_step_of_the_time_of_day_refuses_nothing() {
    let found = broken(64978..64979);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// No reports arrived while a limit was on trial: the link seemed idle, and the limit was rolled
/// back and remembered as failed.
#[test]
fn a_trial_that_was_not_heard_is_not_judged() {
    let found = broken(30099..30100);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A limit stayed within the dead band of the advice, but above the bound on delay.
#[test]
fn a_missed_delay_bound_ends_within_the_dead_band() {
    let found = broken(31587..31588);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A batch counted as lost because its name could not be synced, but its file could not be removed:
/// the next start inserted it.
#[test]
fn a_row_that_counts_as_lost_is_not_stored() {
    let found = broken(31614..31615);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Operations on a slow disk outlast the fault by 8 s: their leftovers are no failure yet.
#[test]
fn a_slow_disk_is_waited_for() {
    let found: Vec<String> = [32486, 33572]
        .into_iter()
        .flat_map(|s| broken(s..s + 1))
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A switch restarted twice. Its clock in between was seen briefly, and then extrapolated by the
/// silence: later reports looked 3 s old forever, and no advice was applied.
#[test]
fn a_clock_that_was_heard_for_a_moment_leaves_nothing_looking_old() {
    let found = broken(36355..36356);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Packets waiting in the socket were given up before their samples, which also waited.
#[test]
fn packets_of_a_stall_get_their_own_samples() {
    let found = broken(36378..36379);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The switch lost our limit during a write, which failed later.
#[test]
fn a_limit_that_is_lost_during_a_write_is_no_foreign_one() {
    let found = broken(36709..36710);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_seed_replays_exactly() {
    let mut digests = std::collections::BTreeSet::new();
    for seed in 200..210 {
        let first = run(&Plan::of(seed)).unwrap();
        assert_eq!(first, run(&Plan::of(seed)).unwrap(), "seed {seed}");
        digests.insert(first.digest);
    }
    assert_eq!(digests.len(), 10, "seeds that are the same run");
}

/// A bound that no limit in the range meets is violated, and needs no fault.
#[test]
fn a_finding_shrinks_to_what_it_needs() {
    let mut plan = (1..).map(Plan::of).find(|p| p.faults.len() > 1).unwrap();
    plan.bound = Bound::DelayMs(0.5);
    let found = run(&plan).unwrap().violation.unwrap();
    assert_eq!(found.invariant, "bounds hold again");
    let (least, _) = shrink(&plan, found.invariant).unwrap();
    assert!(least.faults.is_empty(), "{:?}", least.faults);
    assert!(run(&least).unwrap().violation.is_some());
}

/// Steps of the switch's clock, operators, kills within a write, and samples.
#[test]
fn the_first_seeds_with_all_faults_break_nothing() {
    let found = broken(TRUST_FROM..TRUST_FROM + 50);
    assert!(found.is_empty(), "{}", found.join("\n"));
}
