// SPDX-License-Identifier: Apache-2.0
//! Limits written to a switch, whoever wants them.

use super::{Changed, ControlError, auto, known, limit_in_force, may_apply};
use crate::core::audit::{Change, Origin, Outcome, lock, unix_ms};
use crate::core::guard::{self, Refusal};
use crate::core::link::observed;
use crate::core::watching::{self, Watching};
use crate::core::{Core, Event};
use std::sync::Arc;
use std::time::Instant;
use tidemark_estimators::LinkId;
use tidemark_rules::Advice;
use tidemark_southbound::Limit;

/// Sets what an operator asks for. Only the range is checked: an operator may
/// know better than the telemetry.
///
/// # Errors
/// Out of range, no switch, or the switch's own.
pub async fn set_by_operator(
    core: &Core,
    link: LinkId,
    limit: Limit,
    reason: String,
) -> Result<Changed, ControlError> {
    if let Some(bytes) = limit.bytes() {
        let max = core.config.max_limit_bytes(link.node_id, link.port);
        guard::value(&core.config.control, max, bytes).map_err(ControlError::Bad)?;
    }
    let changed = write(core, link, limit, Origin::Operator, reason, None).await?;
    core.save();
    if let Some(state) = lock(&core.links).get_mut(&link) {
        // Judging an operator is not ours.
        state.watching = None;
        state.forget_rollback();
    }
    Ok(changed)
}

/// Applies the present advice. `expected_bytes`: what the operator saw; refused
/// when the advice has moved by more than 5 % since.
///
/// # Errors
/// A guard rail, or the switch's own.
pub async fn apply_advice(
    core: &Core,
    link: LinkId,
    expected_bytes: Option<u64>,
    origin: Origin,
) -> Result<Changed, ControlError> {
    let (advice, mut bytes) = may_apply(core, link).inspect_err(|e| {
        if origin == Origin::Confirmed {
            refused(core, link, origin, e);
        }
    })?;
    if let Some(seen) = expected_bytes {
        if seen.abs_diff(bytes) as f64 > 0.05 * seen as f64 {
            return Err(ControlError::Refused(Refusal {
                field: "bytes",
                message: format!("the advice is {bytes} bytes now, no longer {seen}"),
            }));
        }
    }
    let before = limit_in_force(core, link);
    if let Some(old) = before.and_then(|l| l.bytes()) {
        if origin == Origin::Auto {
            bytes = auto::step(core, link, old, bytes);
        } else if let Err(r) = guard::step(&core.config.control, old, bytes) {
            let e = ControlError::Refused(r);
            refused(core, link, origin, &e);
            return Err(e);
        }
    }
    let limit = before.unwrap_or(Limit::Unlimited).with_bytes(bytes);
    let estimate = known(core, link).estimate;
    let rule = advice.rule.as_deref().unwrap_or("none");
    let mut reason = format!("advice, rule {rule}: {}", advice.reasons.join("; "));
    if advice.limit_bytes.is_some_and(|advised| advised != bytes) {
        reason += &format!("; not further than {bytes} bytes in one step");
    }
    let before_measured = estimate.as_deref().and_then(observed);
    let advised = Some(Arc::clone(&advice));
    let mut changed = write(core, link, limit, origin, reason, advised).await?;
    let now_ns = core.with_feed(link, |f| f.now_ns(link)).unwrap_or(0);
    let control = &core.config.control;
    if let Some(measured_before) = before_measured.filter(|_| !control.dry_run) {
        let infeasible = advice.infeasible.as_ref();
        let mut watching = Watching::waiting(watching::Watched {
            before: changed.before,
            n_b: estimate.as_ref().map(|e| e.estimates.n_b),
            limit: changed.limit,
            measured_before,
            given_up: infeasible.map_or_else(Vec::new, |i| i.given_up.clone()),
            settles_unix_ms: watching::settles_unix_ms(control),
        });
        watching.observe_from(now_ns, control);
        if let Some(state) = lock(&core.links).get_mut(&link) {
            state.watching = Some(watching);
        }
    }
    core.save();
    changed.advice = Some(advice);
    Ok(changed)
}

fn refused(core: &Core, link: LinkId, origin: Origin, e: &ControlError) {
    let bytes = known(core, link).advice.and_then(|a| a.limit_bytes);
    let change = Change {
        unix_ms: unix_ms(),
        node: link.node_id,
        port: link.port,
        origin,
        outcome: Outcome::Refused,
        before: limit_in_force(core, link),
        limit: bytes.map(|limit_bytes| Limit::DropTail { limit_bytes }),
        reason: "advice".into(),
        error: Some(e.to_string()),
        expected: None,
        measured_before: None,
        measured_after: None,
    };
    core.emit(Event::Changed(Box::new(change.clone())));
    core.audit.record(change);
}

/// Writes, reads back, records.
pub(super) async fn write(
    core: &Core,
    link: LinkId,
    limit: Limit,
    origin: Origin,
    reason: String,
    advice: Option<Arc<Advice>>,
) -> Result<Changed, ControlError> {
    let Some(switch) = core.switches.get(&link.node_id) else {
        return Err(ControlError::NoSwitch(link.node_id));
    };
    let now_ns = core.with_feed(link, |f| f.now_ns(link)).unwrap_or(0);
    let _changing = core.changing.lock().await;
    let dry_run = core.config.control.dry_run;
    let read = switch.driver.read_limit(link.port).await;
    let before = read.as_ref().ok().copied();
    let result = match read {
        Err(e) if dry_run => {
            tracing::warn!("dry run: {e}");
            Ok(limit)
        }
        Err(e) => Err(e),
        Ok(_) if dry_run => Ok(limit),
        Ok(_) => switch.driver.set_limit(link.port, limit).await,
    };
    let outcome = match &result {
        Ok(_) if dry_run => Outcome::DryRun,
        Ok(_) => Outcome::Set,
        Err(_) => Outcome::Failed,
    };
    if let (Ok(found), false) = (&result, dry_run) {
        let mut state = lock(&switch.state);
        state.limits.insert(link.port, *found);
        state.ours.insert(link.port, limit);
    }
    let measured_before = known(core, link).estimate.as_deref().and_then(observed);
    let change = Change {
        unix_ms: unix_ms(),
        node: link.node_id,
        port: link.port,
        origin,
        outcome,
        before,
        limit: Some(limit),
        reason,
        error: result.as_ref().err().map(ToString::to_string),
        expected: advice.as_ref().and_then(|a| a.predicted),
        measured_before,
        measured_after: None,
    };
    core.metrics.change(outcome);
    core.emit(Event::Changed(Box::new(change.clone())));
    core.audit.record(change);
    let limit = result.map_err(ControlError::Switch)?;
    {
        let mut links = lock(&core.links);
        let state = links.entry(link).or_default();
        state.changed = Some(Instant::now());
        if !dry_run && before != Some(limit) {
            // What was measured under the old limit says nothing of this one.
            let settle_ns = (core.config.control.settle_s.max(0.0) * 1e9) as u64;
            state.conditions.changed(now_ns.saturating_add(settle_ns));
            state.steady.restart();
        }
    }
    Ok(Changed {
        before,
        limit,
        advice: None,
    })
}
