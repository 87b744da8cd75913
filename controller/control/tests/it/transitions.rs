// SPDX-License-Identifier: Apache-2.0
//! The transition table: state, input, next state, actions. It covers every pair of state and
//! input, and every arrow of the diagram above `State`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::sim;
use crate::worlds;

use Act::{Accept, Measure, Read, Record, Reject, Save, Write};
use At::{Is, Reading, Writing};
use Base::{Holding, Observing, Trial, TrialInHold};
use sim::{DRAWN, Kind, Phase};
use std::collections::BTreeSet;
use tidemark_control::{Action, Outcome, State};
use worlds::{Given as G, When as W};

/// A state that a write may interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Base {
    Observing,
    Holding,
    Trial,
    TrialInHold,
}

/// A state, or a write and the state that it interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Is(Base),
    Reading(Base),
    Writing(Base),
}

impl At {
    fn of(state: &State) -> Self {
        let base = |s: &State| match At::of(s) {
            Is(base) => base,
            Reading(_) | Writing(_) => panic!("a write interrupts a write"),
        };
        match state {
            State::Observing => Is(Observing),
            State::Holding(_) => Is(Holding),
            State::Trial { hold: None, .. } => Is(Trial),
            State::Trial { hold: Some(_), .. } => Is(TrialInHold),
            State::Reading { interrupted, .. } => Reading(base(interrupted)),
            State::Writing { interrupted, .. } => Writing(base(interrupted)),
        }
    }
}

/// An action, without the details that the table omits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Read,
    Write,
    Measure,
    Record(Outcome),
    Save,
    Accept,
    Reject,
}

impl Act {
    fn of(action: &Action) -> Self {
        match action {
            Action::Read => Read,
            Action::Write { .. } => Write,
            Action::Measure { .. } => Measure,
            Action::Record(change) => Record(change.outcome),
            Action::Save => Save,
            Action::Answer(Ok(_)) => Accept,
            Action::Answer(Err(_)) => Reject,
        }
    }
}

const SET: Act = Record(Outcome::Set);
const REFUSED: Act = Record(Outcome::Refused);
const FAILED: Act = Record(Outcome::Failed);
const DRY_RUN: Act = Record(Outcome::DryRun);
const FOUND: Act = Record(Outcome::Found);
const KEPT: Act = Record(Outcome::Kept);
const WORSE: Act = Record(Outcome::Worse);
const UNCLEAR: Act = Record(Outcome::Unclear);

/// Unexpected answers in a state without a write.
const UNASKED: &[W] = &[
    W::Read,
    W::ReadFails,
    W::Written,
    W::WriteFails,
    W::NotRecorded,
];

/// Inputs that leave a state without a write unchanged, except for a trial or a rest in it.
const TOLD: &[W] = &[
    W::Estimate,
    W::Advice,
    W::Mode,
    W::Targets,
    W::ClockRestarted,
];

/// A state, inputs that have the same effect in it, the next state, and the actions.
type Row = (G, &'static [W], At, &'static [Act]);

// One row per line.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    // Without evidence.
    (G::New, TOLD, Is(Observing), &[]),
    (G::New, &[W::Tick, W::StateLost, W::PortLost], Is(Observing), &[]),
    (G::New, &[W::Confirm], Is(Observing), &[REFUSED, Reject]),
    (G::New, &[W::Set], Reading(Observing), &[Read]),
    // Nothing is under way.
    (G::Observing, TOLD, Is(Observing), &[]),
    (G::Observing, UNASKED, Is(Observing), &[]),
    (G::Observing, &[W::Tick, W::Outcome], Is(Observing), &[]),
    (G::Observing, &[W::OtherTraffic], Is(Observing), &[]),
    (G::Observing, &[W::Set, W::Confirm], Reading(Observing), &[Read]),
    (G::Observing, &[W::SetOutOfRange], Is(Observing), &[Reject]),
    (G::Observing, &[W::ConfirmOther], Is(Observing), &[Reject]),
    (G::Observing, &[W::Found, W::FoundOther], Is(Observing), &[]),
    (G::AutoSteady, &[W::Tick], Reading(Observing), &[Read]),
    // Reads of the switch after an interrupted write or a loss.
    (G::CutShort, &[W::Found], Is(Observing), &[SET, Save]),
    (G::CutShort, &[W::FoundOther], Is(Observing), &[FAILED, Save]),
    (G::OursRestored, &[W::Found], Is(Observing), &[]),
    (G::OursRestored, &[W::FoundOther], Writing(Observing), &[FOUND, Write]),
    (G::OursRestored, &[W::StateLost], Writing(Observing), &[Write]),
    (G::OursRestored, &[W::PortLost], Reading(Observing), &[Read]),
    (G::Lost, &[W::FoundUnlimited], Writing(Observing), &[Write]),
    (G::Lost, &[W::Found], Is(Observing), &[]),
    // A rest.
    (G::Holding, &[W::Estimate, W::Advice, W::Mode], Is(Holding), &[]),
    (G::Holding, &[W::ClockRestarted], Is(Holding), &[]),
    (G::Holding, UNASKED, Is(Holding), &[]),
    (G::Holding, &[W::Tick, W::Outcome, W::Found], Is(Holding), &[]),
    (G::Holding, &[W::OtherTraffic, W::Targets], Is(Observing), &[]),
    (G::Holding, &[W::Set, W::Confirm], Reading(Holding), &[Read]),
    (G::Holding, &[W::SetOutOfRange], Is(Holding), &[Reject]),
    (G::Holding, &[W::FoundOther], Is(Holding), &[FOUND, Save]),
    (G::Holding, &[W::StateLost], Writing(Holding), &[Write]),
    (G::Holding, &[W::PortLost], Reading(Holding), &[Read]),
    (G::HoldingRestored, &[W::FoundOther], Writing(Holding), &[FOUND, Write]),
    (G::HoldingPassed, &[W::Tick], Is(Observing), &[]),
    (G::AutoHoldingPassed, &[W::Tick], Reading(Observing), &[Read]),
    // A trial.
    (G::Trial, &[W::Estimate, W::Advice, W::Mode], Is(Trial), &[]),
    (G::Trial, &[W::Targets], Is(Trial), &[]),
    (G::Trial, UNASKED, Is(Trial), &[]),
    (G::Trial, &[W::Tick, W::Found], Is(Trial), &[]),
    (G::Trial, &[W::OtherTraffic, W::ClockRestarted], Is(Observing), &[UNCLEAR]),
    (G::Trial, &[W::Set, W::Confirm], Reading(Trial), &[Read]),
    (G::Trial, &[W::FoundOther], Is(Observing), &[UNCLEAR, FOUND, Save]),
    (G::Trial, &[W::StateLost], Writing(Trial), &[Write]),
    (G::Trial, &[W::PortLost], Reading(Trial), &[Read]),
    (G::TrialRestored, &[W::FoundOther], Writing(Observing), &[UNCLEAR, FOUND, Write]),
    (G::TrialDue, &[W::Tick], Is(Trial), &[Measure]),
    (G::TrialDue, &[W::Outcome], Is(Observing), &[KEPT, Save]),
    (G::TrialDue, &[W::OutcomeOther], Is(Observing), &[UNCLEAR]),
    (G::TrialWorse, &[W::Outcome], Reading(Observing), &[WORSE, Save, Read]),
    (G::TrialLate, &[W::Tick], Is(Observing), &[UNCLEAR]),
    (G::AutoTrialLate, &[W::Tick], Reading(Observing), &[UNCLEAR, Read]),
    (G::TrialInHold, &[W::Tick], Is(TrialInHold), &[]),
    (G::TrialInHold, &[W::Targets], Is(Trial), &[]),
    (G::TrialInHold, &[W::ClockRestarted], Is(Holding), &[UNCLEAR]),
    (G::TrialInHold, &[W::OtherTraffic], Is(Observing), &[UNCLEAR]),
    (G::TrialInHold, &[W::FoundOther], Is(Holding), &[UNCLEAR, FOUND, Save]),
    (G::TrialInHoldDue, &[W::Outcome], Is(Holding), &[KEPT, Save]),
    (G::TrialInHoldLate, &[W::Tick], Is(Holding), &[UNCLEAR]),
    // The limit before a change is being read.
    (G::AutoReads, TOLD, Reading(Observing), &[]),
    (G::AutoReads, &[W::Tick, W::Outcome], Reading(Observing), &[]),
    (G::AutoReads, &[W::Written, W::WriteFails, W::NotRecorded], Reading(Observing), &[]),
    (G::AutoReads, &[W::Found, W::FoundOther], Reading(Observing), &[]),
    (G::AutoReads, &[W::StateLost, W::PortLost], Reading(Observing), &[]),
    (G::AutoReads, &[W::Set, W::Confirm], Reading(Observing), &[Reject]),
    (G::AutoReads, &[W::Read], Writing(Observing), &[Write]),
    (G::AutoReads, &[W::ReadFails], Is(Holding), &[FAILED, Save]),
    // The read first resolves the interrupted write.
    (G::OperatorReadsCutShort, &[W::Read], Writing(Observing), &[SET, Save, Write]),
    (G::OperatorReadsCutShort, &[W::ReadOther], Writing(Observing), &[FAILED, Save, Write]),
    (G::OperatorReads, &[W::Read, W::ReadOther], Writing(Observing), &[Write]),
    (G::OperatorReads, &[W::ReadFails], Is(Observing), &[FAILED, Save, Reject]),
    (G::OperatorReads, &[W::SetOutOfRange], Reading(Observing), &[Reject]),
    (G::DryRunReads, &[W::Read], Is(Observing), &[DRY_RUN, Save, Accept]),
    (G::OperatorReadsInTrial, &[W::Read], Writing(Trial), &[Write]),
    (G::OperatorReadsInTrial, &[W::ReadFails], Is(Trial), &[FAILED, Save, Reject]),
    (G::OperatorReadsInTrial, &[W::ClockRestarted], Reading(Observing), &[UNCLEAR]),
    (G::OperatorReadsInTrial, &[W::Tick, W::Outcome], Reading(Trial), &[]),
    (G::RollbackReads, &[W::Read], Writing(Observing), &[Write]),
    (G::RollbackReads, &[W::ReadOther], Is(Holding), &[FOUND, Save]),
    (G::RestoreReads, &[W::ReadUnlimited], Writing(Observing), &[Write]),
    (G::RestoreReads, &[W::ReadOther, W::ReadFails], Is(Observing), &[]),
    // A limit is being written.
    (G::AutoWrites, TOLD, Writing(Observing), &[]),
    (G::AutoWrites, &[W::Tick, W::Outcome], Writing(Observing), &[]),
    (G::AutoWrites, &[W::Read, W::ReadFails], Writing(Observing), &[]),
    (G::AutoWrites, &[W::Found, W::FoundOther], Writing(Observing), &[]),
    (G::AutoWrites, &[W::StateLost, W::PortLost], Writing(Observing), &[]),
    (G::AutoWrites, &[W::Set, W::Confirm], Writing(Observing), &[Reject]),
    (G::AutoWrites, &[W::Written], Is(Trial), &[SET, Save]),
    (G::AutoWrites, &[W::WriteFails, W::NotRecorded], Is(Holding), &[FAILED, Save]),
    (G::OperatorWrites, &[W::Set, W::SetOutOfRange, W::Confirm], Writing(Observing), &[Reject]),
    (G::OperatorWrites, &[W::Written], Is(Observing), &[SET, Save, Accept]),
    (G::OperatorWrites, &[W::WriteFails], Is(Observing), &[FAILED, Save, Reject]),
    (G::OperatorWrites, &[W::NotRecorded], Is(Observing), &[FAILED, Save, Reject]),
    (G::OperatorWritesInTrial, &[W::Written], Is(Observing), &[UNCLEAR, SET, Save, Accept]),
    (G::OperatorWritesInTrial, &[W::WriteFails], Is(Trial), &[FAILED, Save, Reject]),
    (G::OperatorWritesInTrial, &[W::NotRecorded], Is(Trial), &[FAILED, Save, Reject]),
    (G::OperatorWritesInTrial, &[W::ClockRestarted], Writing(Observing), &[UNCLEAR]),
    (G::RollbackWrites, &[W::Written], Is(Holding), &[SET, Save]),
    (G::RollbackWrites, &[W::WriteFails], Is(Holding), &[FAILED, Save]),
    (G::RestoreWrites, &[W::Written], Is(Observing), &[SET, Save]),
    (G::RestoreWrites, &[W::WriteFails], Is(Observing), &[FAILED, Save]),
];

#[test]
fn every_transition_is_as_in_the_table() {
    let (mut wrong, mut pairs, mut arrows) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    for (given, whens, at, acts) in TABLE {
        for when in *whens {
            let mut world = worlds::given(*given);
            let input = worlds::input(*when, &world);
            pairs.insert((Phase::of(world.control.state()), Kind::of(&input)));
            world.arrows.clear();
            let done: Vec<Act> = world.step(input).iter().map(Act::of).collect();
            let seen = At::of(world.control.state());
            arrows.append(&mut world.arrows);
            if (seen, done.as_slice()) != (*at, *acts) {
                wrong.push(format!(
                    "{given:?} + {when:?}: {at:?} {acts:?}, not {seen:?} {done:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all = Phase::ALL
        .into_iter()
        .flat_map(|p| Kind::ALL.map(|k| (p, k)));
    let all: BTreeSet<_> = all.collect();
    assert_eq!(pairs, all, "the table lacks a state with an input");
    let untaken: Vec<_> = DRAWN.difference(&arrows).collect();
    assert!(untaken.is_empty(), "drawn, and not taken: {untaken:?}");
}

/// A rest ends by itself.
#[test]
fn a_rest_ends_when_its_time_has_passed() {
    let mut world = worlds::given(G::Holding);
    world.pass(990);
    assert_eq!(At::of(world.control.state()), Is(Holding));
    world.pass(20);
    assert_eq!(At::of(world.control.state()), Is(Observing));
}
