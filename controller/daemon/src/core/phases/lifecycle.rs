// SPDX-License-Identifier: Apache-2.0
//! Start, end and completion of phases.

use super::{Phase, PhaseError, PhaseLink, State};
use crate::core::audit::{lock, unix_ms};
use crate::core::{Core, Event};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_estimators::LinkId;
use tidemark_proto::telemetry::CollectorStatus;
use tidemark_rules::advise;

const MAX_PHASES: usize = 1000;
/// A phase whose end does not arrive is completed with what there is.
const PATIENCE: Duration = Duration::from_secs(10);

fn statuses(core: &Core) -> Vec<CollectorStatus> {
    core.feeds.iter().map(|f| lock(f).status).collect()
}

/// Starts a phase at every known link.
///
/// # Errors
/// A bad name, one already running, or no telemetry yet.
pub fn start(core: &Core, name: &str) -> Result<Phase, PhaseError> {
    let clean = !name.is_empty()
        && name.len() <= 64
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !clean {
        return Err(PhaseError::Bad(format!(
            "\"{name}\" is not 1 to 64 letters, digits, '-', '_' or '.'"
        )));
    }
    let mut links = BTreeMap::new();
    for id in core.known_links() {
        let span = core.with_feed(id, |feed| {
            let first_ns = feed.series.get(&id).map_or(0, |s| s.first_ns);
            let grid = feed.interval_ns();
            (feed.now_ns(id).div_ceil(grid) * grid, first_ns)
        });
        if let Some((start_ns, first_ns)) = span {
            let link = PhaseLink {
                start_ns,
                end_ns: None,
                first_ns,
                intervals: 0,
                reports_lost: 0,
                joined: 0,
                unjoined: 0,
                estimate: None,
                advice: None,
                incomplete: None,
                lost: false,
            };
            links.insert(id, link);
        }
    }
    if links.is_empty() {
        return Err(PhaseError::Conflict(
            "no link has reported yet: start traffic and check the collector first".into(),
        ));
    }
    let phase = Phase {
        name: name.into(),
        state: State::Running,
        started_unix_ms: unix_ms(),
        ended_unix_ms: None,
        links,
        before: statuses(core),
        after: Vec::new(),
        ended: None,
    };
    let mut phases = lock(&core.phases);
    if phases.get(name).is_some_and(|p| p.state != State::Complete) {
        return Err(PhaseError::Conflict(format!(
            "phase \"{name}\" is running already"
        )));
    }
    if phases.all.len() >= MAX_PHASES {
        phases.all.remove(0);
    }
    phases.all.push(phase.clone());
    drop(phases);
    core.emit(Event::Phase(Box::new(phase.clone())));
    Ok(phase)
}

/// Ends a running phase; it completes once its telemetry has arrived.
///
/// # Errors
/// An unknown phase, or one that is not running.
pub fn end(core: &Core, name: &str) -> Result<Phase, PhaseError> {
    let ids: Vec<LinkId> = {
        let phases = lock(&core.phases);
        let Some(p) = phases.get(name) else {
            return Err(PhaseError::Unknown(format!("no phase \"{name}\"")));
        };
        if p.state != State::Running {
            return Err(PhaseError::Conflict(format!(
                "phase \"{name}\" has ended already"
            )));
        }
        p.links.keys().copied().collect()
    };
    let mut ends = BTreeMap::new();
    for id in ids {
        let at = core.with_feed(id, |feed| {
            let grid = feed.interval_ns();
            feed.now_ns(id) / grid * grid
        });
        ends.insert(id, at.unwrap_or(0));
    }
    let ended = {
        let mut phases = lock(&core.phases);
        let running = |p: &&mut Phase| p.name == name && p.state == State::Running;
        let Some(p) = phases.all.iter_mut().rev().find(running) else {
            return Err(PhaseError::Conflict(format!(
                "phase \"{name}\" has ended already"
            )));
        };
        for (id, l) in &mut p.links {
            l.end_ns = Some(ends.get(id).copied().unwrap_or(0).max(l.start_ns));
        }
        p.state = State::Closing;
        p.ended_unix_ms = Some(unix_ms());
        p.ended = Some(Instant::now());
        p.clone()
    };
    core.emit(Event::Phase(Box::new(ended.clone())));
    Ok(ended)
}

/// Completes the phases whose telemetry has arrived.
pub fn complete(core: &Core) {
    let closing: Vec<Phase> = lock(&core.phases)
        .all
        .iter()
        .filter(|p| p.state == State::Closing)
        .cloned()
        .collect();
    for phase in closing {
        if let Some(done) = try_complete(core, phase) {
            core.emit(Event::Phase(Box::new(done.clone())));
            let mut phases = lock(&core.phases);
            let mut all = phases.all.iter_mut().rev();
            if let Some(p) =
                all.find(|p| p.name == done.name && p.started_unix_ms == done.started_unix_ms)
            {
                *p = done;
            }
        }
    }
}

fn try_complete(core: &Core, mut phase: Phase) -> Option<Phase> {
    let ended = phase.ended?;
    let late = ended.elapsed() > PATIENCE;
    // The counters of the end come with the next status.
    let counted = core.feeds.iter().all(|f| {
        let f = lock(f);
        !f.connected || f.last_status.is_none_or(|at| at > ended)
    });
    if !counted && !late {
        return None;
    }
    for (&id, l) in &mut phase.links {
        let end_ns = l.end_ns?;
        if l.lost {
            continue;
        }
        let targets = core.targets_of(id);
        let result = core.with_feed(id, |feed| {
            let complete_ns = feed.complete_ns(id);
            if complete_ns < end_ns && !late {
                return None;
            }
            let incomplete =
                (complete_ns < end_ns).then(|| "the telemetry of its end did not arrive".into());
            Some((feed.estimate(id, l.start_ns, end_ns), incomplete))
        });
        match result {
            Some(Some((estimate, incomplete))) => {
                l.advice = Some(Arc::new(advise(
                    &estimate.measured(),
                    &targets,
                    &crate::core::tick::advisor_options(core, id),
                )));
                l.estimate = Some(Arc::new(estimate));
                l.incomplete = incomplete;
                let length = (end_ns - l.start_ns) as f64 / 1e9;
                if length > core.config.retention_s {
                    l.incomplete = Some(format!(
                        "longer than retention_s, {}: only the end was kept",
                        core.config.retention_s
                    ));
                }
            }
            Some(None) => return None,
            None => l.incomplete = Some("its collector forgot the link".into()),
        }
    }
    phase.after = statuses(core);
    phase.state = State::Complete;
    Some(phase)
}
