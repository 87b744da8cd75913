// SPDX-License-Identifier: Apache-2.0
//! The states of the loop.

use crate::record::Origin;
use crate::time::Timestamp;
use crate::trial::{Trial, TrialChange};
use std::sync::Arc;
use tidemark_advice::Advice;
use tidemark_rules::{Goal, Limit, Observed};

/// State of a link's loop: a state, or a write and the state that it interrupts.
/// [`LinkControl::on`](super::LinkControl::on) has the transitions.
///
/// The drawing has every arrow that one input can take, with the inputs that take
/// it; the tests hold it against what the loop does.
///
/// ```text
/// stateDiagram-v2
///     [*] --> Observing
///     Observing --> Reading: Tick, Set, Confirm, StateLost
///     Observing --> Writing: Found, StateLost
///     Holding --> Observing: Tick, Estimate, Targets
///     Holding --> Reading: Tick, Set, Confirm, StateLost
///     Holding --> Writing: Found, StateLost
///     Trial --> Observing: Tick, Estimate, Outcome, Found, ClockRestarted
///     Trial --> Holding: Tick, Outcome, Found, ClockRestarted
///     Trial --> Reading: Tick, Set, Confirm, Outcome, StateLost
///     Trial --> Writing: Found, StateLost
///     Reading --> Observing: LimitRead
///     Reading --> Holding: LimitRead
///     Reading --> Trial: LimitRead
///     Reading --> Writing: LimitRead
///     Writing --> Observing: Written, NotRecorded
///     Writing --> Holding: Written, NotRecorded
///     Writing --> Trial: Written, NotRecorded
/// ```
///
/// A write remembers the state that it interrupts and returns to it when it fails:
/// an operator may set a limit or confirm advice during a trial or a rest. Until
/// then that state goes on: its trial or rest may end beneath the write. A limit
/// that is set during a trial ends that trial as unclear. A rest outlasts a trial
/// that an operator starts during it. A look at the switch that finds a limit of
/// someone else ends a trial as unclear, and with `on_drift = "restore"` starts a
/// write; how far what the switch holds is known is a region of its own,
/// `Expectation`.
#[derive(Clone, Debug, Default)]
pub enum State {
    /// Nothing is under way: auto mode may act.
    #[default]
    Observing,
    /// Auto mode rests; an operator may still act.
    Holding(Hold),
    /// A limit set by advice settles and is then judged.
    Trial {
        /// The trial.
        trial: Box<Trial>,
        /// The rest that the trial interrupts.
        hold: Option<Hold>,
    },
    /// The limit in force is being read, before another one is written.
    Reading {
        /// The wanted write and its origin.
        write: Box<Write>,
        /// The state that the write interrupts.
        interrupted: Box<State>,
    },
    /// A limit is being written and read back.
    Writing {
        /// The current write and its origin.
        write: Box<Write>,
        /// The limit before, where it was read.
        before: Option<Limit>,
        /// The state that the write interrupts.
        interrupted: Box<State>,
    },
}

/// A rest of auto mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// Its end.
    pub until: Timestamp,
    /// Its cause.
    pub why: HoldReason,
}

/// Why auto mode rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldReason {
    /// A trial ended worse and its limit was rolled back.
    RolledBack,
    /// The switch refused a write: every attempt is an audit record.
    WriteFailed,
    /// It did so before a restart of the controller.
    Restored,
}

/// A write under way.
#[derive(Clone, Debug)]
pub struct Write {
    pub(super) limit: Limit,
    pub(super) origin: Origin,
    pub(super) reason: String,
    pub(super) advice: Option<Arc<Advice>>,
    /// Baseline of the new limit; `None` where it is not tried.
    pub(super) baseline: Option<Baseline>,
    /// The switch's clock when it was asked for, ns.
    pub(super) clock_ns: u64,
    /// A rollback: the limit that failed.
    pub(super) rolled_back: Option<Limit>,
}

impl Write {
    /// The limit wanted.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Who wants it.
    pub fn origin(&self) -> Origin {
        self.origin
    }
}

/// Baseline of a trial.
#[derive(Clone, Debug)]
pub(super) struct Baseline {
    pub(super) measured: Observed,
    pub(super) n_b: tidemark_estimators::Estimate,
    pub(super) given_up: Vec<Goal>,
}

impl Baseline {
    /// The change on trial, once the limit is in force.
    pub(super) fn change(
        self,
        before: Option<Limit>,
        limit: Limit,
        settles_unix_ms: u64,
    ) -> TrialChange {
        TrialChange {
            before,
            limit,
            measured_before: self.measured,
            n_b: Some(self.n_b),
            given_up: self.given_up,
            settles_unix_ms,
        }
    }
}

impl State {
    /// This state, or the one that a write interrupts.
    fn beneath(&self) -> &State {
        match self {
            State::Reading { interrupted, .. } | State::Writing { interrupted, .. } => interrupted,
            other => other,
        }
    }

    fn beneath_mut(&mut self) -> &mut State {
        match self {
            State::Reading { interrupted, .. } | State::Writing { interrupted, .. } => interrupted,
            other => other,
        }
    }

    /// The trial under way, also while a write interrupts it.
    pub fn trial(&self) -> Option<&Trial> {
        match self.beneath() {
            State::Trial { trial, .. } => Some(trial),
            _ => None,
        }
    }

    /// The rest of auto mode, also while a write or a trial interrupts it.
    pub fn hold(&self) -> Option<Hold> {
        match self.beneath() {
            State::Holding(hold) => Some(*hold),
            State::Trial { hold, .. } => *hold,
            _ => None,
        }
    }

    /// The change under way: the limit before it is being read, or it is written.
    pub fn write(&self) -> Option<&Write> {
        match self {
            State::Reading { write, .. } | State::Writing { write, .. } => Some(write),
            State::Observing | State::Holding(_) | State::Trial { .. } => None,
        }
    }

    pub(super) fn trial_mut(&mut self) -> Option<&mut Trial> {
        match self.beneath_mut() {
            State::Trial { trial, .. } => Some(trial),
            _ => None,
        }
    }

    /// Ends the trial; its rest goes on.
    pub(super) fn end_trial(&mut self) -> Option<Trial> {
        let state = self.beneath_mut();
        match std::mem::take(state) {
            State::Trial { trial, hold } => {
                *state = hold.map_or(State::Observing, State::Holding);
                Some(*trial)
            }
            other => {
                *state = other;
                None
            }
        }
    }

    /// Starts a trial; the one before must have ended.
    pub(super) fn start_trial(&mut self, trial: Trial) {
        let hold = self.hold();
        *self.beneath_mut() = State::Trial {
            trial: Box::new(trial),
            hold,
        };
    }

    /// Starts, replaces or (with `None`) ends the rest of auto mode.
    pub(super) fn set_hold(&mut self, rest: Option<Hold>) {
        match self.beneath_mut() {
            State::Trial { hold, .. } => *hold = rest,
            state => *state = rest.map_or(State::Observing, State::Holding),
        }
    }

    /// Interrupts this state by a change whose limit before is read first.
    pub(super) fn start_reading(&mut self, write: Write) {
        *self = State::Reading {
            write: Box::new(write),
            interrupted: Box::new(std::mem::take(self)),
        };
    }

    /// Interrupts this state by the write of a limit.
    pub(super) fn start_writing(&mut self, write: Write, before: Option<Limit>) {
        *self = State::Writing {
            write: Box::new(write),
            before,
            interrupted: Box::new(std::mem::take(self)),
        };
    }

    /// Ends the change under way and returns to the state that it interrupted;
    /// gives the limit before, where it was read.
    pub(super) fn end_write(&mut self) -> Option<(Write, Option<Limit>)> {
        match std::mem::take(self) {
            State::Reading { write, interrupted } => {
                *self = *interrupted;
                Some((*write, None))
            }
            State::Writing {
                write,
                before,
                interrupted,
            } => {
                *self = *interrupted;
                Some((*write, before))
            }
            other => {
                *self = other;
                None
            }
        }
    }
}
