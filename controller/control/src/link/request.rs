// SPDX-License-Identifier: Apache-2.0
//! Handles requests that start a write: an operator sets a limit or confirms advice; also checks
//! the conditions for applying advice, in auto mode as well.

use super::state::{Baseline, Write};
use super::{LinkControl, LinkSettings};
use crate::contradiction::contradiction;
use crate::error::{ControlError, Refusal};
use crate::guard::{self, Basis};
use crate::io::{Action, Readings};
use crate::record::{Origin, Outcome};
use crate::settings::Mode;
use crate::time::Timestamp;
use crate::{observed, report_loss, unrecorded};
use std::sync::Arc;
use tidemark_advice::Advice;
use tidemark_rules::{Limit, RuleId};

/// Largest relative change of the advice between what an operator saw and what is confirmed.
const SEEN_SLACK: f64 = 0.05;

impl LinkControl {
    /// Sets the limit that an operator requests. Only the range is checked: an operator may know
    /// better than the telemetry.
    pub(super) fn on_set(
        &mut self,
        limit: Limit,
        reason: String,
        readings: Readings,
    ) -> Vec<Action> {
        self.memory.readings = readings;
        match self.may_set(&limit) {
            Ok(()) => self.start(self.write(limit, Origin::Operator, reason)),
            Err(e) => vec![Action::Answer(Err(e))],
        }
    }

    /// Refuses a request to set a limit during a write, with the first reason that applies.
    pub(super) fn on_set_meanwhile(&mut self, limit: Limit, readings: Readings) -> Vec<Action> {
        self.memory.readings = readings;
        let e = self.may_set(&limit).err().unwrap_or_else(busy);
        vec![Action::Answer(Err(e))]
    }

    fn may_set(&self, limit: &Limit) -> Result<(), ControlError> {
        let range = &self.settings.range;
        range.limit(limit).map_err(ControlError::Bad)?;
        self.settings.writable()
    }

    /// Applies the advice that an operator confirms.
    pub(super) fn on_confirm(
        &mut self,
        seen_bytes: Option<u64>,
        readings: Readings,
        now: Timestamp,
    ) -> Vec<Action> {
        self.memory.readings = readings;
        let (advice, bytes) = match may_apply(self, &self.memory.readings, now) {
            Ok(a) => a,
            // Without a port there is no limit to record.
            Err(e @ ControlError::NoPort(_)) => return vec![Action::Answer(Err(e))],
            Err(e) => return self.refused(e, now),
        };
        if let Some(seen) = seen_bytes
            && seen.abs_diff(bytes) as f64 > SEEN_SLACK * seen as f64
        {
            let message = format!("the advice is {bytes} bytes now, no longer {seen}");
            let e = ControlError::Refused(Refusal::new("bytes", message));
            return vec![Action::Answer(Err(e))];
        }
        let wanted = self.wanted(&advice, bytes);
        let LinkSettings { control, range, .. } = &self.settings;
        let mut allowed = range.limit(&wanted);
        if let (Ok(()), Some(in_force)) = (&allowed, &self.memory.readings.in_force) {
            allowed = guard::limit_step(control, range, in_force, &wanted);
        }
        if let Err(r) = allowed {
            return self.refused(ControlError::Refused(r), now);
        }
        self.apply(advice, wanted, Origin::Confirmed)
    }

    /// Refuses a confirmation during a write.
    pub(super) fn on_confirm_meanwhile(&mut self, readings: Readings) -> Vec<Action> {
        self.memory.readings = readings;
        vec![Action::Answer(Err(busy()))]
    }

    /// Returns the limit that corresponds to advice of `bytes` at this port: the action in force
    /// and, if it marks below a limit, the advised room above the threshold. If the largest limit
    /// leaves less room, the threshold is lowered, by at most half of the limit. A port that marks
    /// without a limit stays without: somebody chose that, or the program supports nothing else.
    pub(super) fn wanted(&self, advice: &Advice, bytes: u64) -> Limit {
        let before = self.memory.readings.in_force.unwrap_or(Limit::Unlimited);
        let Limit::MarkCe {
            limit_bytes: Some(_),
            ..
        } = before
        else {
            return before.with_bytes(bytes, None);
        };
        let headroom = advice.marking.as_ref().map_or(bytes, |m| m.headroom_bytes);
        let headroom = headroom.max(1);
        let limit = bytes.saturating_add(headroom);
        let limit = limit.min(self.settings.range.max_bytes);
        let threshold = bytes.min(limit - headroom.min(limit / 2));
        before.with_bytes(threshold, Some(limit))
    }

    pub(super) fn apply(
        &mut self,
        advice: Arc<Advice>,
        limit: Limit,
        origin: Origin,
    ) -> Vec<Action> {
        let rule = advice.rule.as_ref().map_or("none", RuleId::as_str);
        let mut reason = format!("advice, rule {rule}: {}", advice.reasons.join("; "));
        let marks = matches!(limit, Limit::MarkCe { .. }) && limit.refuses_at_bytes().is_some();
        if let Some(marking) = advice.marking.as_ref().filter(|_| marks) {
            reason += &format!("; {}", marking.reason);
        }
        if let Some(bytes) = limit
            .bytes()
            .filter(|_| advice.limit_bytes != limit.bytes())
        {
            reason += &format!("; not further than {bytes} bytes in one step");
        }
        let found = self
            .memory
            .readings
            .in_force
            .filter(|_| origin == Origin::Auto);
        if let Some(found) = found.filter(|l| self.settings.range.limit(l).is_err()) {
            reason += &format!("; {found} is outside of the range, and this is its nearest end");
        }
        let mut write = self.write(limit, origin, reason);
        let infeasible = advice.infeasible.as_ref();
        let given_up = infeasible.map_or_else(Vec::new, |i| i.given_up.clone());
        write.baseline = self.memory.estimate.as_deref().and_then(|e| {
            Some(Baseline {
                measured: observed(e)?,
                n_b: e.estimates.n_b,
                given_up,
            })
        });
        write.advice = Some(advice);
        self.start(write)
    }

    pub(super) fn write(&self, limit: Limit, origin: Origin, reason: String) -> Write {
        Write {
            limit,
            origin,
            reason,
            advice: None,
            baseline: None,
            clock_ns: self.memory.readings.telemetry.map_or(0, |t| t.clock_ns),
            rolled_back: None,
        }
    }

    pub(super) fn start(&mut self, write: Write) -> Vec<Action> {
        self.state.start_reading(write);
        vec![Action::Read]
    }

    fn refused(&self, e: ControlError, now: Timestamp) -> Vec<Action> {
        let mut change = self.record(Origin::Confirmed, Outcome::Refused, "advice".into(), now);
        change.before = self.memory.readings.in_force;
        let advice = self.memory.advice.as_ref();
        let advised = advice.and_then(|a| Some(self.wanted(a, a.limit_bytes?)));
        change.limit = advised;
        change.error = Some(e.to_string());
        vec![Action::Record(Box::new(change)), Action::Answer(Err(e))]
    }
}

/// Returns the advice if it may be applied unchanged.
///
/// # Errors
/// As for [`trusted`], or advice outside the range.
pub(super) fn may_apply(
    link: &LinkControl,
    readings: &Readings,
    now: Timestamp,
) -> Result<(Arc<Advice>, u64), ControlError> {
    let (advice, bytes) = trusted(link, readings, now)?;
    let range = &link.settings.range;
    range.value(bytes).map_err(ControlError::Refused)?;
    Ok((advice, bytes))
}

/// Returns the advice if the mode and its evidence allow applying it, regardless of the range.
///
/// # Errors
/// The mode, a missing switch, missing advice, or a refusal of [`guard::basis`].
pub(super) fn trusted(
    link: &LinkControl,
    readings: &Readings,
    now: Timestamp,
) -> Result<(Arc<Advice>, u64), ControlError> {
    let refused = |field, message: &str| ControlError::Refused(Refusal::new(field, message));
    if link.mode == Mode::Recommend {
        return Err(refused(
            "mode",
            "the mode is \"recommend\": advice is shown, not applied; set it to \"confirm\" (POST /mode), or set the limit yourself",
        ));
    }
    link.settings.writable()?;
    let advised = link
        .memory
        .advice
        .as_ref()
        .and_then(|a| Some((Arc::clone(a), a.limit_bytes?)));
    let Some((advice, bytes)) = advised else {
        return Err(refused("advice", "there is no advice for this link yet"));
    };
    let reports = link.memory.estimate.as_ref().map_or(0, |e| e.arrivals);
    let in_force = readings.in_force.and_then(|l| l.bytes());
    let contradiction = link.memory.estimate.as_deref().and_then(contradiction);
    let basis = Basis {
        arrivals: reports,
        loss_events: link.memory.estimate.as_ref().map_or(0, |e| e.loss_events),
        raises: in_force.is_some_and(|b| bytes > b),
        settled: link.memory.pure && !link.memory.other_traffic,
        contradiction,
        age_s: readings.telemetry.and_then(|t| t.age_s),
        report_loss: link.memory.estimate.as_deref().map_or(0.0, report_loss),
        unrecorded: link.memory.estimate.as_deref().map_or(0.0, unrecorded),
        since_change_s: link.memory.changed.map(|at| now.since_s(at)),
    };
    let settings = &link.settings.control;
    guard::basis(settings, &basis).map_err(ControlError::Refused)?;
    Ok((advice, bytes))
}

fn busy() -> ControlError {
    let message = "another change of this limit is under way; try again";
    ControlError::Refused(Refusal::new("limit", message))
}
