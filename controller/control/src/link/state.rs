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
/// The diagram has every arrow that an input can take, labelled with those inputs; the tests
/// compare it with the behaviour of the loop.
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
/// A write remembers the state that it interrupts and returns to it if it fails: an operator may
/// set a limit or confirm advice during a trial or a rest. Meanwhile the interrupted state
/// continues: its trial or rest may end during the write. A limit set during a trial ends the trial
/// as unclear. A rest continues after a trial that an operator starts during it. A read of the
/// switch that finds a limit of someone else ends a trial as unclear, and starts a write with
/// `on_drift = "restore"`. The knowledge about the limit on the switch is a separate region,
/// `Expectation`.
#[derive(Clone, Debug, Default)]
pub enum State {
    /// Nothing is under way: auto mode may act.
    #[default]
    Observing,
    /// Auto mode rests; an operator may still act.
    Holding(Hold),
    /// A limit set by advice settles, and its outcome is then judged.
    Trial {
        /// The trial.
        trial: Box<Trial>,
        /// The rest that the trial interrupts.
        hold: Option<Hold>,
    },
    /// The limit in force is being read, before another one is written.
    Reading {
        /// The requested write and its origin.
        write: Box<Write>,
        /// The state that the write interrupts.
        interrupted: Box<State>,
    },
    /// A limit is being written and read back.
    Writing {
        /// The current write and its origin.
        write: Box<Write>,
        /// The limit before the write, if it was read.
        before: Option<Limit>,
        /// The state that the write interrupts.
        interrupted: Box<State>,
    },
}

/// A rest of auto mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// End of the rest.
    pub until: Timestamp,
    /// Cause of the rest.
    pub why: HoldReason,
}

/// Why auto mode rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldReason {
    /// A trial ended worse and its limit was rolled back.
    RolledBack,
    /// The switch refused a write; pausing limits audit records, one per attempt.
    WriteFailed,
    /// The rest began before a restart of the controller.
    Restored,
}

/// A write that is under way.
#[derive(Clone, Debug)]
pub struct Write {
    pub(super) limit: Limit,
    pub(super) origin: Origin,
    pub(super) reason: String,
    pub(super) advice: Option<Arc<Advice>>,
    /// Baseline of the new limit; `None` if there is no trial.
    pub(super) baseline: Option<Baseline>,
    /// Time of the request on the switch's clock, ns.
    pub(super) clock_ns: u64,
    /// The limit that failed, in a rollback.
    pub(super) rolled_back: Option<Limit>,
}

impl Write {
    /// Returns the requested limit.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Returns who requested the write.
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
    /// Returns the change on trial, once the limit is in force.
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
    /// Returns this state, or the one that a write interrupts.
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

    /// Returns the trial under way, even if a write interrupts it.
    pub fn trial(&self) -> Option<&Trial> {
        match self.beneath() {
            State::Trial { trial, .. } => Some(trial),
            _ => None,
        }
    }

    /// Returns the rest of auto mode, even if a write or a trial interrupts it.
    pub fn hold(&self) -> Option<Hold> {
        match self.beneath() {
            State::Holding(hold) => Some(*hold),
            State::Trial { hold, .. } => *hold,
            _ => None,
        }
    }

    /// Returns the change under way: the limit before it is being read, or the new one written.
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

    /// Ends the trial; an interrupted rest continues.
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

    /// Starts a trial; the previous one must have ended.
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

    /// Interrupts this state to read the limit before a change.
    pub(super) fn start_reading(&mut self, write: Write) {
        *self = State::Reading {
            write: Box::new(write),
            interrupted: Box::new(std::mem::take(self)),
        };
    }

    /// Interrupts this state to write a limit.
    pub(super) fn start_writing(&mut self, write: Write, before: Option<Limit>) {
        *self = State::Writing {
            write: Box::new(write),
            before,
            interrupted: Box::new(std::mem::take(self)),
        };
    }

    /// Ends the change under way and returns to the interrupted state; returns the write and the
    /// limit before it, if it was read.
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
