// SPDX-License-Identifier: Apache-2.0
//! The table of transitions: state, input, next state, actions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod sim;

use sim::World;
use std::sync::Arc;
use tidemark_control::{Action, Input, Limit, LinkControl, Mode, State, Telemetry as _};

fn state(control: &LinkControl) -> String {
    fn name(s: &State) -> String {
        match s {
            State::Observing => "observing".into(),
            State::Holding(_) => "holding".into(),
            State::Trial { hold: None, .. } => "trial".into(),
            State::Trial { hold: Some(_), .. } => "trial+hold".into(),
            State::Writing { interrupted, .. } => format!("writing<{}>", name(interrupted)),
        }
    }
    name(control.state())
}

fn actions(actions: &[Action]) -> String {
    let name = |a: &Action| match a {
        Action::Read => "read".to_string(),
        Action::Write { .. } => "write".into(),
        Action::Measure { .. } => "measure".into(),
        Action::Record(c) => c.outcome.label().into(),
        Action::Save => "save".into(),
        Action::Answer(Ok(_)) => "ok".into(),
        Action::Answer(Err(_)) => "error".into(),
    };
    actions.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// A world in one state; those that write have slow switches.
fn given(name: &str) -> World {
    let auto = name.starts_with("auto");
    let mode = if auto { Mode::Auto } else { Mode::Confirm };
    let mut world = World::new(mode, |s, _| {
        s.rollback_hold_s = 1000.0;
        s.min_change_interval_s = 0.0;
    });
    match name {
        "new" => return world,
        "observing" => world.pass(15),
        "auto reads" | "auto writes" => {
            world.slow = true;
            world.pass(3);
            while !world.control.state().is_writing() {
                world.pass(1);
            }
            if name == "auto writes" {
                world.answer();
            }
        }
        "operator reads" => {
            world.pass(15);
            world.slow = true;
            world.set(Limit::DropTail {
                limit_bytes: 99_000,
            });
        }
        "operator writes" => {
            world = given("operator reads");
            world.answer();
        }
        "trial" => {
            world.pass(15);
            world.confirm();
        }
        "trial, due" => {
            world = given("trial");
            world.slow = true;
            world.pass(14);
        }
        "operator writes in trial" => {
            world = given("trial");
            world.slow = true;
            world.set(Limit::Unlimited);
            world.answer();
        }
        "rollback reads" => {
            world = given("trial");
            world.link.loss_factor = 100.0;
            world.slow = true;
            world.pass(14);
            world.answer(); // measured
        }
        "rollback writes" => {
            world = given("rollback reads");
            world.answer(); // read
        }
        "holding" => {
            world = given("rollback writes");
            world.slow = false;
            world.answer();
            world.link.loss_factor = 1.0;
        }
        "trial in hold" => {
            world = given("holding");
            world.pass(15);
            world.confirm();
        }
        other => panic!("no state {other}"),
    }
    world
}

fn input(name: &str, world: &World) -> Input {
    let clock_ns = Some(world.link.clock_ns());
    let readings = world.readings();
    let limit_bytes = 50_000;
    match name {
        "tick" => Input::Tick(readings),
        "set" => Input::Set {
            limit: Limit::DropTail { limit_bytes },
            reason: String::new(),
            readings,
        },
        "set, out of range" => Input::Set {
            limit: Limit::DropTail { limit_bytes: 1 },
            reason: String::new(),
            readings,
        },
        "confirm" => Input::Confirm {
            seen_bytes: None,
            readings,
        },
        "confirm, seen otherwise" => Input::Confirm {
            seen_bytes: Some(1),
            readings,
        },
        "read" => Input::LimitRead(Ok(world.link.limit)),
        "read, another" => Input::LimitRead(Ok(Limit::DropTail {
            limit_bytes: 77_000,
        })),
        "read fails" => Input::LimitRead(Err("unplugged".into())),
        "written" => Input::Written {
            result: Ok(Limit::DropTail { limit_bytes }),
            clock_ns,
        },
        "write fails" => Input::Written {
            result: Err("unplugged".into()),
            clock_ns,
        },
        "not recorded" => Input::NotRecorded("no space left".into()),
        "found, as expected" => Input::Found(world.link.limit),
        "found, another" => Input::Found(Limit::DropTail {
            limit_bytes: 77_000,
        }),
        "outcome" => {
            let end_ns = world.link.clock_ns();
            let from_ns = end_ns.saturating_sub(10_000_000_000);
            Input::Outcome(Arc::new(world.link.estimate(from_ns, end_ns)))
        }
        "outcome, another limit" => {
            let end_ns = world.link.clock_ns();
            let from_ns = end_ns.saturating_sub(10_000_000_000);
            let mut estimate = world.link.estimate(from_ns, end_ns);
            estimate.limit_bytes = Some(77_000);
            Input::Outcome(Arc::new(estimate))
        }
        "targets" => Input::Targets(world.control.targets().clone()),
        "clock restarted" => Input::ClockRestarted,
        "state lost" => Input::StateLost { everything: true },
        other => panic!("no input {other}"),
    }
}

const TABLE: &[(&str, &str, &str, &str)] = &[
    // Without evidence.
    ("new", "tick", "observing", ""),
    ("new", "confirm", "observing", "refused error"),
    ("new", "set", "writing<observing>", "read"),
    ("new", "state lost", "observing", ""),
    // Requests.
    ("observing", "tick", "observing", ""),
    ("observing", "set", "writing<observing>", "read"),
    ("observing", "set, out of range", "observing", "error"),
    ("observing", "confirm", "writing<observing>", "read"),
    ("observing", "confirm, seen otherwise", "observing", "error"),
    ("observing", "targets", "observing", ""),
    // Answers nobody waits for.
    ("observing", "read", "observing", ""),
    ("observing", "written", "observing", ""),
    ("observing", "outcome", "observing", ""),
    ("auto reads", "written", "writing<observing>", ""),
    ("auto writes", "read", "writing<observing>", ""),
    // A write.
    ("auto reads", "tick", "writing<observing>", ""),
    ("auto reads", "read", "writing<observing>", "write"),
    ("auto reads", "read fails", "holding", "failed save"),
    ("auto writes", "written", "trial", "set save"),
    ("auto writes", "write fails", "holding", "failed save"),
    ("operator reads", "read", "writing<observing>", "write"),
    (
        "operator reads",
        "read fails",
        "observing",
        "failed save error",
    ),
    ("operator writes", "written", "observing", "set save ok"),
    (
        "operator writes",
        "write fails",
        "observing",
        "failed save error",
    ),
    ("operator writes", "set", "writing<observing>", "error"),
    ("operator writes", "confirm", "writing<observing>", "error"),
    ("operator writes", "state lost", "writing<observing>", ""),
    ("auto writes", "not recorded", "holding", "failed save"),
    (
        "operator writes",
        "not recorded",
        "observing",
        "failed save error",
    ),
    // A look at the switch.
    ("observing", "found, another", "observing", ""),
    ("holding", "found, as expected", "holding", ""),
    ("holding", "found, another", "holding", "found save"),
    ("trial", "found, as expected", "trial", ""),
    ("trial", "found, another", "observing", "unclear found save"),
    ("auto writes", "found, another", "writing<observing>", ""),
    ("observing", "not recorded", "observing", ""),
    // A trial.
    ("trial", "tick", "trial", ""),
    ("trial", "set", "writing<trial>", "read"),
    ("trial", "confirm", "writing<trial>", "read"),
    ("trial", "targets", "trial", ""),
    ("trial", "clock restarted", "observing", "unclear"),
    ("trial, due", "tick", "trial", "measure"),
    ("trial, due", "outcome", "observing", "kept save"),
    (
        "trial, due",
        "outcome, another limit",
        "observing",
        "unclear",
    ),
    (
        "operator writes in trial",
        "written",
        "observing",
        "unclear set save ok",
    ),
    (
        "operator writes in trial",
        "write fails",
        "trial",
        "failed save error",
    ),
    (
        "operator writes in trial",
        "clock restarted",
        "writing<observing>",
        "unclear",
    ),
    // Rollback and rest.
    ("rollback reads", "read", "writing<observing>", "write"),
    ("rollback reads", "read, another", "holding", "found save"),
    ("rollback writes", "written", "holding", "set save"),
    ("rollback writes", "write fails", "holding", "failed save"),
    ("holding", "tick", "holding", ""),
    ("holding", "set", "writing<holding>", "read"),
    ("holding", "targets", "observing", ""),
    ("holding", "clock restarted", "holding", ""),
    ("trial in hold", "tick", "trial+hold", ""),
    ("trial in hold", "clock restarted", "holding", "unclear"),
    ("trial in hold", "targets", "trial", ""),
];

#[test]
fn every_transition_is_as_in_the_table() {
    let mut wrong = Vec::new();
    for (from, event, to, expected) in TABLE {
        let mut world = given(from);
        let input = input(event, &world);
        let done = world.control.on(input, world.now);
        let seen = (state(&world.control), actions(&done));
        if (seen.0.as_str(), seen.1.as_str()) != (*to, *expected) {
            wrong.push(format!(
                "{from} + {event}: {to} [{expected}], not {} [{}]",
                seen.0, seen.1
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A rest ends by itself.
#[test]
fn a_rest_ends_when_its_time_has_passed() {
    let mut world = given("holding");
    world.pass(990);
    assert_eq!(state(&world.control), "holding");
    world.pass(20);
    assert_eq!(state(&world.control), "observing");
}
