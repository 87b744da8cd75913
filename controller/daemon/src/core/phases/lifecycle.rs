// SPDX-License-Identifier: Apache-2.0
//! Start, end and completion of phases.

use super::{Phase, PhaseError, PhaseLink};
use crate::core::phases::State as Stage;
use crate::core::state::State;
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_advice::{Verdict, advise};
use tidemark_control::Timestamp;
use tidemark_estimators::LinkId;
use tidemark_proto::telemetry::CollectorStatus;
use tidemark_proto::{NAME_RULE, is_name};

/// If the last telemetry takes longer, the phase is completed with what there is, s.
const PATIENCE_S: f64 = 10.0;

fn statuses(state: &State) -> Vec<CollectorStatus> {
    state.feeds.iter().map(|f| f.status.clone()).collect()
}

/// Returns every known link, at the beginning of a phase.
fn links_now(state: &State, now: Timestamp) -> BTreeMap<LinkId, PhaseLink> {
    let links = state.known_links().into_iter().filter_map(|id| {
        let feed = state.feed_of(id)?;
        let grid_ns = feed.interval_ns();
        let start_ns = feed.now_ns(id, now).div_ceil(grid_ns) * grid_ns;
        let first_ns = feed.series.get(&id).map_or(0, |s| s.first_ns);
        let link = PhaseLink {
            start_ns,
            first_ns,
            ..PhaseLink::default()
        };
        Some((id, link))
    });
    links.collect()
}

/// Starts a phase at every known link.
pub(crate) fn start(state: &mut State, name: &str, now: Timestamp) -> Result<Phase, PhaseError> {
    if !is_name(name) {
        return Err(PhaseError::Bad(format!("\"{name}\" is not {NAME_RULE}")));
    }
    let links = links_now(state, now);
    if links.is_empty() {
        return Err(PhaseError::Conflict(
            "no link has reported yet: start traffic and check the collector first".into(),
        ));
    }
    let phase = Phase {
        name: name.into(),
        state: Stage::Running,
        started_unix_ms: now.unix_ms,
        ended_unix_ms: None,
        links,
        before: statuses(state),
        after: Vec::new(),
        ended: None,
    };
    let phases = &mut state.phases;
    if phases.get(name).is_some_and(|p| p.state != Stage::Complete) {
        return Err(PhaseError::Conflict(format!(
            "phase \"{name}\" is running already"
        )));
    }
    phases.add(phase.clone());
    Ok(phase)
}

/// Ends a running phase; it completes once its telemetry has arrived.
pub(crate) fn end(state: &mut State, name: &str, now: Timestamp) -> Result<Phase, PhaseError> {
    let phase = match state.phases.get(name) {
        None => return Err(PhaseError::Unknown(format!("no phase \"{name}\""))),
        Some(p) if p.state != Stage::Running => {
            let message = format!("phase \"{name}\" has ended already");
            return Err(PhaseError::Conflict(message));
        }
        Some(p) => p.clone(),
    };
    let mut ended = phase;
    for (&id, l) in &mut ended.links {
        let at_ns = state.feed_of(id).map_or(0, |feed| {
            let grid = feed.interval_ns();
            feed.now_ns(id, now) / grid * grid
        });
        l.end_ns = Some(at_ns.max(l.start_ns));
    }
    ended.state = Stage::Closing;
    ended.ended_unix_ms = Some(now.unix_ms);
    ended.ended = Some(now);
    state.phases.replace(ended.clone());
    Ok(ended)
}

/// Returns a closing phase with its results, once its telemetry has arrived.
pub(crate) fn complete(state: &State, mut phase: Phase, now: Timestamp) -> Option<Phase> {
    let ended = phase.ended?;
    let late = now.since_s(ended) > PATIENCE_S;
    // The final counters arrive with the next status.
    let counted = state.feeds.iter().all(|f| {
        let after = |at: Timestamp| at.monotonic_ns > ended.monotonic_ns;
        !f.connected || f.last_status.is_none_or(after)
    });
    if !counted && !late {
        return None;
    }
    for (&id, l) in &mut phase.links {
        let end_ns = l.end_ns?;
        if l.lost {
            continue;
        }
        let targets = state.targets_of(id);
        let result = state.feed_of(id).map(|feed| {
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
                let measured = estimate.measured();
                let advice = advise(&measured, &targets, &state.advisor_options(id));
                let verdict = Verdict::by(&advice, &measured, &targets).with_curve(&measured);
                (l.advice, l.verdict) = (Some(Arc::new(advice)), Some(Arc::new(verdict)));
                l.estimate = Some(Arc::new(estimate));
                l.weigh();
                l.incomplete = incomplete;
                let length = (end_ns - l.start_ns) as f64 / 1e9;
                let retention_s = state.retention_s();
                if length > retention_s {
                    l.incomplete = Some(format!(
                        "longer than retention_s, {retention_s}: only the end was kept"
                    ));
                }
            }
            Some(None) => return None,
            None => l.incomplete = Some("its collector forgot the link".into()),
        }
    }
    phase.after = statuses(state);
    phase.state = Stage::Complete;
    Some(phase)
}
