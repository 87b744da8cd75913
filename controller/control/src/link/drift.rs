// SPDX-License-Identifier: Apache-2.0
//! Handles a limit read from the switch: the expected one, another one, or the outcome of a write
//! that was interrupted by the end of an earlier run of the controller.

use super::LinkControl;
use super::expectation::Expectation;
use super::memory::Drift;
use crate::io::Action;
use crate::record::{Change, Origin, Outcome};
use crate::settings::OnDrift;
use crate::time::Timestamp;
use tidemark_rules::Limit;

/// Writes of a link's limit in the audit log of an earlier run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedWrites {
    /// The last write that the switch accepted.
    pub last_set: Option<Change>,
    /// A later write without an outcome.
    pub cut_short: Option<Change>,
}

/// Resolution of the times in the state file.
const STATE_FILE_MS: u64 = 1_000;

impl LinkControl {
    /// Applies the audit log of an earlier run, after [`restore`](Self::restore). The log is
    /// written before the state file: if it is newer, it takes precedence. The next read of the
    /// switch resolves a write without an outcome.
    pub fn resume(&mut self, logged: LoggedWrites, now: Timestamp) {
        let saved_ms = self.memory.changed.map_or(0, |at| at.unix_ms);
        if let Some(last) = logged.last_set
            && last.unix_ms.saturating_add(STATE_FILE_MS) >= saved_ms
            && self.memory.set.is_none_or(|set| Some(set) != last.limit)
        {
            self.memory.set = last.limit;
            self.memory.changed = Some(now.at_unix_ms(last.unix_ms.min(now.unix_ms), 0.0));
        }
        if let Some(intent) = logged.cut_short {
            self.expectation = Expectation::CutShort {
                intent: Box::new(intent),
                lost: self.expectation.lost(),
            };
        }
    }

    /// Compares the limit found with the expected one.
    pub(super) fn compare(&mut self, found: Limit, now: Timestamp) -> Vec<Action> {
        let unit = self.settings.range.unit_bytes;
        let ours = self.memory.set.map(|l| l.rounded(unit));
        let expected = ours.or(self.memory.seen).unwrap_or(found);
        self.memory.seen = Some(found);
        if self.memory.drift.is_some_and(|d| d.expected == found) {
            self.memory.drift = None;
        }
        if expected == found {
            return Vec::new();
        }
        self.drifted(expected, found, now)
    }

    fn drifted(&mut self, expected: Limit, found: Limit, now: Timestamp) -> Vec<Action> {
        let control = &self.settings.control;
        let answer = match self.memory.set {
            Some(_) => control.on_drift,
            None => OnDrift::Keep,
        };
        let soon = self
            .memory
            .changed
            .is_some_and(|at| now.since_s(at) < control.min_change_interval_s);
        let same = self.memory.drift.is_some_and(|d| d.found == found);
        if answer == OnDrift::Restore
            && self.memory.drift.is_some()
            && (soon || control.dry_run && same)
        {
            return Vec::new();
        }
        self.memory.drift = Some(Drift {
            expected,
            found,
            at: now,
            answer,
        });
        let told = match answer {
            OnDrift::Keep => "it stays, and takes the place of the one expected",
            OnDrift::Restore => "the one expected is written again",
        };
        let reason = format!("someone else wrote the limit; {told} (control.on_drift)");
        let mut change = self.record(Origin::External, Outcome::Found, reason, now);
        change.before = Some(expected);
        change.limit = Some(found);
        let mut actions = self.abandon_trial("someone else wrote another limit", now);
        actions.push(Action::Record(Box::new(change)));
        self.memory.agreement.restart();
        match (answer, self.memory.set) {
            (OnDrift::Restore, Some(ours)) => {
                self.memory.changed = Some(now);
                let why = "someone else had written another limit";
                actions.extend(self.restore_limit(ours, Some(found), why, now));
            }
            (_, set) => {
                self.memory.set = set.map(|_| found);
                actions.push(Action::Save);
            }
        }
        actions
    }

    /// Records the outcome of an interrupted write from what the switch holds; does nothing if
    /// there is none.
    pub(super) fn resolve(&mut self, found: Limit, now: Timestamp) -> Vec<Action> {
        let Expectation::CutShort { intent, lost } = &mut self.expectation else {
            return Vec::new();
        };
        let (mut change, lost) = (intent.as_ref().clone(), *lost);
        self.expectation = lost.map_or(Expectation::AsSet, Expectation::Lost);
        let wanted = change.limit;
        let unit = self.settings.range.unit_bytes;
        change.unix_ms = now.unix_ms;
        change.reason += "; the controller ended during this write, and read its outcome later";
        self.memory.seen = Some(found);
        if wanted.map(|l| l.rounded(unit)) == Some(found) {
            change.outcome = Outcome::Set;
            self.memory.set = wanted;
            self.memory.changed = Some(now);
        } else {
            change.outcome = Outcome::Failed;
            change.error = Some(format!("the switch holds {found}"));
        }
        vec![Action::Record(Box::new(change)), Action::Save]
    }
}
