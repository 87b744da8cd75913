// SPDX-License-Identifier: Apache-2.0
//! Worlds in every state, and every input, for the transition table.

use crate::sim::World;
use std::sync::Arc;
use tidemark_control::{
    Change, Input, Limit, LoggedWrites, Mode, OnDrift, Origin, Outcome, StationarityWindow,
    Telemetry as _, WindowEstimate,
};
use tidemark_estimators::LinkEstimate;
use tidemark_rules::Targets;

/// The limit that an operator sets, and one of someone else.
const OURS: Limit = Limit::DropTail {
    limit_bytes: 99_000,
};
const OTHER: Limit = Limit::DropTail {
    limit_bytes: 77_000,
};
const HOLD_S: f64 = 1000.0;

/// A world in a state. If a write is under way, the switch is slow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Given {
    /// Nothing is known yet.
    New,
    Observing,
    /// Auto mode, with advice that is applied in the next second.
    AutoSteady,
    /// An earlier run left a write without an outcome.
    CutShort,
    /// A limit of ours that is restored if someone else writes another.
    OursRestored,
    /// The switch lost our limit during a write that failed.
    Lost,
    Holding,
    HoldingRestored,
    /// The rest is over.
    HoldingPassed,
    AutoHoldingPassed,
    Trial,
    TrialRestored,
    /// The trial can be measured.
    TrialDue,
    TrialWorse,
    /// The telemetry of the trial did not arrive in time.
    TrialLate,
    AutoTrialLate,
    TrialInHold,
    TrialInHoldDue,
    TrialInHoldLate,
    AutoReads,
    OperatorReads,
    /// An earlier run left a write without an outcome, and an operator acts before a read.
    OperatorReadsCutShort,
    DryRunReads,
    OperatorReadsInTrial,
    RollbackReads,
    RestoreReads,
    AutoWrites,
    OperatorWrites,
    OperatorWritesInTrial,
    RollbackWrites,
    RestoreWrites,
}

pub(crate) fn given(state: Given) -> World {
    let new = || world(Mode::Confirm, OnDrift::Keep);
    let restoring = || world(Mode::Confirm, OnDrift::Restore);
    match state {
        Given::New => new(),
        Given::Observing => observing(new()),
        Given::AutoSteady => auto_steady(),
        Given::CutShort => cut_short(observing(new())),
        Given::OursRestored => ours(observing(restoring())),
        Given::Lost => lost(ours(observing(new()))),
        Given::Holding => holding(new()),
        Given::HoldingRestored => holding(restoring()),
        Given::HoldingPassed => later(HOLD_S, holding(new())),
        Given::AutoHoldingPassed => later(HOLD_S, auto(15, holding(new()))),
        Given::Trial => trial(observing(new())),
        Given::TrialRestored => trial(observing(restoring())),
        Given::TrialDue => due(trial(observing(new()))),
        Given::TrialWorse => worse(new()),
        Given::TrialLate => later(60.0, trial(observing(new()))),
        Given::AutoTrialLate => later(60.0, auto(15, long_trial())),
        Given::TrialInHold => trial_in_hold(),
        Given::TrialInHoldDue => due(trial_in_hold()),
        Given::TrialInHoldLate => later(60.0, trial_in_hold()),
        Given::AutoReads => auto_reads(),
        Given::OperatorReads => operator_reads(observing(new())),
        Given::OperatorReadsCutShort => operator_reads(cut_short(observing(new()))),
        Given::DryRunReads => operator_reads(observing(World::new(Mode::Confirm, |s, _| {
            s.dry_run = true;
        }))),
        Given::OperatorReadsInTrial => operator_reads(trial(observing(new()))),
        Given::RollbackReads => answered(due(worse(new()))),
        Given::RestoreReads => losing(false, ours(observing(new()))),
        Given::AutoWrites => answered(auto_reads()),
        Given::OperatorWrites => answered(operator_reads(observing(new()))),
        Given::OperatorWritesInTrial => answered(operator_reads(trial(observing(new())))),
        Given::RollbackWrites => rollback_writes(new()),
        Given::RestoreWrites => losing(true, ours(observing(new()))),
    }
}

fn world(mode: Mode, on_drift: OnDrift) -> World {
    World::new(mode, |s, _| {
        s.rollback_hold_s = HOLD_S;
        s.min_change_interval_s = 0.0;
        s.on_drift = on_drift;
    })
}

fn observing(mut world: World) -> World {
    world.pass(15);
    world
}

fn auto_reads() -> World {
    let mut world = world(Mode::Auto, OnDrift::Keep);
    world.slow = true;
    while world.control.state().write().is_none() {
        world.pass(1);
    }
    world
}

/// Steady advice that mode `recommend` did not apply, and that auto mode applies.
fn auto_steady() -> World {
    let mut world = observing(world(Mode::Recommend, OnDrift::Keep));
    world.drive(Input::Mode(Mode::Auto));
    world
}

fn auto(seconds: u64, mut world: World) -> World {
    world.drive(Input::Mode(Mode::Auto));
    world.pass(seconds);
    world
}

fn later(seconds: f64, mut world: World) -> World {
    world.jump(seconds);
    world
}

/// Puts an operator's limit in force.
fn ours(mut world: World) -> World {
    world.set(OURS);
    world
}

fn operator_reads(mut world: World) -> World {
    world.slow = true;
    world.set(OURS);
    world
}

fn answered(mut world: World) -> World {
    world.answer();
    world
}

fn trial(mut world: World) -> World {
    world.confirm();
    world
}

/// Starts a trial so long that advice for other targets becomes steady during it.
fn long_trial() -> World {
    let mut world = trial(observing(World::new(Mode::Confirm, |s, _| {
        s.min_change_interval_s = 0.0;
        s.observe_s = 30.0;
    })));
    world.drive(Input::Targets(Targets {
        delay_ms: Some(4.0),
        ..world.control.targets().clone()
    }));
    world
}

fn due(mut world: World) -> World {
    world.slow = true;
    world.pass(14);
    world
}

fn worse(world: World) -> World {
    let mut world = trial(observing(world));
    world.link.loss_factor = 100.0;
    due(world)
}

fn rollback_writes(world: World) -> World {
    let measured = answered(worse(world));
    answered(measured)
}

fn holding(world: World) -> World {
    let mut world = rollback_writes(world);
    world.slow = false;
    world.answer();
    world.link.loss_factor = 1.0;
    world
}

fn trial_in_hold() -> World {
    trial(observing(holding(world(Mode::Confirm, OnDrift::Keep))))
}

/// Makes a slow switch lose the limit.
fn losing(everything: bool, mut world: World) -> World {
    world.slow = true;
    world.drive(Input::StateLost { everything });
    world
}

/// Makes the switch lose its state during a write, which fails.
fn lost(world: World) -> World {
    let mut world = losing(true, answered(operator_reads(world)));
    world.broken = true;
    world.answer();
    world
}

fn cut_short(mut world: World) -> World {
    let intent = Change {
        unix_ms: world.now.unix_ms,
        node: 10,
        port: 5,
        queue: 0,
        origin: Origin::Operator,
        outcome: Outcome::Intended,
        before: None,
        limit: Some(world.link.limit),
        reason: String::new(),
        error: None,
        expected: None,
        measured_before: None,
        measured_after: None,
    };
    let logged = LoggedWrites {
        last_set: None,
        cut_short: Some(intent),
    };
    world.control.resume(logged, world.now);
    world
}

/// An input.
#[derive(Clone, Copy, Debug)]
pub(crate) enum When {
    Estimate,
    /// An estimate of traffic that has changed.
    OtherTraffic,
    Advice,
    Tick,
    Outcome,
    /// Measured under a limit other than that on trial.
    OutcomeOther,
    /// The limit in force.
    Read,
    ReadOther,
    ReadUnlimited,
    ReadFails,
    Written,
    WriteFails,
    NotRecorded,
    /// The limit in force.
    Found,
    FoundOther,
    FoundUnlimited,
    Set,
    SetOutOfRange,
    Confirm,
    /// Confirmation of advice that has changed since the operator saw it.
    ConfirmOther,
    /// The switch lost all of its state.
    StateLost,
    /// Only ports without any limit lost their state.
    PortLost,
    ClockRestarted,
    Mode,
    Targets,
}

pub(crate) fn input(when: When, world: &World) -> Input {
    let unplugged = || "unplugged".to_string();
    match when {
        When::Estimate => Input::Estimate(window(world)),
        When::OtherTraffic => Input::Estimate(WindowEstimate {
            traffic_changed: Some("N_b was 6 and is 60".into()),
            ..window(world)
        }),
        When::Advice => world.advice(&window(world).estimate),
        When::Tick => Input::Tick(world.readings()),
        When::Outcome => Input::Outcome(Arc::new(measured(world))),
        When::OutcomeOther => {
            let mut estimate = measured(world);
            estimate.limit_bytes = OTHER.bytes();
            Input::Outcome(Arc::new(estimate))
        }
        When::Read => Input::LimitRead(Ok(world.link.limit)),
        When::ReadOther => Input::LimitRead(Ok(OTHER)),
        When::ReadUnlimited => Input::LimitRead(Ok(Limit::Unlimited)),
        When::ReadFails => Input::LimitRead(Err(unplugged())),
        When::Written => written(Ok(OURS), world),
        When::WriteFails => written(Err(unplugged()), world),
        When::NotRecorded => Input::NotRecorded("no space left".into()),
        When::Found => Input::Found(world.link.limit),
        When::FoundOther => Input::Found(OTHER),
        When::FoundUnlimited => Input::Found(Limit::Unlimited),
        When::Set => set(50_000, world),
        When::SetOutOfRange => set(1, world),
        When::Confirm => confirm(None, world),
        When::ConfirmOther => confirm(Some(1), world),
        When::StateLost => Input::StateLost { everything: true },
        When::PortLost => Input::StateLost { everything: false },
        When::ClockRestarted => Input::ClockRestarted,
        When::Mode => Input::Mode(Mode::Recommend),
        When::Targets => Input::Targets(world.control.targets().clone()),
    }
}

/// Returns the estimate of this second's telemetry, or an empty one without telemetry.
fn window(world: &World) -> WindowEstimate {
    let nothing = || WindowEstimate {
        estimate: Arc::new(world.link.estimate(0, 0)),
        pure: false,
        limit_changed: false,
        traffic_changed: None,
        stationarity: StationarityWindow::default(),
    };
    let window = world.control.window_estimate(&world.link);
    window.unwrap_or_else(nothing)
}

/// Returns the estimate of the last ten seconds.
fn measured(world: &World) -> LinkEstimate {
    let end_ns = world.link.clock_ns();
    world
        .link
        .estimate(end_ns.saturating_sub(10_000_000_000), end_ns)
}

fn written(result: Result<Limit, String>, world: &World) -> Input {
    Input::Written {
        result,
        clock_ns: Some(world.link.clock_ns()),
    }
}

fn set(limit_bytes: u64, world: &World) -> Input {
    Input::Set {
        limit: Limit::DropTail { limit_bytes },
        reason: String::new(),
        readings: world.readings(),
    }
}

fn confirm(seen_bytes: Option<u64>, world: &World) -> Input {
    Input::Confirm {
        seen_bytes,
        readings: world.readings(),
    }
}
