// SPDX-License-Identifier: Apache-2.0
//! A write: reads the limit before, writes the new one and reads it back. Every write ends in
//! exactly one record.

use super::LinkControl;
use super::state::{Hold, HoldReason, Write};
use crate::error::ControlError;
use crate::failed_limit::FailedLimit;
use crate::io::{Action, Changed};
use crate::observed;
use crate::record::{Origin, Outcome};
use crate::settings::OnDrift;
use crate::time::{Timestamp, nanoseconds};
use crate::trial::Trial;
use tidemark_rules::Limit;

/// Ratio of the memory of a failed limit to the rest of auto mode.
const MEMORY_OVER_HOLD: f64 = 10.0;

impl LinkControl {
    pub(super) fn on_limit_read(
        &mut self,
        read: Result<Limit, String>,
        now: Timestamp,
    ) -> Vec<Action> {
        let Some((write, _)) = self.state.end_write() else {
            return Vec::new();
        };
        let before = read.as_ref().ok().copied();
        // The limit found shows the outcome of an interrupted write; no later read would.
        let mut actions = before.map_or_else(Vec::new, |found| self.resolve(found, now));
        actions.extend(self.limit_read(write, read, before, now));
        actions
    }

    fn limit_read(
        &mut self,
        write: Write,
        read: Result<Limit, String>,
        before: Option<Limit>,
        now: Timestamp,
    ) -> Vec<Action> {
        if write.origin == Origin::Restore && before != Some(Limit::Unlimited) {
            // The switch still has a limit, or did not answer.
            if before.is_some() {
                self.expectation.set_lost(None);
            }
            return Vec::new();
        }
        if let (Origin::Rollback, Some(found)) = (write.origin, before)
            && self.settings.control.on_drift == OnDrift::Keep
            && write.rolled_back.is_some_and(|l| l != found)
        {
            // There is nothing to roll back: someone else wrote a limit meanwhile.
            self.rest(write.rolled_back, now);
            return self.on_found(found, now);
        }
        match read {
            Err(e) if !self.settings.control.dry_run => {
                self.finish(write, None, Err(ControlError::Switch(e)), None, now)
            }
            _ => self.order(write, before, now),
        }
    }

    /// Starts the write. The last guard rail is here, for every origin: no value outside the range.
    pub(super) fn order(
        &mut self,
        write: Write,
        before: Option<Limit>,
        now: Timestamp,
    ) -> Vec<Action> {
        let limit = write.limit;
        if let Err(refusal) = self.settings.range.limit(&limit) {
            return self.finish(write, before, Err(ControlError::Bad(refusal)), None, now);
        }
        if self.settings.control.dry_run {
            return self.finish(write, before, Ok(limit), None, now);
        }
        let (origin, reason) = (write.origin, write.reason.clone());
        let expected = write.advice.as_ref().and_then(|a| a.predicted);
        let mut intent = self.record(origin, Outcome::Intended, reason, now);
        (intent.before, intent.limit, intent.expected) = (before, Some(limit), expected);
        let intent = Box::new(intent);
        self.state.start_writing(write, before);
        vec![Action::Write { limit, intent }]
    }

    /// Handles the end of a write.
    pub(super) fn on_written(
        &mut self,
        result: Result<Limit, ControlError>,
        clock_ns: Option<u64>,
        now: Timestamp,
    ) -> Vec<Action> {
        match self.state.end_write() {
            Some((write, before)) => self.finish(write, before, result, clock_ns, now),
            None => Vec::new(),
        }
    }

    /// Returns the actions after a write has ended; the state is the interrupted one.
    fn finish(
        &mut self,
        write: Write,
        before: Option<Limit>,
        result: Result<Limit, ControlError>,
        clock_ns: Option<u64>,
        now: Timestamp,
    ) -> Vec<Action> {
        self.write_ended(result.is_ok());
        let dry_run = self.settings.control.dry_run;
        let outcome = match &result {
            Ok(_) if dry_run => Outcome::DryRun,
            Ok(_) => Outcome::Set,
            Err(_) => Outcome::Failed,
        };
        let mut change = self.record(write.origin, outcome, write.reason.clone(), now);
        change.limit = Some(write.limit);
        change.error = result.as_ref().err().map(ToString::to_string);
        if write.origin != Origin::Restore {
            change.before = before;
            change.expected = write.advice.as_ref().and_then(|a| a.predicted);
            let compared = write.baseline.as_ref().map(|b| b.measured);
            let latest = || self.memory.estimate.as_deref().and_then(observed);
            change.measured_before = compared.or_else(latest);
        }
        let mut actions = Vec::new();
        let asked = matches!(write.origin, Origin::Operator | Origin::Confirmed);
        let answer = match result {
            Ok(found) => {
                let advice = write.advice.clone();
                if write.origin == Origin::Restore {
                    // The range may have changed the limit.
                    if !dry_run {
                        self.memory.set = Some(self.as_held(write.limit, found));
                    }
                } else {
                    // The log has the end of a trial before the write that ended it.
                    actions = self.in_force(write, before, found, clock_ns, now);
                }
                Ok(Changed {
                    before,
                    limit: found,
                    advice,
                    dry_run,
                })
            }
            Err(e) => {
                self.failed(&write, now);
                Err(e)
            }
        };
        actions.push(Action::Record(Box::new(change)));
        actions.push(Action::Save);
        if asked {
            actions.push(Action::Answer(answer));
        }
        actions
    }

    /// Returns the written limit, or the limit found if it is not the written one in the switch's
    /// unit: a limit that floats with a pool has few possible values.
    fn as_held(&self, wanted: Limit, found: Limit) -> Limit {
        match wanted.rounded(self.settings.range.unit_bytes) == found {
            true => wanted,
            false => found,
        }
    }

    /// Handles a limit that is now in force (or would be, but for a dry run).
    fn in_force(
        &mut self,
        write: Write,
        before: Option<Limit>,
        found: Limit,
        clock_ns: Option<u64>,
        now: Timestamp,
    ) -> Vec<Action> {
        let settings = self.settings.control.clone();
        self.memory.changed = Some(now);
        if !settings.dry_run {
            self.memory.set = Some(self.as_held(write.limit, found));
            self.memory.drift = None;
            if before != Some(found) {
                // Measurements under the old limit do not apply to the new one.
                let settle_ns = nanoseconds(settings.settle_s);
                let since_ns = write.clock_ns.saturating_add(settle_ns);
                self.memory.stationarity.restart(since_ns);
                self.memory.agreement.restart();
            }
        }
        match write.origin {
            Origin::Operator => {
                self.forget_rollback();
                // Limits set by operators are not judged.
                self.abandon_trial("an operator set another limit", now)
            }
            Origin::Rollback => {
                self.rest(write.rolled_back, now);
                Vec::new()
            }
            _ => {
                let Some(baseline) = write.baseline.filter(|_| !settings.dry_run) else {
                    return Vec::new();
                };
                let ended = self.abandon_trial("other advice was applied", now);
                let settles_unix_ms = now.plus_s(settings.settle_s).unix_ms;
                let change = baseline.change(before, found, settles_unix_ms);
                let mut trial = Trial::waiting(change, now);
                trial.observe_from(clock_ns.unwrap_or(0), &settings, now);
                self.state.start_trial(trial);
                ended
            }
        }
    }

    fn failed(&mut self, write: &Write, now: Timestamp) {
        match write.origin {
            Origin::Auto => {
                let until = now.plus_s(self.settings.control.min_change_interval_s);
                let why = HoldReason::WriteFailed;
                self.state.set_hold(Some(Hold { until, why }));
            }
            Origin::Rollback => self.rest(write.rolled_back, now),
            _ => {}
        }
    }

    /// Starts the rest of auto mode after a rollback, whether or not the switch accepted it, and
    /// remembers the failed limit.
    pub(super) fn rest(&mut self, failed: Option<Limit>, now: Timestamp) {
        let hold_s = self.settings.control.rollback_hold_s;
        self.state.set_hold(Some(Hold {
            until: now.plus_s(hold_s),
            why: HoldReason::RolledBack,
        }));
        self.memory.failed = failed.and_then(|l| l.bytes()).map(|bytes| FailedLimit {
            bytes,
            until: now.plus_s(MEMORY_OVER_HOLD * hold_s),
        });
        self.memory.agreement.restart();
    }
}
