// SPDX-License-Identifier: Apache-2.0
//! What starts a write: an operator, or auto mode.

use super::state::{Baseline, Stage, State, Write};
use super::{LinkControl, LinkSettings};
use crate::contradiction::contradiction;
use crate::error::{ControlError, Refusal};
use crate::guard::{self, Evidence};
use crate::io::{Action, Readings};
use crate::record::{Origin, Outcome};
use crate::settings::Mode;
use crate::time::Timestamp;
use crate::{observed, report_loss};
use std::sync::Arc;
use tidemark_rules::{Advice, Limit, RuleId, worth_a_step};

/// Advice may move by this fraction between what an operator sees and confirms.
const SEEN_SLACK: f64 = 0.05;

impl LinkControl {
    /// Sets what an operator asks for. Only the range is checked: an operator may
    /// know better than the telemetry.
    pub(super) fn on_set(&mut self, limit: Limit, reason: String) -> Vec<Action> {
        if let Err(r) = self.settings.range.limit(&limit) {
            return vec![Action::Answer(Err(ControlError::Bad(r)))];
        }
        if !self.settings.has_switch {
            let node = self.settings.id.node_id;
            return vec![Action::Answer(Err(ControlError::NoSwitch(node)))];
        }
        if self.state.is_writing() {
            return busy();
        }
        self.start(self.write(limit, Origin::Operator, reason))
    }

    /// Applies the advice that an operator confirms.
    pub(super) fn on_confirm(&mut self, seen_bytes: Option<u64>, now: Timestamp) -> Vec<Action> {
        if self.state.is_writing() {
            return busy();
        }
        let (advice, bytes) = match may_apply(self, &self.readings, now) {
            Ok(a) => a,
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
        if let (Ok(()), Some(in_force)) = (&allowed, &self.readings.in_force) {
            allowed = guard::limit_step(control, range, in_force, &wanted);
        }
        if let Err(r) = allowed {
            return self.refused(ControlError::Refused(r), now);
        }
        self.apply(advice, wanted, Origin::Confirmed)
    }

    /// Auto mode: applies steady advice that is worth leaving the limit in force
    /// for. A limit on trial is left alone, and so is a link during a rest.
    pub(super) fn follow(&mut self, now: Timestamp) -> Vec<Action> {
        let settings = &self.settings.control;
        let idle = matches!(self.state, State::Observing);
        if self.mode != Mode::Auto || !idle || !self.hysteresis.is_steady(settings) {
            return Vec::new();
        }
        let Some(shown) = &self.advice else {
            return Vec::new();
        };
        let Some(advised) = shown.limit_bytes else {
            return Vec::new();
        };
        let mut bytes = advised;
        if let Some(in_force) = self.readings.in_force.and_then(|l| l.bytes()) {
            bytes = self.bounded_step(in_force, advised, now);
            let worth = self.leads_back(in_force, advised) || self.is_worth(shown, bytes);
            if !self.hysteresis.is_clear_of(in_force) || !worth {
                return Vec::new();
            }
        }
        let wanted = self.within_step(self.wanted(shown, bytes));
        // The range comes last, after whatever cut the step.
        let Some(wanted) = self.settings.range.nearest_limit(&wanted) else {
            return Vec::new();
        };
        // Advice beyond the range asks for its end, once.
        if self.readings.in_force == Some(wanted) {
            return Vec::new();
        }
        match trusted(self, &self.readings, now) {
            Ok((advice, _)) => self.apply(advice, wanted, Origin::Auto),
            Err(_) => Vec::new(),
        }
    }

    /// The limit that advice of so many bytes is at this port: the action in
    /// force, and where it marks below a limit, the advised room above the
    /// threshold. Where the largest limit leaves less room, the threshold gives
    /// way, but for no more than half of it. A port that marks without a limit
    /// stays without: somebody chose that, or the program knows nothing else.
    fn wanted(&self, advice: &Advice, bytes: u64) -> Limit {
        let before = self.readings.in_force.unwrap_or(Limit::Unlimited);
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

    /// The same with the limit above a threshold not further from the one in
    /// force than one step of auto mode. (The threshold is already bounded, and by
    /// the same factors, so that it stays below.)
    fn within_step(&self, wanted: Limit) -> Limit {
        let in_force = self.readings.in_force;
        let before = in_force.and_then(|l| l.refuses_at_bytes());
        let (Limit::MarkCe { .. }, Some(before), Some(to), Some(threshold)) =
            (wanted, before, wanted.refuses_at_bytes(), wanted.bytes())
        else {
            return wanted;
        };
        let bounded = self.one_step(before, to);
        wanted.with_bytes(threshold.min(bounded.saturating_sub(1)), Some(bounded))
    }

    /// Whether `bytes` is worth leaving the limit in force for. Every change can
    /// turn out wrong, and costs utilisation or loss until it is taken back.
    fn is_worth(&self, shown: &Advice, bytes: u64) -> bool {
        worth_a_step(shown, bytes, &self.targets, self.settings.control.deadband).worth
    }

    /// Whether the limit in force is outside of the range, and the advice wants it
    /// back: its nearest end is gone to however near it is. To stay because that
    /// wins little would be to stay for good, as no step leads further.
    fn leads_back(&self, in_force: u64, advised: u64) -> bool {
        let range = &self.settings.range;
        let end = range.nearest(in_force);
        range.value(in_force).is_err() && (end < in_force) == (advised < in_force)
    }

    /// How far one change of auto mode goes from the limit in force towards the
    /// advice, bytes.
    fn bounded_step(&self, in_force: u64, advised: u64, now: Timestamp) -> u64 {
        let bounded = match &self.failed {
            Some(failed) => failed.bounded(in_force, advised, now),
            None => advised,
        };
        self.one_step(in_force, bounded)
    }

    /// The value nearest to `to` that one change of auto mode may go to, bytes.
    /// From outside of the range that is its nearest end, however far it is.
    fn one_step(&self, from: u64, to: u64) -> u64 {
        let LinkSettings { control, range, .. } = &self.settings;
        if range.value(from).is_err() {
            return range.nearest(from);
        }
        let least = (from as f64 / control.max_decrease_factor).ceil() as u64;
        range.nearest(guard::clamp_step(control, from, to.max(least)))
    }

    fn apply(&mut self, advice: Arc<Advice>, limit: Limit, origin: Origin) -> Vec<Action> {
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
        let found = self.readings.in_force.filter(|_| origin == Origin::Auto);
        if let Some(found) = found.filter(|l| self.settings.range.limit(l).is_err()) {
            reason += &format!("; {found} is outside of the range, and this is its nearest end");
        }
        let mut write = self.write(limit, origin, reason);
        let infeasible = advice.infeasible.as_ref();
        let given_up = infeasible.map_or_else(Vec::new, |i| i.given_up.clone());
        write.baseline = self.estimate.as_deref().and_then(|e| {
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
            clock_ns: self.readings.telemetry.map_or(0, |t| t.clock_ns),
            stage: Stage::Reading,
            limit_taken_back: None,
        }
    }

    pub(super) fn start(&mut self, write: Write) -> Vec<Action> {
        self.state.start_write(write);
        vec![Action::Read]
    }

    fn refused(&self, e: ControlError, now: Timestamp) -> Vec<Action> {
        let mut change = self.record(Origin::Confirmed, Outcome::Refused, "advice".into(), now);
        change.before = self.readings.in_force;
        let advice = self.advice.as_ref();
        let advised = advice.and_then(|a| Some(self.wanted(a, a.limit_bytes?)));
        change.limit = advised;
        change.error = Some(e.to_string());
        vec![Action::Record(Box::new(change)), Action::Answer(Err(e))]
    }
}

/// The advice, if it may be applied as it is.
///
/// # Errors
/// As [`trusted`], and advice outside of the range.
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

/// The advice, if the mode and its evidence let it be followed, wherever the range
/// ends.
///
/// # Errors
/// The mode, no switch, no advice, or what [`guard::evidence`] refuses.
fn trusted(
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
    if !link.settings.has_switch {
        return Err(ControlError::NoSwitch(link.settings.id.node_id));
    }
    let advised = link
        .advice
        .as_ref()
        .and_then(|a| Some((Arc::clone(a), a.limit_bytes?)));
    let Some((advice, bytes)) = advised else {
        return Err(refused("advice", "there is no advice for this link yet"));
    };
    let reports = link.estimate.as_ref().map_or(0, |e| e.arrivals);
    let in_force = readings.in_force.and_then(|l| l.bytes());
    let contradiction = link.estimate.as_deref().and_then(contradiction);
    let evidence = Evidence {
        arrivals: reports,
        loss_events: link.estimate.as_ref().map_or(0, |e| e.loss_events),
        raises: in_force.is_some_and(|b| bytes > b),
        settled: link.pure && !link.other_traffic,
        contradiction,
        age_s: readings.telemetry.and_then(|t| t.age_s),
        report_loss: link.estimate.as_deref().map_or(0.0, report_loss),
        since_change_s: link.changed.map(|at| now.since_s(at)),
    };
    let settings = &link.settings.control;
    guard::evidence(settings, &evidence).map_err(ControlError::Refused)?;
    Ok((advice, bytes))
}

fn busy() -> Vec<Action> {
    let message = "another change of this limit is under way; try again";
    let e = ControlError::Refused(Refusal::new("limit", message));
    vec![Action::Answer(Err(e))]
}
