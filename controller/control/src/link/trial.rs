// SPDX-License-Identifier: Apache-2.0
//! End of a trial: kept, rolled back, or unclear. Every trial ends in exactly one verdict.

use super::LinkControl;
use crate::contradiction::contradiction;
use crate::io::Action;
use crate::judge;
use crate::record::{Change, Origin, Outcome};
use crate::stationarity::differs;
use crate::time::Timestamp;
use crate::trial::{Trial, TrialChange};
use crate::{observed, report_loss, unrecorded};
use tidemark_estimators::LinkEstimate;
use tidemark_rules::{Limit, Observed};

impl LinkControl {
    /// Requests the measurement of a trial whose time has passed and whose telemetry has arrived;
    /// abandons the trial if the telemetry does not arrive.
    pub(super) fn watch_trial(&mut self, now: Timestamp) -> Vec<Action> {
        let (telemetry, settings) = (
            self.memory.readings.telemetry,
            self.settings.control.clone(),
        );
        let Some(trial) = self.state.trial_mut() else {
            return Vec::new();
        };
        let deadline = trial.deadline;
        match (telemetry, trial.span_ns) {
            // Missing reports are only detected by the next report.
            (Some(t), Some((from_ns, to_ns)))
                if t.complete_ns >= to_ns && t.newest_ns() >= Some(to_ns) =>
            {
                return vec![Action::Measure { from_ns, to_ns }];
            }
            // The first telemetry after a restart during a trial.
            (Some(t), None) => trial.observe_from(t.clock_ns, &settings, now),
            _ => {}
        }
        if now.monotonic_ns > deadline.monotonic_ns {
            return self.abandon_trial("its telemetry did not arrive in time", now);
        }
        Vec::new()
    }

    pub(super) fn on_outcome(&mut self, estimate: &LinkEstimate, now: Timestamp) -> Vec<Action> {
        // Its time has not begun: the answer belongs to an earlier run.
        let span_ns = self.state.trial().and_then(|t| t.span_ns);
        match span_ns {
            Some(_) => self.judge(estimate, now),
            None => Vec::new(),
        }
    }

    /// Returns the measurement of a trial, or why it is not valid for the limit.
    fn outcome_of(&self, estimate: &LinkEstimate) -> Result<Observed, String> {
        let n_b = estimate.estimates.n_b;
        let before = self.state.trial().and_then(|t| t.change.n_b);
        if let Some(before) = before.filter(|b| differs(b, &n_b)) {
            return Err(format!(
                "the traffic changed meanwhile: N_b was {:.0} and is {:.0}",
                before.value, n_b.value
            ));
        }
        let (lost, most) = (report_loss(estimate), self.settings.control.max_report_loss);
        if lost > most {
            return Err(format!(
                "{:.2} % of its reports were lost, more than control.max_report_loss, {:.2} %",
                lost * 100.0,
                most * 100.0
            ));
        }
        if unrecorded(estimate) > most {
            return Err(format!(
                "the collector sent no record for {:.2} s of it, more than \
                 control.max_report_loss, {:.2} %",
                estimate.unrecorded_s,
                most * 100.0
            ));
        }
        if let Some(why) = contradiction(estimate) {
            return Err(why);
        }
        if let Some(bytes) = self.other_limit(estimate) {
            return Err(format!(
                "its reports state a limit of {bytes} bytes: someone else wrote another limit"
            ));
        }
        observed(estimate).ok_or_else(|| "there was no traffic to measure".into())
    }

    fn judge(&mut self, estimate: &LinkEstimate, now: Timestamp) -> Vec<Action> {
        let after = match self.outcome_of(estimate) {
            Ok(after) => after,
            Err(why) => return self.abandon_trial(&why, now),
        };
        let Some(Trial { change: c, .. }) = self.state.end_trial() else {
            return Vec::new();
        };
        let before = &c.measured_before;
        let worse = judge::worse(&self.targets, &c.given_up, before, &after, judge::SLACK);
        let bad = judge::requires_rollback(&self.targets, &worse, before, &after);
        let worse: Vec<String> = worse.into_iter().map(|(_, why)| why).collect();
        let worse = worse.join("; ");
        let (outcome, reason) = match (bad, worse.is_empty()) {
            (true, _) => (Outcome::Worse, worse.clone()),
            (false, true) => (Outcome::Kept, "measured after the change".into()),
            (false, false) => {
                let but = "but a target that comes first is met now";
                (Outcome::Kept, format!("{worse}; {but}"))
            }
        };
        let mut change = self.concluded(&c, outcome, reason, now);
        change.measured_after = Some(after);
        // If someone else has set another limit meanwhile, that one stays.
        let back = c
            .before
            .filter(|_| bad && self.memory.readings.in_force == Some(c.limit));
        let nearest = back.and_then(|b| self.settings.range.nearest_limit(&b));
        let stays = nearest.is_none_or(|n| n == c.limit);
        if let Some(before) = back.filter(|_| stays) {
            let but = "is outside of the range, so this limit stays";
            change.reason += &format!("; the limit before, {before}, {but}");
        }
        let mut actions = vec![Action::Record(Box::new(change)), Action::Save];
        if let Some(before) = back {
            let to = nearest.filter(|_| !stays);
            actions.extend(self.roll_back(&c, before, to, &worse, now));
        }
        actions
    }

    /// Returns the limit at the end of the window, bytes, if the reports state another one than
    /// that on trial: the measurement then does not show the effect of the trial.
    fn other_limit(&self, estimate: &LinkEstimate) -> Option<u64> {
        let on_trial = self.state.trial()?.change.limit.bytes()?;
        let unit = u64::from(self.settings.range.unit_bytes.max(1));
        let stated = estimate.limit_bytes?;
        (stated.abs_diff(on_trial) >= unit).then_some(stated)
    }

    /// Rolls back from a failed limit to the previous one, or to its nearest value in the range; if
    /// there is none, auto mode rests all the same.
    fn roll_back(
        &mut self,
        c: &TrialChange,
        before: Limit,
        to: Option<Limit>,
        why: &str,
        now: Timestamp,
    ) -> Vec<Action> {
        let Some(to) = to.filter(|_| self.settings.writable().is_ok()) else {
            self.rest(Some(c.limit), now);
            return Vec::new();
        };
        let mut reason = format!("rolled back: {why}");
        if to != before {
            reason += &format!("; {before} is outside of the range, and this is its nearest end");
        }
        let mut write = self.write(to, Origin::Rollback, reason);
        write.rolled_back = Some(c.limit);
        self.start(write)
    }

    /// Ends the trial, if there is one, without a verdict; the limit stays.
    pub(super) fn abandon_trial(&mut self, why: &str, now: Timestamp) -> Vec<Action> {
        let Some(trial) = self.state.end_trial() else {
            return Vec::new();
        };
        let reason = format!("not judged: {why}");
        let change = self.concluded(&trial.change, Outcome::Unclear, reason, now);
        vec![Action::Record(Box::new(change))]
    }

    fn concluded(
        &self,
        c: &TrialChange,
        outcome: Outcome,
        reason: String,
        now: Timestamp,
    ) -> Change {
        let mut change = self.record(Origin::Trial, outcome, reason, now);
        change.before = c.before;
        change.limit = Some(c.limit);
        change.measured_before = Some(c.measured_before);
        change
    }
}
