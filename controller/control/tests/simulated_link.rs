// SPDX-License-Identifier: Apache-2.0
//! The loop closed over a simulated link, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sim;

use sim::{START_BYTES, World};
use tidemark_control::{Limit, Mode, Origin, Outcome, State};

fn told(world: &World) -> Vec<(Origin, Outcome)> {
    world.log.iter().map(|c| (c.origin, c.outcome)).collect()
}

fn in_force(world: &World) -> u64 {
    world.link.limit.bytes().unwrap()
}

#[test]
fn auto_mode_meets_the_delay_bound_and_then_rests() {
    let mut world = World::new(Mode::Auto, |_, _| {});
    world.pass(120);
    // 10 ms at 100 Mb/s.
    assert!(in_force(&world) <= 125_000, "{}", in_force(&world));
    let kept = world.log.iter().filter(|c| c.outcome == Outcome::Kept);
    assert!(kept.count() >= 1, "{:?}", told(&world));
    assert!(matches!(world.control.state(), State::Observing));
    let changes = world.log.len();
    world.pass(300);
    assert_eq!(world.log.len(), changes, "it oscillates");
}

#[test]
fn a_limit_that_loses_too_much_is_taken_back_and_approached_by_halves() {
    let mut world = World::new(Mode::Auto, |s, _| s.rollback_hold_s = 60.0);
    let mut passed = 0;
    while told(&world).is_empty() && passed < 60 {
        world.pass(1);
        passed += 1;
    }
    let failed = in_force(&world);
    assert_eq!(told(&world), [(Origin::Auto, Outcome::Set)]);
    world.link.loss_factor = 100.0;
    world.pass(16);
    assert_eq!(
        told(&world),
        [
            (Origin::Auto, Outcome::Set),
            (Origin::Rollback, Outcome::Worse),
            (Origin::Rollback, Outcome::Set)
        ]
    );
    assert_eq!(in_force(&world), START_BYTES);
    assert!(matches!(world.control.state(), State::Holding(_)));
    world.link.loss_factor = 1.0;
    world.pass(40);
    assert_eq!(in_force(&world), START_BYTES, "rests");
    world.pass(60);
    let between = ((failed as f64) * (START_BYTES as f64)).sqrt();
    assert!(in_force(&world) < START_BYTES, "{:?}", told(&world));
    let mut by_auto = world.log.iter().filter(|c| c.origin == Origin::Auto);
    let second = by_auto.nth(1).unwrap();
    let second = second.limit.and_then(|l| l.bytes()).unwrap();
    assert!(second as f64 >= between - 1.0, "{second} {between}");
}

#[test]
fn other_traffic_ends_a_trial_without_a_verdict_on_the_limit() {
    let mut world = World::new(Mode::Confirm, |s, _| s.observe_s = 30.0);
    world.pass(15);
    world.confirm();
    let applied = in_force(&world);
    world.link.flows = 1.0;
    world.link.loss_factor = 100.0;
    world.pass(60);
    assert_eq!(in_force(&world), applied);
    assert_eq!(
        told(&world),
        [
            (Origin::Confirmed, Outcome::Set),
            (Origin::Rollback, Outcome::Unclear)
        ]
    );
}

#[test]
fn silence_ends_a_trial_as_unclear() {
    let mut world = World::new(Mode::Confirm, |_, _| {});
    world.pass(15);
    world.confirm();
    world.link.silent = true;
    // Settling 3 s, observation 10 s, patience 15 s.
    world.pass(28);
    assert!(world.control.trial().is_some());
    world.pass(1);
    assert!(world.control.trial().is_none());
    let last = world.log.last().unwrap();
    assert_eq!(last.outcome, Outcome::Unclear);
    assert!(last.reason.contains("did not arrive"), "{}", last.reason);
}

#[test]
fn a_dry_run_decides_and_writes_nothing() {
    let mut world = World::new(Mode::Auto, |s, _| s.dry_run = true);
    world.pass(30);
    assert_eq!(in_force(&world), START_BYTES);
    assert_eq!(world.checks.writes, 0);
    assert_eq!(told(&world)[0], (Origin::Auto, Outcome::DryRun));
}

#[test]
fn a_switch_that_lost_its_state_gets_the_limit_back() {
    let mut world = World::new(Mode::Recommend, |_, _| {});
    world.pass(2);
    let ours = Limit::MarkCe {
        limit_bytes: 90_000,
    };
    world.set(ours);
    for (left, everything, restored) in [
        (Limit::Unlimited, false, true),
        (Limit::DropTail { limit_bytes: 5 }, false, false),
        (Limit::DropTail { limit_bytes: 5 }, true, true),
    ] {
        let before = world.log.len();
        world.link.limit = left;
        world.drive(tidemark_control::Input::StateLost { everything });
        assert_eq!(world.link.limit == ours, restored, "{left}");
        assert_eq!(world.log.len() > before, restored, "{left}");
    }
    assert_eq!(told(&world)[1], (Origin::Restore, Outcome::Set));
}

#[test]
fn what_is_saved_goes_on_after_a_restart() {
    let mut world = World::new(Mode::Confirm, |_, _| {});
    world.pass(15);
    world.confirm();
    world.pass(1);
    let saved = world.control.saved(world.now);
    assert_eq!(saved, world.control.saved(world.now.plus_s(0.0)));
    let applied = in_force(&world);

    // Another process: its monotonic clock begins elsewhere.
    let mut after = World::new(Mode::Confirm, |_, _| {});
    after.now.unix_ms = world.now.unix_ms + 2000;
    after.link.limit = world.link.limit;
    after.control.restore(saved.clone(), after.now);
    assert_eq!(after.control.saved(after.now).trial, saved.trial);
    after.checks.open_trials = 1;
    after.link.loss_factor = 100.0;
    after.pass(20);
    assert_eq!(in_force(&after), START_BYTES, "{applied} is taken back");
    assert_eq!(
        told(&after),
        [
            (Origin::Rollback, Outcome::Worse),
            (Origin::Rollback, Outcome::Set)
        ]
    );
    assert!(after.control.saved(after.now).trial.is_none());
    assert!(after.control.saved(after.now).hold_until_unix_ms.is_some());
}
