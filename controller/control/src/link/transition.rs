// SPDX-License-Identifier: Apache-2.0
//! All transitions of the loop: the handling of each input in each state. The handlers are in the
//! other files of this folder, by concern; each is called in the states named here and does not
//! check the state itself.

use super::expectation::Expectation;
use super::{LinkControl, State};
use crate::error::ControlError;
use crate::io::{Action, Input, Readings};
use crate::time::Timestamp;
use State::{Holding, Observing, Reading, Trial, Writing};
use tidemark_rules::Limit;

impl LinkControl {
    /// Handles an input; returns the actions for the caller, in order.
    ///
    /// The inputs of a link are handled one after the other. An unexpected answer has no effect; a
    /// request during a write is refused.
    pub fn on(&mut self, input: Input, now: Timestamp) -> Vec<Action> {
        match (&self.state, input) {
            // Measurements, advice and settings, in every state. Other traffic or another clock
            // ends a trial, other traffic or other targets end a rest.
            (_, Input::Estimate(window)) => self.on_estimate(window, now),
            (_, Input::Advice { advice, measured }) => self.on_advice(*advice, *measured, now),
            (_, Input::Mode(mode)) => self.on_mode(mode),
            (_, Input::Targets(targets)) => self.on_targets(targets),
            (_, Input::ClockRestarted) => self.on_clock_restarted(now),

            // A second has passed, and perhaps a rest. Auto mode acts in `Observing`.
            (Observing | Holding(_), Input::Tick(readings)) => {
                self.second_passed(readings, now);
                self.then_follow(Vec::new(), now)
            }
            (Trial { .. }, Input::Tick(readings)) => {
                self.second_passed(readings, now);
                let watched = self.watch_trial(now);
                self.then_follow(watched, now)
            }
            (Reading { .. } | Writing { .. }, Input::Tick(readings)) => {
                self.second_passed(readings, now);
                Vec::new()
            }

            // An operator acts: next state `Reading`, unless refused.
            (
                Observing | Holding(_) | Trial { .. },
                Input::Set {
                    limit,
                    reason,
                    readings,
                },
            ) => self.on_set(limit, reason, readings),
            (
                Reading { .. } | Writing { .. },
                Input::Set {
                    limit, readings, ..
                },
            ) => self.on_set_meanwhile(limit, readings),
            (
                Observing | Holding(_) | Trial { .. },
                Input::Confirm {
                    seen_bytes,
                    readings,
                },
            ) => self.on_confirm(seen_bytes, readings, now),
            (Reading { .. } | Writing { .. }, Input::Confirm { readings, .. }) => {
                self.on_confirm_meanwhile(readings)
            }

            // The change under way. After the read: `Writing`. After the write: `Trial` if advice
            // was applied, `Holding` after a rollback, else the interrupted state.
            (Reading { .. }, Input::LimitRead(read)) => self.on_limit_read(read, now),
            (Writing { .. }, Input::Written { result, clock_ns }) => {
                self.on_written(result.map_err(ControlError::Switch), clock_ns, now)
            }
            (Writing { .. }, Input::NotRecorded(why)) => {
                self.on_written(Err(ControlError::NotRecorded(why)), None, now)
            }

            // The trial was measured: it ends; if the result is worse, next is `Reading` for the
            // rollback.
            (Trial { .. }, Input::Outcome(estimate)) => {
                let judged = self.on_outcome(&estimate, now);
                self.then_follow(judged, now)
            }

            // Reads of the switch: a limit of someone else ends a trial; `Writing` to restore ours.
            (Observing | Holding(_) | Trial { .. }, Input::Found(limit)) => {
                self.on_found(limit, now)
            }
            (Observing | Holding(_) | Trial { .. }, Input::StateLost { everything }) => {
                self.on_state_lost(everything, now)
            }
            (Reading { .. } | Writing { .. }, Input::StateLost { everything }) => {
                self.on_state_lost_meanwhile(everything)
            }

            // Unexpected answers, and reads that were overtaken by a write.
            (Observing | Holding(_) | Trial { .. } | Writing { .. }, Input::LimitRead(_))
            | (
                Observing | Holding(_) | Trial { .. } | Reading { .. },
                Input::Written { .. } | Input::NotRecorded(_),
            )
            | (Observing | Holding(_) | Reading { .. } | Writing { .. }, Input::Outcome(_))
            | (Reading { .. } | Writing { .. }, Input::Found(_)) => Vec::new(),
        }
    }

    /// Handles a limit found by a read of the switch while no change of ours is under way.
    pub(super) fn on_found(&mut self, found: Limit, now: Timestamp) -> Vec<Action> {
        match &self.expectation {
            Expectation::AsSet => self.compare(found, now),
            Expectation::Lost(lost) => {
                let lost = *lost;
                self.expectation = Expectation::AsSet;
                self.found_after_loss(lost, found, now)
            }
            Expectation::CutShort { .. } => self.resolve(found, now),
        }
    }

    /// Lets auto mode act if nothing is under way any more.
    fn then_follow(&mut self, mut actions: Vec<Action>, now: Timestamp) -> Vec<Action> {
        match &self.state {
            Observing => actions.extend(self.follow(now)),
            Holding(_) | Trial { .. } | Reading { .. } | Writing { .. } => {}
        }
        actions
    }

    /// Stores the readings. A rest whose time has passed ends: `Observing`, or a trial without a
    /// rest.
    fn second_passed(&mut self, readings: Readings, now: Timestamp) {
        self.memory.readings = readings;
        if self.state.hold().is_some_and(|h| now.reached(h.until)) {
            self.state.set_hold(None);
        }
    }
}
