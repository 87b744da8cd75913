// SPDX-License-Identifier: Apache-2.0
//! Properties of the loop over random sequences of events. The simulation ([`sim::Checks`]) checks
//! them for every batch of actions:
//!
//! * there are never two trials at once;
//! * every write ends in one record, every trial in one verdict;
//! * a rollback returns to the limit before, and auto mode rests after it;
//! * no threshold or limit is written outside the range, whatever its origin:
//!   nor is one restored that was found outside, or set under a wider range;
//! * nothing is decided on stale or lossy telemetry;
//! * a dry run writes nothing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::sim;

use proptest::prelude::*;
use sim::World;
use tidemark_control::{Input, Limit, Mode, OnDrift};
use tidemark_rules::{Goal, Targets};

#[derive(Clone, Debug)]
enum Event {
    Pass(u64),
    Set(u64),
    /// Threshold, and optional room above it.
    SetMark(u64, Option<u64>),
    SetUnlimited,
    Confirm,
    Mode(Mode),
    DelayBound(f64),
    Flows(f64),
    LossFactor(f64),
    ReportLoss(f64),
    Silent(bool),
    Broken(bool),
    Unreachable(bool),
    /// The audit log rejects intents.
    Unrecordable(bool),
    /// The controller reads the switch.
    Look,
    Slow(bool),
    Answer,
    ExternalLimit(u64),
    ExternalMark(u64),
    StateLost(bool),
    ClockRestarted,
    Restart,
    /// Restarts with another range.
    Range(u64, u64),
}

fn event() -> impl Strategy<Value = Event> {
    let mode = prop_oneof![
        1 => Just(Mode::Recommend),
        1 => Just(Mode::Confirm),
        3 => Just(Mode::Auto)
    ];
    prop_oneof![
        12 => (1_u64..25).prop_map(Event::Pass),
        1 => (1_u64..3_000_000).prop_map(Event::Set),
        1 => (1_u64..2_000_000, proptest::option::of(1_u64..2_000_000))
            .prop_map(|(t, room)| Event::SetMark(t, room)),
        1 => Just(Event::SetUnlimited),
        3 => Just(Event::Confirm),
        2 => mode.prop_map(Event::Mode),
        2 => (1.0_f64..60.0).prop_map(Event::DelayBound),
        2 => (1.0_f64..60.0).prop_map(Event::Flows),
        3 => prop_oneof![Just(1.0), Just(30.0), Just(300.0)].prop_map(Event::LossFactor),
        1 => prop_oneof![Just(0.0), Just(0.005), Just(0.05)].prop_map(Event::ReportLoss),
        1 => any::<bool>().prop_map(Event::Silent),
        1 => any::<bool>().prop_map(Event::Broken),
        1 => any::<bool>().prop_map(Event::Unreachable),
        1 => any::<bool>().prop_map(Event::Unrecordable),
        2 => Just(Event::Look),
        1 => any::<bool>().prop_map(Event::Slow),
        2 => Just(Event::Answer),
        1 => (1_u64..100_000_000).prop_map(Event::ExternalLimit),
        1 => (1_u64..100_000_000).prop_map(Event::ExternalMark),
        1 => any::<bool>().prop_map(Event::StateLost),
        1 => Just(Event::ClockRestarted),
        1 => Just(Event::Restart),
        1 => (1_u64..300_000, 0_u64..2_000_000).prop_map(|(min, more)| Event::Range(min, min + more)),
    ]
}

fn happen(world: &mut World, event: Event) {
    match event {
        Event::Pass(seconds) => world.pass(seconds),
        Event::Set(limit_bytes) => world.set(Limit::DropTail { limit_bytes }),
        Event::SetMark(threshold_bytes, room) => world.set(Limit::MarkCe {
            threshold_bytes,
            limit_bytes: room.map(|r| threshold_bytes + r),
        }),
        Event::SetUnlimited => world.set(Limit::Unlimited),
        Event::Confirm => world.confirm(),
        Event::Mode(mode) => world.drive(Input::Mode(mode)),
        Event::DelayBound(ms) => world.drive(Input::Targets(Targets {
            delay_ms: Some(ms),
            priority: vec![Goal::Delay],
            ..Targets::default()
        })),
        Event::Flows(n) => world.link.flows = n,
        Event::LossFactor(f) => world.link.loss_factor = f,
        Event::ReportLoss(f) => world.link.report_loss = f,
        Event::Silent(on) => world.link.silent = on,
        Event::Broken(on) => world.broken = on,
        Event::Unreachable(on) => world.unreachable = on,
        Event::Unrecordable(on) => world.unrecordable = on,
        Event::Look => world.drive(Input::Found(world.link.limit)),
        Event::Slow(on) => world.slow = on,
        Event::Answer => world.answer(),
        Event::ExternalLimit(limit_bytes) => world.link.limit = Limit::DropTail { limit_bytes },
        Event::ExternalMark(threshold_bytes) => {
            world.link.limit = Limit::MarkCe {
                threshold_bytes,
                limit_bytes: Some(2 * threshold_bytes),
            };
        }
        Event::StateLost(everything) => world.drive(Input::StateLost { everything }),
        Event::ClockRestarted => world.drive(Input::ClockRestarted),
        Event::Restart => world.restart(|_| {}),
        Event::Range(min, max) => world.restart(|s| {
            (s.min_limit_bytes, s.max_limit_bytes) = (min, max);
        }),
    }
}

fn run(settings: impl FnOnce(&mut tidemark_control::Settings), events: Vec<Event>) -> World {
    let mut world = World::new(Mode::Auto, |s, _| settings(s));
    for event in events {
        happen(&mut world, event);
    }
    // Everything under way comes to its end.
    world.settle();
    world.link.silent = false;
    world.pass(60);
    world.settle();
    world.drive(Input::ClockRestarted);
    let c = &world.checks;
    assert_eq!(
        c.writes,
        c.write_records - c.read_failures,
        "a write without its record"
    );
    assert_eq!(c.trials, c.verdicts, "a trial without its verdict");
    world
}

/// Each case is a long history, so the default number of cases is small.
fn few() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 24;
    }
    config
}

proptest! {
    #![proptest_config(few())]

    #[test]
    fn the_loop_keeps_its_properties(events in prop::collection::vec(event(), 1..60)) {
        run(|_| {}, events);
    }

    #[test]
    fn it_does_with_short_times(events in prop::collection::vec(event(), 1..60)) {
        run(|s| {
            s.min_change_interval_s = 0.0;
            s.settle_s = 0.0;
            s.observe_s = 1.0;
            s.rollback_hold_s = 7.0;
            s.deadband = 0.0;
            s.on_drift = OnDrift::Restore;
        }, events);
    }

    #[test]
    fn a_dry_run_writes_nothing(events in prop::collection::vec(event(), 1..40)) {
        let world = run(|s| s.dry_run = true, events);
        prop_assert_eq!(world.checks.writes, 0);
    }

    /// Equal inputs give equal actions.
    #[test]
    fn it_is_deterministic(events in prop::collection::vec(event(), 1..40)) {
        let logs = [events.clone(), events].map(|e| run(|_| {}, e).log);
        prop_assert_eq!(&logs[0], &logs[1]);
    }
}

/// The properties above would also hold for a loop that does nothing.
#[test]
fn trials_and_rollbacks_do_happen() {
    let events = [
        Event::Pass(30),
        Event::LossFactor(300.0),
        Event::Pass(90),
        Event::LossFactor(1.0),
        Event::Pass(200),
    ];
    let world = run(
        |s| {
            s.observe_s = 30.0;
            s.min_change_interval_s = 0.0;
        },
        events.to_vec(),
    );
    let c = &world.checks;
    assert!(c.trials >= 2 && c.writes >= 3, "{} {}", c.trials, c.writes);
}
