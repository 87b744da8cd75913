// SPDX-License-Identifier: Apache-2.0
//! Named spans of time of an experiment, each with its own estimate.
//!
//! A phase is a half-open span `[start, end)` of the switch's clock, per link,
//! on interval boundaries, so that the same span of the capture holds exactly
//! the same records.

use super::audit::{lock, unix_ms};
use super::{Core, clock::SwitchClock, feed::Feed};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_proto::telemetry::{CollectorStatus, Update};
use tidemark_rules::{Advice, advise};

const MAX_PHASES: usize = 1000;
/// A phase whose end does not arrive is completed with what there is.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where a phase stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Running,
    /// Ended; its last telemetry is on the way.
    Closing,
    Complete,
}

/// One link during a phase.
#[derive(Clone, Debug)]
pub struct PhaseLink {
    pub start_ns: u64,
    pub end_ns: Option<u64>,
    /// First interval of this link that was ever seen.
    pub first_ns: u64,
    /// Interval records received of the phase, and what they say.
    pub intervals: u64,
    pub reports_lost: u64,
    pub joined: u64,
    pub unjoined: u64,
    pub estimate: Option<Arc<LinkEstimate>>,
    pub advice: Option<Arc<Advice>>,
    /// Why the estimate may not cover all of the phase.
    pub incomplete: Option<String>,
}

/// One phase.
#[derive(Clone, Debug)]
pub struct Phase {
    pub name: String,
    pub state: State,
    pub started_unix_ms: u64,
    pub ended_unix_ms: Option<u64>,
    pub links: BTreeMap<LinkId, PhaseLink>,
    before: Vec<CollectorStatus>,
    after: Vec<CollectorStatus>,
    ended: Option<Instant>,
}

/// All phases, in the order of their start.
#[derive(Debug, Default)]
pub struct Phases {
    all: Vec<Phase>,
}

/// Why a phase cannot be started or ended.
#[derive(Debug, PartialEq, Eq)]
pub enum PhaseError {
    /// The request makes no sense.
    Bad(String),
    /// There is no such phase.
    Unknown(String),
    /// Not in this state.
    Conflict(String),
}

impl Phases {
    /// The newest phase of this name.
    pub fn get(&self, name: &str) -> Option<&Phase> {
        self.all.iter().rev().find(|p| p.name == name)
    }

    /// All, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Phase> {
        self.all.iter()
    }

    /// Counts the records of an update into the phases they fall into.
    pub fn account(&mut self, update: &Update) {
        for phase in self.all.iter_mut().filter(|p| p.state != State::Complete) {
            for i in &update.link_intervals {
                if let Some(l) = phase.link_at(i.node_id, i.port, i.start_ns) {
                    l.intervals += 1;
                    l.reports_lost += u64::from(i.reports_lost);
                }
            }
            for i in &update.flow_intervals {
                if let Some(l) = phase.link_at(i.node_id, i.port, i.start_ns) {
                    l.joined += u64::from(i.joined);
                    l.unjoined += u64::from(i.unjoined);
                }
            }
        }
    }
}

impl Phase {
    fn link_at(&mut self, node_id: u32, port: u32, start_ns: u64) -> Option<&mut PhaseLink> {
        let l = self.links.get_mut(&LinkId { node_id, port })?;
        let inside = start_ns >= l.start_ns && l.end_ns.is_none_or(|end| start_ns < end);
        inside.then_some(l)
    }

    /// As JSON; without estimates when `brief`.
    pub fn json(&self, brief: bool) -> Value {
        let links: Vec<Value> = self
            .links
            .iter()
            .map(|(id, l)| {
                let seconds = |ns: u64| (ns.saturating_sub(l.first_ns)) as f64 / 1e9;
                let mut v = json!({
                    "node": id.node_id, "port": id.port,
                    "start_ns": l.start_ns, "end_ns": l.end_ns,
                    "start_s": seconds(l.start_ns), "end_s": l.end_ns.map(seconds),
                    "capture_start_ns": l.first_ns,
                    "intervals": l.intervals, "reports_lost": l.reports_lost,
                    "joined": l.joined, "unjoined": l.unjoined,
                    "incomplete": l.incomplete,
                });
                if !brief {
                    v["limit_bytes"] = json!(l.estimate.as_ref().and_then(|e| e.limit_bytes));
                    v["estimate"] = json!(l.estimate.as_deref());
                    v["advice"] = json!(l.advice.as_deref());
                }
                v
            })
            .collect();
        let sum = |f: fn(&CollectorStatus) -> u64| -> u64 {
            let pairs = self.before.iter().zip(&self.after);
            // A restarted collector counts from 0 again.
            pairs
                .map(|(b, a)| f(a).checked_sub(f(b)).unwrap_or(f(a)))
                .sum()
        };
        let (candidates, matched) = (sum(|s| s.join_candidates), sum(|s| s.join_matched));
        json!({
            "name": self.name, "state": self.state,
            "started_unix_ms": self.started_unix_ms, "ended_unix_ms": self.ended_unix_ms,
            "reports": {
                "received": sum(|s| s.reports_received), "lost": sum(|s| s.reports_lost),
                "late": sum(|s| s.reports_late), "duplicate": sum(|s| s.reports_duplicate),
                "malformed": sum(|s| s.datagrams_malformed),
                "kernel_drops": sum(|s| s.kernel_drops),
            },
            "probe": {"samples": sum(|s| s.probe_samples), "lost": sum(|s| s.probe_lost)},
            "join": {
                "candidates": candidates, "matched": matched,
                "matched_fraction": (candidates > 0).then(|| matched as f64 / candidates as f64),
            },
            "links": links,
        })
    }
}

fn statuses(core: &Core) -> Vec<CollectorStatus> {
    core.feeds.iter().map(|f| lock(f).status).collect()
}

/// Now, on the clock of a link's node, and its neighbours on the interval grid.
fn link_now(feed: &Feed, link: LinkId) -> u64 {
    let unix_ns = u128::from(unix_ms()) * 1_000_000;
    let by_clock = feed.clocks.get(&link.node_id);
    by_clock
        .map(|c: &SwitchClock| c.now_ns(Instant::now(), unix_ns))
        .filter(|&now| now > 0)
        .unwrap_or_else(|| feed.series.get(&link).map_or(0, |s| s.last_ns))
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
            (link_now(feed, id).div_ceil(grid) * grid, first_ns)
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
    core.emit("phase", phase.json(true));
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
            link_now(feed, id) / grid * grid
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
    core.emit("phase", ended.json(true));
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
            core.emit("phase", done.json(true));
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
                    &super::tick::advisor_options(core, id),
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
