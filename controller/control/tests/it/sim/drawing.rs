// SPDX-License-Identifier: Apache-2.0
//! The diagram above `State`, as a set of arrows.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use tidemark_control::{Input, State};

const DRAWN_IN: &str = include_str!("../../../src/link/state.rs");

/// A state without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Observing,
    Holding,
    Trial,
    Reading,
    Writing,
}

impl Phase {
    pub(crate) const ALL: [Phase; 5] = [
        Phase::Observing,
        Phase::Holding,
        Phase::Trial,
        Phase::Reading,
        Phase::Writing,
    ];

    pub(crate) fn of(state: &State) -> Self {
        match state {
            State::Observing => Phase::Observing,
            State::Holding(_) => Phase::Holding,
            State::Trial { .. } => Phase::Trial,
            State::Reading { .. } => Phase::Reading,
            State::Writing { .. } => Phase::Writing,
        }
    }
}

/// An input without its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Estimate,
    Advice,
    Tick,
    Outcome,
    LimitRead,
    NotRecorded,
    Found,
    Written,
    Set,
    Confirm,
    StateLost,
    ClockRestarted,
    Mode,
    Targets,
}

impl Kind {
    pub(crate) const ALL: [Kind; 14] = [
        Kind::Estimate,
        Kind::Advice,
        Kind::Tick,
        Kind::Outcome,
        Kind::LimitRead,
        Kind::NotRecorded,
        Kind::Found,
        Kind::Written,
        Kind::Set,
        Kind::Confirm,
        Kind::StateLost,
        Kind::ClockRestarted,
        Kind::Mode,
        Kind::Targets,
    ];

    pub(crate) fn of(input: &Input) -> Self {
        match input {
            Input::Estimate(_) => Kind::Estimate,
            Input::Advice { .. } => Kind::Advice,
            Input::Tick(_) => Kind::Tick,
            Input::Outcome(_) => Kind::Outcome,
            Input::LimitRead(_) => Kind::LimitRead,
            Input::NotRecorded(_) => Kind::NotRecorded,
            Input::Found(_) => Kind::Found,
            Input::Written { .. } => Kind::Written,
            Input::Set { .. } => Kind::Set,
            Input::Confirm { .. } => Kind::Confirm,
            Input::StateLost { .. } => Kind::StateLost,
            Input::ClockRestarted => Kind::ClockRestarted,
            Input::Mode(_) => Kind::Mode,
            Input::Targets(_) => Kind::Targets,
        }
    }
}

/// A transition: state, input, next state.
pub(crate) type Arrow = (Phase, Kind, Phase);

/// All arrows of the diagram.
pub(crate) static DRAWN: LazyLock<BTreeSet<Arrow>> = LazyLock::new(|| {
    let lines = DRAWN_IN.lines().filter_map(|l| l.strip_prefix("///"));
    let arrows = lines.filter(|l| l.contains("-->") && !l.contains("[*]"));
    arrows.flat_map(arrows_of).collect()
});

/// Parses a line such as `Trial --> Writing: Found, StateLost`.
fn arrows_of(line: &str) -> Vec<Arrow> {
    let phase = |name: &str| {
        Phase::ALL
            .into_iter()
            .find(|p| format!("{p:?}") == name.trim())
    };
    let kind = |name: &str| {
        Kind::ALL
            .into_iter()
            .find(|k| format!("{k:?}") == name.trim())
    };
    let (ends, inputs) = line.split_once(':').expect(line);
    let (from, to) = ends.split_once("-->").expect(line);
    let (from, to) = (phase(from).expect(line), phase(to).expect(line));
    let arrow = |name| (from, kind(name).expect(line), to);
    inputs.split(',').map(arrow).collect()
}

/// Returns the arrow that an input took, if any. During a write that continues, this is the arrow
/// of the interrupted state.
pub(crate) fn arrow(before: &State, kind: Kind, after: &State) -> Option<Arrow> {
    if let (
        State::Reading {
            interrupted: before,
            ..
        },
        State::Reading {
            interrupted: after, ..
        },
    )
    | (
        State::Writing {
            interrupted: before,
            ..
        },
        State::Writing {
            interrupted: after, ..
        },
    ) = (before, after)
    {
        return arrow(before, kind, after);
    }
    let (from, to) = (Phase::of(before), Phase::of(after));
    (from != to).then_some((from, kind, to))
}
