// SPDX-License-Identifier: Apache-2.0
//! Tests of the closed loop over a simulated link, in virtual time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::sim;

use sim::{START_BYTES, World};
use tidemark_control::{Input, Limit, Mode, Origin, Outcome, SavedControl, State};

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

/// The limit stayed within the dead band of the advice while the queue exceeded the delay bound.
#[test]
fn a_missed_delay_bound_ends_in_one_step() {
    let mut world = World::new(Mode::Auto, |_, _| {});
    world.link.flows = 1.0;
    world.pass(120);
    let before = world.log.len();
    let limit_bytes = 135_000;
    world.set(Limit::DropTail { limit_bytes });
    world.pass(120);
    // 10 ms at 100 Mb/s, immediately and only once.
    let by_auto = world.log.iter().skip(before);
    let by_auto = by_auto.filter(|c| c.origin == Origin::Auto);
    let limits: Vec<_> = by_auto.filter_map(|c| c.limit?.bytes()).collect();
    assert_eq!(limits, [125_000], "{:?}", told(&world));
}

#[test]
fn a_limit_that_loses_too_much_is_rolled_back_and_approached_by_halves() {
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
            (Origin::Trial, Outcome::Worse),
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
    assert!(
        in_force(&world) < START_BYTES,
        "{:?} {:#?}",
        told(&world),
        world.control.advice().map(|a| &a.reasons)
    );
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
            (Origin::Trial, Outcome::Unclear)
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

/// Checks that the limit on trial is in force and the log says why there is no verdict.
fn kept_unjudged(world: &World, applied: u64, why: &str) {
    assert_eq!(in_force(world), applied);
    let last = world.log.last().unwrap();
    assert_eq!(
        (last.origin, last.outcome),
        (Origin::Trial, Outcome::Unclear)
    );
    assert!(last.reason.contains(why), "{}", last.reason);
}

/// Time that seems idle may be time whose reports were lost.
#[test]
fn a_trial_with_lost_reports_rolls_nothing_back() {
    let mut world = World::new(Mode::Confirm, |_, _| {});
    world.pass(15);
    world.confirm();
    let applied = in_force(&world);
    world.link.report_loss = 0.05;
    world.link.loss_factor = 100.0;
    world.pass(20);
    kept_unjudged(&world, applied, "4.76 % of its reports");
}

/// A trial during which the collector sends nothing rolls nothing back either.
#[test]
fn a_trial_with_the_collector_cut_off_rolls_nothing_back() {
    let mut world = World::new(Mode::Confirm, |_, _| {});
    world.pass(15);
    world.confirm();
    let applied = in_force(&world);
    world.link.loss_factor = 100.0;
    world.pass(6);
    world.link.cut = true;
    world.pass(3);
    world.link.cut = false;
    world.pass(15);
    kept_unjudged(&world, applied, "no record for 3.00 s of it");
}

/// Until a report tells what came before it, nothing is known about that time.
#[test]
fn a_verdict_waits_for_a_report_from_after_the_trial() {
    let mut world = World::new(Mode::Confirm, |_, _| {});
    world.pass(15);
    world.confirm();
    world.pass(10);
    world.link.unheard = true;
    world.pass(10);
    assert!(world.control.trial().is_some());
    world.link.unheard = false;
    world.pass(1);
    assert!(world.control.trial().is_none());
    assert_eq!(told(&world).last(), Some(&(Origin::Trial, Outcome::Kept)));
}

#[test]
fn a_dry_run_decides_and_writes_nothing() {
    let mut world = World::new(Mode::Auto, |s, _| s.dry_run = true);
    world.pass(30);
    assert_eq!(in_force(&world), START_BYTES);
    assert_eq!(world.checks.writes, 0);
    assert_eq!(told(&world)[0], (Origin::Auto, Outcome::DryRun));
}

fn both(limit: Limit) -> (u64, u64) {
    (limit.bytes().unwrap(), limit.refuses_at_bytes().unwrap())
}

/// A world with a port that marks, in auto mode.
fn marking(threshold_bytes: u64, limit_bytes: u64) -> World {
    let mut world = World::new(Mode::Auto, |_, _| {});
    world.link.limit = Limit::MarkCe {
        threshold_bytes,
        limit_bytes: Some(limit_bytes),
    };
    world
}

#[test]
fn auto_mode_sets_threshold_and_limit_by_one_write() {
    let mut world = marking(250_000, 330_000);
    world.pass(8);
    assert_eq!(world.checks.writes, 1);
    let (threshold, limit) = both(world.link.limit);
    assert!(threshold < 250_000, "{}", world.link.limit);
    let room = format!("has {} bytes above the threshold", limit - threshold);
    assert!(
        world.log[0].reason.contains(&room),
        "{}",
        world.log[0].reason
    );
}

/// A program of a release with one value supports nothing else.
#[test]
fn marking_without_a_limit_stays_without() {
    let mut world = World::new(Mode::Auto, |_, _| {});
    world.link.limit = Limit::MarkCe {
        threshold_bytes: 250_000,
        limit_bytes: None,
    };
    world.pass(8);
    assert_eq!(world.checks.writes, 1);
    assert!(world.link.limit.bytes().unwrap() < 250_000);
    assert_eq!(world.link.limit.refuses_at_bytes(), None);
}

#[test]
fn a_rollback_puts_both_values_back() {
    let mut world = marking(250_000, 600_000);
    let before = world.link.limit;
    world.pass(6);
    assert_ne!(world.link.limit, before);
    world.link.loss_factor = 100.0;
    world.pass(20);
    assert_eq!(world.link.limit, before);
    let back = world.log.last().unwrap();
    assert_eq!((back.origin, back.limit), (Origin::Rollback, Some(before)));
}

/// Someone else set another limit above the same threshold: it stays.
#[test]
fn a_limit_that_drifted_is_not_rolled_back() {
    let mut world = marking(250_000, 600_000);
    world.pass(6);
    let (threshold, limit) = both(world.link.limit);
    let foreign = world.link.limit.with_bytes(threshold, Some(limit + 1));
    world.link.limit = foreign;
    world.link.loss_factor = 100.0;
    world.pass(20);
    assert!(told(&world).contains(&(Origin::Trial, Outcome::Worse)));
    assert!(!told(&world).contains(&(Origin::Rollback, Outcome::Set)));
}

/// A limit that floats with a pool has few values: the one that the switch holds counts as ours.
#[test]
fn a_limit_that_the_switch_holds_in_steps_is_no_foreign_one() {
    let mut world = World::new(Mode::Confirm, |_, _| {});
    world.step_bytes = 100_000;
    let limit_bytes = 250_000;
    world.set(Limit::DropTail { limit_bytes });
    world.pass(60);
    assert_eq!(in_force(&world), 200_000);
    let foreign = |&(origin, _): &(Origin, Outcome)| origin == Origin::External;
    world.drive(Input::Found(world.link.limit));
    assert!(!told(&world).iter().any(foreign), "{:?}", told(&world));
    world.drive(Input::Found(Limit::Unlimited));
    assert!(told(&world).iter().any(foreign), "{:?}", told(&world));
}

/// A step of the limit is bounded like one of the threshold.
#[test]
fn the_limit_moves_by_steps_too() {
    let mut world = World::new(Mode::Auto, |s, _| {
        s.max_decrease_factor = 1.5;
        s.max_step_factor = 1.5;
    });
    world.link.limit = Limit::MarkCe {
        threshold_bytes: 250_000,
        limit_bytes: Some(900_000),
    };
    world.pass(8);
    assert_eq!(world.checks.writes, 1);
    assert_eq!(both(world.link.limit).1, 600_000);
}

/// If the largest limit leaves no room, the threshold is lowered.
#[test]
fn the_largest_limit_holds_threshold_and_room() {
    let mut world = World::new(Mode::Auto, |s, _| s.max_limit_bytes = 260_000);
    world.link.limit = Limit::MarkCe {
        threshold_bytes: 250_000,
        limit_bytes: Some(260_000),
    };
    world.pass(8);
    assert_eq!(world.checks.writes, 1);
    let (threshold, limit) = both(world.link.limit);
    assert!(
        limit <= 260_000 && threshold < limit,
        "{}",
        world.link.limit
    );
}

/// A limit written by someone else, far above or below the range: auto mode moves it to the nearest
/// end, and a rollback does not leave the range again.
#[test]
fn a_limit_found_outside_of_the_range_is_left_for_its_nearest_end_only() {
    let far = [(60_000_000, 1_000_000), (1_000, 6_000)];
    // By less than what is worth a change inside the range.
    let little = [(1_050_000, 1_000_000), (5_700, 6_000)];
    for (found, end) in far.into_iter().chain(little) {
        let mut world = World::new(Mode::Auto, |_, _| {});
        world.link.limit = Limit::DropTail { limit_bytes: found };
        while world.log.is_empty() {
            world.pass(1);
        }
        assert_eq!(in_force(&world), end);
        let reason = &world.log[0].reason;
        assert!(reason.contains("outside of the range"), "{reason}");
        world.link.loss_factor = 300.0;
        world.pass(30);
        let worse = world.log.iter().find(|c| c.outcome == Outcome::Worse);
        if let Some(worse) = worse {
            assert!(worse.reason.contains("so this limit stays"), "{worse:?}");
        }
        for c in world.log.iter().filter(|c| c.outcome == Outcome::Set) {
            let bytes = c.limit.unwrap().bytes().unwrap();
            assert!((6_000..=1_000_000).contains(&bytes), "{c:?}");
        }
    }
}

/// Packets wait in a starved switch: nothing follows from the limit.
#[test]
fn no_advice_is_applied_while_delay_and_occupancy_contradict_each_other() {
    let mut world = World::new(Mode::Auto, |_, _| {});
    world.link.elsewhere_ms = 80.0;
    world.pass(30);
    world.confirm();
    assert_eq!(world.checks.writes, 0, "{:?}", told(&world));
    let advice = world.control.advice().unwrap();
    let caveat = advice
        .reasons
        .iter()
        .find(|r| r.contains("delay_above_occupancy"));
    assert!(caveat.is_some(), "{:?}", advice.reasons);
    let refused = world.answers[0].as_ref().unwrap_err().to_string();
    assert!(refused.contains("delay_above_occupancy"), "{refused}");
    world.link.elsewhere_ms = 0.0;
    world.pass(30);
    assert!(world.checks.writes > 0, "{:?}", told(&world));
}

/// Confirmed in the second in which the change of traffic is detected.
#[test]
fn advice_is_not_applied_right_after_the_traffic_changed() {
    let mut world = World::new(Mode::Confirm, |_, _| {});
    world.pass(20);
    world.link.flows = 40.0;
    let mut changed = false;
    for _ in 0..12 {
        world.pass(1);
        let steady = world.control.steadiness().steady;
        if !steady {
            changed = true;
            world.confirm();
            let refused = world.answers.last().unwrap().as_ref().unwrap_err();
            assert!(refused.to_string().contains("a moment ago"), "{refused}");
        }
    }
    assert!(changed);
    world.pass(5);
    world.confirm();
    assert!(
        world.answers.last().unwrap().is_ok(),
        "{:?}",
        world.answers.last()
    );
}

/// Confirmed advice leads into the range from any distance.
#[test]
fn confirmed_advice_leads_into_the_range() {
    let mut world = World::new(Mode::Confirm, |_, _| {});
    world.link.limit = Limit::DropTail {
        limit_bytes: 60_000_000,
    };
    world.pass(15);
    world.confirm();
    let range = 6_000..=1_000_000;
    assert!(range.contains(&in_force(&world)), "{:?}", world.answers);
}

/// A limit from a time when the range was wider is restored within the range.
#[test]
fn a_restored_limit_is_within_the_range_of_today() {
    let mut world = World::new(Mode::Recommend, |_, _| {});
    world.pass(2);
    world.set(Limit::DropTail {
        limit_bytes: 900_000,
    });
    world.restart(|s| s.max_limit_bytes = 400_000);
    world.link.limit = Limit::Unlimited;
    world.drive(Input::StateLost { everything: true });
    assert_eq!(in_force(&world), 400_000);
    let restored = world.log.last().unwrap();
    assert_eq!(restored.origin, Origin::Restore);
    assert!(restored.reason.contains("900000"), "{}", restored.reason);
}

#[test]
fn a_switch_that_lost_its_state_gets_the_limit_back() {
    let mut world = World::new(Mode::Recommend, |_, _| {});
    world.pass(2);
    let ours = Limit::MarkCe {
        threshold_bytes: 90_000,
        limit_bytes: Some(180_000),
    };
    world.set(ours);
    for (left, everything, restored) in [
        (Limit::Unlimited, false, true),
        (Limit::DropTail { limit_bytes: 5 }, false, false),
        (Limit::DropTail { limit_bytes: 5 }, true, true),
    ] {
        let before = world.log.len();
        world.link.limit = left;
        world.drive(Input::StateLost { everything });
        assert_eq!(world.link.limit == ours, restored, "{left}");
        assert_eq!(world.log.len() > before, restored, "{left}");
    }
    assert_eq!(told(&world)[1], (Origin::Restore, Outcome::Set));
}

/// The range is narrower than when the limit was set: the switch gets its end, which is ours from
/// then on. A later read used to report a limit of someone else.
#[test]
fn a_limit_restored_to_the_end_of_the_range_is_ours() {
    let mut world = World::new(Mode::Recommend, |_, _| {});
    let limit = |limit_bytes| Limit::DropTail { limit_bytes };
    world.control.restore(
        SavedControl {
            limit: Some(limit(3_000_000)),
            ..SavedControl::default()
        },
        world.now,
    );
    world.pass(2);
    world.link.limit = limit(5_000);
    world.drive(Input::StateLost { everything: true });
    assert_eq!(world.link.limit, limit(1_000_000));
    world.drive(Input::Found(world.link.limit));
    world.pass(5);
    assert_eq!(told(&world), [(Origin::Restore, Outcome::Set)]);
    // Another limit is someone else's.
    world.drive(Input::Found(limit(3_000_000)));
    assert_eq!(told(&world)[1], (Origin::External, Outcome::Found));
}

/// The loss was reported during a write: formerly nothing was restored, and after the write had
/// failed, the limit on the restarted switch counted as someone else's.
#[test]
fn a_limit_that_is_lost_during_a_write_is_restored() {
    let mut world = World::new(Mode::Recommend, |_, _| {});
    world.pass(2);
    let limit = |limit_bytes| Limit::DropTail { limit_bytes };
    world.set(limit(90_000));
    for fails in [true, false] {
        world.slow = true;
        world.set(limit(80_000));
        world.link.limit = limit(START_BYTES);
        world.drive(Input::StateLost { everything: true });
        world.broken = fails;
        world.settle();
        if !fails {
            // The write took effect before the restart.
            world.link.limit = limit(START_BYTES);
        }
        world.broken = false;
        world.drive(Input::Found(world.link.limit));
        let ours = if fails { 90_000 } else { 80_000 };
        assert_eq!(world.link.limit, limit(ours));
        let last = world.log.last().unwrap();
        assert_eq!((last.origin, last.outcome), (Origin::Restore, Outcome::Set));
    }
    assert!(world.log.iter().all(|c| c.origin != Origin::External));
    // From here on, other limits are someone else's.
    world.drive(Input::Found(limit(70_000)));
    assert_eq!(world.log.last().unwrap().origin, Origin::External);
}

/// The write that restored a limit failed: formerly the limit on the switch then counted as someone
/// else's.
#[test]
fn a_restoration_that_fails_is_tried_again() {
    let mut world = World::new(Mode::Recommend, |s, _| s.min_change_interval_s = 10.0);
    world.pass(2);
    let limit = |limit_bytes| Limit::DropTail { limit_bytes };
    world.set(limit(90_000));
    world.link.limit = limit(START_BYTES);
    world.broken = true;
    world.drive(Input::StateLost { everything: true });
    let failed = (Origin::Restore, Outcome::Failed);
    for (seconds, attempts) in [(2, 1), (9, 2), (2, 2), (9, 3)] {
        world.pass(seconds);
        world.drive(Input::Found(world.link.limit));
        let made = told(&world).iter().filter(|t| **t == failed).count();
        assert_eq!(made, attempts);
    }
    world.broken = false;
    world.pass(11);
    world.drive(Input::Found(world.link.limit));
    assert_eq!(world.link.limit, limit(90_000));
    assert!(world.log.iter().all(|c| c.origin != Origin::External));
    let records = world.log.len();
    world.drive(Input::Found(limit(90_000)));
    assert_eq!(world.log.len(), records);
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

    // Another process, whose monotonic clock has another epoch.
    let mut after = World::new(Mode::Confirm, |_, _| {});
    after.now.unix_ms = world.now.unix_ms + 2000;
    after.link.limit = world.link.limit;
    after.control.restore(saved.clone(), after.now);
    assert_eq!(after.control.saved(after.now).trial, saved.trial);
    after.checks.open_trials = 1;
    after.link.loss_factor = 100.0;
    after.pass(20);
    assert_eq!(in_force(&after), START_BYTES, "{applied} is rolled back");
    assert_eq!(
        told(&after),
        [
            (Origin::Trial, Outcome::Worse),
            (Origin::Rollback, Outcome::Set)
        ]
    );
    assert!(after.control.saved(after.now).trial.is_none());
    assert!(after.control.saved(after.now).hold_until_unix_ms.is_some());
}
