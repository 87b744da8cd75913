// SPDX-License-Identifier: Apache-2.0
//! Changes limits: guard rails first, then the switch, then the audit log.

use super::Core;
use super::audit::{Change, Origin, Outcome, lock, unix_ms};
use super::guard::{self, Evidence, Refusal};
use super::link::{Watching, observed};
use crate::config::Mode;
use serde_json::json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_rules::Advice;
use tidemark_southbound::{Error, Limit};

/// Why a limit was not changed.
#[derive(Debug)]
pub enum ControlError {
    /// The value makes no sense or is out of range.
    Bad(Refusal),
    /// Not now: mode or a guard rail.
    Refused(Refusal),
    /// No switch is configured for the node.
    NoSwitch(u32),
    /// The switch said no or cannot be reached.
    Switch(Error),
}

impl std::fmt::Display for ControlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ControlError::Bad(r) | ControlError::Refused(r) => f.write_str(&r.message),
            ControlError::NoSwitch(node) => write!(
                f,
                "no switch is configured for node {node}; add [[switches]] node = {node}"
            ),
            ControlError::Switch(e) => e.fmt(f),
        }
    }
}

/// A change that was made.
#[derive(Clone, Debug)]
pub struct Changed {
    pub before: Option<Limit>,
    /// As read back from the switch.
    pub limit: Limit,
    pub advice: Option<Arc<Advice>>,
}

/// What the last tick said of a link.
struct Known {
    estimate: Option<Arc<LinkEstimate>>,
    advice: Option<Arc<Advice>>,
    changed: Option<Instant>,
}

fn known(core: &Core, link: LinkId) -> Known {
    let links = lock(&core.links);
    let state = links.get(&link);
    Known {
        estimate: state.and_then(|s| s.estimate.clone()),
        advice: state.and_then(|s| s.advice.clone()),
        changed: state.and_then(|s| s.changed),
    }
}

/// Limit in force: as read from the switch, else as its reports say.
pub fn limit_in_force(core: &Core, link: LinkId) -> Option<Limit> {
    let switch = core.switches.get(&link.node_id);
    let read = switch.and_then(|s| lock(&s.state).limits.get(&link.port).copied());
    read.or_else(|| {
        let reported = core.with_feed(link, |f| f.series.get(&link).map(|s| s.limit_bytes));
        match reported.flatten() {
            Some(limit_bytes) if limit_bytes > 0 => Some(Limit::DropTail { limit_bytes }),
            _ => None,
        }
    })
}

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
    if let Some(state) = lock(&core.links).get_mut(&link) {
        // Judging an operator is not ours.
        state.watching = None;
        state.auto.agreeing.clear();
    }
    Ok(changed)
}

/// Whether the present advice of a link could be applied now.
///
/// # Errors
/// The guard rail that says no.
pub fn may_apply(core: &Core, link: LinkId) -> Result<u64, ControlError> {
    let refused = |field, message: &str| {
        ControlError::Refused(Refusal {
            field,
            message: message.into(),
        })
    };
    if core.config.control.mode == Mode::Recommend {
        return Err(refused(
            "mode",
            "control.mode is \"recommend\": advice is shown, not applied; start with mode \"confirm\", or set the limit yourself",
        ));
    }
    if !core.switches.contains_key(&link.node_id) {
        return Err(ControlError::NoSwitch(link.node_id));
    }
    let known = known(core, link);
    let Some(bytes) = known.advice.and_then(|a| a.limit_bytes) else {
        return Err(refused("advice", "there is no advice for this link yet"));
    };
    let control = &core.config.control;
    let reports = known.estimate.as_ref().map_or(0, |e| e.arrivals);
    let lost = known.estimate.as_ref().map_or(0, |e| e.reports_lost);
    let evidence = Evidence {
        age_s: core.with_feed(link, |f| f.age_s(Instant::now())).flatten(),
        report_loss: lost as f64 / (reports + lost).max(1) as f64,
        since_change_s: known.changed.map(|t| t.elapsed().as_secs_f64()),
    };
    guard::evidence(control, &evidence).map_err(ControlError::Refused)?;
    let max = core.config.max_limit_bytes(link.node_id, link.port);
    guard::value(control, max, bytes).map_err(ControlError::Refused)?;
    Ok(bytes)
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
    let mut bytes = may_apply(core, link).inspect_err(|e| {
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
            bytes = guard::clamp_step(&core.config.control, old, bytes);
        } else if let Err(r) = guard::step(&core.config.control, old, bytes) {
            let e = ControlError::Refused(r);
            refused(core, link, origin, &e);
            return Err(e);
        }
    }
    let limit = before.unwrap_or(Limit::Unlimited).with_bytes(bytes);
    let known = known(core, link);
    let advice = known.advice;
    let reason = advice.as_ref().map_or_else(String::new, |a| {
        let rule = a.rule.as_deref().unwrap_or("none");
        format!("advice, rule {rule}: {}", a.reasons.join("; "))
    });
    let before_measured = known.estimate.as_deref().and_then(observed);
    let now_ns = core.with_feed(link, |f| f.complete_ns(link)).unwrap_or(0);
    let mut changed = write(core, link, limit, origin, reason, advice.clone()).await?;
    if let Some(measured_before) = before_measured {
        let c = &core.config.control;
        let ns = |s: f64| (s.max(0.0) * 1e9) as u64;
        let from_ns = now_ns + ns(c.settle_s);
        let infeasible = advice.as_ref().and_then(|a| a.infeasible.as_ref());
        let watching = Watching {
            before: changed.before,
            limit: changed.limit,
            measured_before,
            given_up: infeasible.map_or_else(Vec::new, |i| i.given_up.clone()),
            from_ns,
            to_ns: from_ns + ns(c.observe_s),
            deadline: Instant::now() + Duration::from_secs_f64(c.settle_s + c.observe_s + 15.0),
        };
        if let Some(state) = lock(&core.links).get_mut(&link) {
            state.watching = Some(watching);
        }
    }
    changed.advice = advice;
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
    core.emit("change", json!(change));
    core.audit.record(change);
}

/// Writes, reads back, records.
pub async fn write(
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
    let _changing = core.changing.lock().await;
    let dry_run = core.config.control.dry_run;
    let before = match switch.driver.read_limit(link.port).await {
        Ok(l) => Some(l),
        Err(e) if dry_run => {
            tracing::warn!("dry run: {e}");
            None
        }
        Err(e) => return Err(ControlError::Switch(e)),
    };
    let result = if dry_run {
        Ok(limit)
    } else {
        switch.driver.set_limit(link.port, limit).await
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
    core.emit("change", json!(change));
    core.audit.record(change);
    let limit = result.map_err(ControlError::Switch)?;
    lock(&core.links).entry(link).or_default().changed = Some(Instant::now());
    Ok(Changed {
        before,
        limit,
        advice: None,
    })
}

/// Judges the watched changes whose time of observation has passed; rolls back
/// those that made things worse than their bound and than before.
pub async fn judge(core: &Core) {
    let watched: Vec<(LinkId, Watching)> = lock(&core.links)
        .iter()
        .filter_map(|(id, s)| Some((*id, s.watching.clone()?)))
        .collect();
    for (link, w) in watched {
        let measured = core.with_feed(link, |f| {
            let arrived = f.complete_ns(link) >= w.to_ns;
            arrived.then(|| observed(&f.estimate(link, w.from_ns, w.to_ns)))
        });
        let Some(Some(after)) = measured else {
            if Instant::now() > w.deadline {
                stop_watching(core, link);
            }
            continue;
        };
        stop_watching(core, link);
        let Some(after) = after else {
            continue;
        };
        let targets = core.targets_of(link);
        let worse = guard::worse(&targets, &w.given_up, &w.measured_before, &after, 0.1);
        let bad = !worse.is_empty();
        let change = Change {
            unix_ms: unix_ms(),
            node: link.node_id,
            port: link.port,
            origin: Origin::Rollback,
            outcome: if bad { Outcome::Worse } else { Outcome::Kept },
            before: w.before,
            limit: Some(w.limit),
            reason: if bad {
                worse.join("; ")
            } else {
                "measured after the change".into()
            },
            error: None,
            expected: None,
            measured_before: Some(w.measured_before),
            measured_after: Some(after),
        };
        core.metrics.change(change.outcome);
        core.emit("change", json!(change));
        core.audit.record(change);
        // Somebody else may have set another limit meanwhile: leave that.
        if bad && limit_in_force(core, link) == Some(w.limit) {
            roll_back(core, link, &w, &worse.join("; ")).await;
        }
    }
}

fn stop_watching(core: &Core, link: LinkId) {
    if let Some(state) = lock(&core.links).get_mut(&link) {
        state.watching = None;
    }
}

async fn roll_back(core: &Core, link: LinkId, w: &Watching, why: &str) {
    let Some(before) = w.before else {
        return;
    };
    let reason = format!("rolled back: {why}");
    // A failure is in the audit log already.
    let _ = write(core, link, before, Origin::Rollback, reason, None).await;
    if let Some(state) = lock(&core.links).get_mut(&link) {
        let hold = Duration::from_secs_f64(core.config.control.rollback_hold_s);
        state.auto.hold_until = Some(Instant::now() + hold);
        state.auto.agreeing.clear();
    }
}

/// Auto mode: applies advice that has been alike for some ticks and differs
/// from the limit in force by more than the deadband.
pub async fn follow(core: &Core) {
    if core.config.control.mode != Mode::Auto {
        return;
    }
    let c = &core.config.control;
    let ready: Vec<LinkId> = {
        let mut links = lock(&core.links);
        links
            .iter_mut()
            .filter_map(|(id, s)| {
                let held = s.hold_until_now();
                let advised = s.advice.as_ref().and_then(|a| a.limit_bytes);
                let Some(advised) = advised.filter(|_| !held) else {
                    s.auto.agreeing.clear();
                    return None;
                };
                agree(&mut s.auto.agreeing, advised, c.deadband);
                let stable = s.auto.agreeing.len() >= c.stable_s.max(1) as usize;
                (stable && s.watching.is_none()).then_some(*id)
            })
            .collect()
    };
    for link in ready {
        let advice = known(core, link).advice.and_then(|a| a.limit_bytes);
        let Some(advised) = advice else { continue };
        let same = |now: u64| now.abs_diff(advised) as f64 <= c.deadband * now as f64;
        if limit_in_force(core, link)
            .and_then(|l| l.bytes())
            .is_some_and(same)
        {
            continue;
        }
        match apply_advice(core, link, None, Origin::Auto).await {
            Ok(_) => {
                if let Some(state) = lock(&core.links).get_mut(&link) {
                    state.auto.agreeing.clear();
                }
            }
            Err(e) => tracing::debug!(%link, "auto: {e}"),
        }
    }
}

/// Adds an advice to those before it, or starts anew when it differs from them.
fn agree(past: &mut Vec<u64>, advised: u64, deadband: f64) {
    let alike = |&p: &u64| p.abs_diff(advised) as f64 <= deadband * p as f64;
    if !past.iter().all(alike) {
        past.clear();
    }
    if past.len() >= 3600 {
        past.remove(0);
    }
    past.push(advised);
}

impl super::link::LinkState {
    fn hold_until_now(&self) -> bool {
        self.auto.hold_until.is_some_and(|t| Instant::now() < t)
    }
}

#[cfg(test)]
mod tests {
    use super::agree;

    #[test]
    fn agreement_starts_anew_with_a_jump() {
        let mut past = Vec::new();
        for b in [1000, 1050, 980] {
            agree(&mut past, b, 0.15);
        }
        assert_eq!(past.len(), 3);
        agree(&mut past, 2000, 0.15);
        assert_eq!(past, [2000]);
    }
}
