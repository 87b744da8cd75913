// SPDX-License-Identifier: Apache-2.0
//! Named spans of time of an experiment, each with its own estimate.
//!
//! A phase is a half-open span `[start, end)` of the switch's clock, per link,
//! on interval boundaries, so that the same span of the capture holds exactly
//! the same records.

mod lifecycle;

pub use lifecycle::{complete, end, start};

use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_proto::telemetry::{CollectorStatus, Update};
use tidemark_rules::Advice;

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
    /// Its records are gone, so that there is nothing to wait for.
    lost: bool,
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

    /// The clock of a node started anew: a phase that runs there has lost its
    /// axis of time.
    pub fn node_restarted(&mut self, node_id: u32) {
        for phase in self.all.iter_mut().filter(|p| p.state != State::Complete) {
            for (id, l) in &mut phase.links {
                if id.node_id == node_id {
                    l.lost = true;
                    l.incomplete = Some(format!(
                        "the clock of node {node_id} started anew during the phase"
                    ));
                }
            }
        }
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
        let inside = !l.lost && start_ns >= l.start_ns && l.end_ns.is_none_or(|end| start_ns < end);
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
