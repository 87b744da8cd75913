// SPDX-License-Identifier: Apache-2.0
//! Named spans of time of an experiment, each with its own estimate.
//!
//! A phase is a half-open span `[start, end)` of the switch's clock, per link,
//! on interval boundaries, so that the same span of the capture holds exactly
//! the same records.

mod bounds;
pub(super) mod lifecycle;

use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_advice::{Advice, Verdict};
use tidemark_control::Timestamp;
use tidemark_estimators::{LinkEstimate, LinkId};
use tidemark_proto::telemetry::{CollectorStatus, Update};

/// Stage of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Started, and not ended yet.
    Running,
    /// Ended; the last telemetry is on its way.
    Closing,
    /// Its estimates are final.
    Complete,
}

/// One link during a phase.
#[derive(Clone, Debug, Default)]
pub struct PhaseLink {
    /// Start, ns on the switch's clock.
    pub start_ns: u64,
    /// End, exclusive; `None` while it runs.
    pub end_ns: Option<u64>,
    /// First interval of this link that was ever seen.
    pub first_ns: u64,
    /// Counts of its records.
    pub counted: Counted,
    /// Estimate over its span; `None` until it is complete.
    pub estimate: Option<Arc<LinkEstimate>>,
    /// Advice from that estimate.
    pub advice: Option<Arc<Advice>>,
    /// The verdict on the buffer, with its curve.
    pub verdict: Option<Arc<Verdict>>,
    /// Why the estimate may not cover all of the phase.
    pub incomplete: Option<String>,
    /// Whether its records are gone, so that there is nothing to wait for.
    lost: bool,
    /// Memory used by estimate and advice, bytes.
    result_bytes: usize,
}

/// One phase.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Name given at its start.
    pub name: String,
    /// Its stage.
    pub state: State,
    /// Start, Unix ms.
    pub started_unix_ms: u64,
    /// End, Unix ms; `None` while it runs.
    pub ended_unix_ms: Option<u64>,
    /// Links known at its start.
    pub links: BTreeMap<LinkId, PhaseLink>,
    before: Vec<CollectorStatus>,
    after: Vec<CollectorStatus>,
    ended: Option<Timestamp>,
}

/// The phases that are kept, in the order of their start.
#[derive(Debug, Default)]
pub struct Phases {
    all: Vec<Phase>,
    forgotten: u64,
}

/// Some of the phases that are kept, and the number of all.
#[derive(Debug)]
pub struct KeptPhases {
    /// The newest phases, oldest first.
    pub newest: Vec<Phase>,
    /// Number of phases that are kept.
    pub all: u64,
    /// Number of phases that were dropped to make room since the start.
    pub forgotten: u64,
}

/// Why a phase cannot be started or ended.
#[derive(Debug, PartialEq, Eq)]
pub enum PhaseError {
    /// The request is invalid.
    Bad(String),
    /// There is no such phase.
    Unknown(String),
    /// The phase is not in the required state.
    Conflict(String),
}

impl Phases {
    /// Returns the newest phase of this name.
    pub fn get(&self, name: &str) -> Option<&Phase> {
        self.all.iter().rev().find(|p| p.name == name)
    }

    /// Returns the newest phases, at most `most`, oldest first.
    pub fn newest(&self, most: usize) -> KeptPhases {
        let older = self.all.len().saturating_sub(most);
        KeptPhases {
            newest: self.all.iter().skip(older).cloned().collect(),
            all: self.all.len() as u64,
            forgotten: self.forgotten,
        }
    }

    /// Returns the phases that wait for their last telemetry.
    pub fn closing(&self) -> Vec<Phase> {
        let closing = self.all.iter().filter(|p| p.state == State::Closing);
        closing.cloned().collect()
    }

    /// Adds a phase. The oldest are dropped if there are too many.
    pub fn add(&mut self, phase: Phase) {
        self.all.push(phase);
        self.bound();
    }

    /// Replaces a phase by its new state.
    pub fn replace(&mut self, done: Phase) {
        let same =
            |p: &&mut Phase| p.name == done.name && p.started_unix_ms == done.started_unix_ms;
        if let Some(p) = self.all.iter_mut().rev().find(same) {
            *p = done;
        }
        self.bound();
    }

    /// Handles the restart of a node's clock: a phase that runs there loses its time axis.
    pub fn node_restarted(&mut self, node_id: u32) {
        for phase in self.all.iter_mut().filter(|p| p.state != State::Complete) {
            for (id, l) in &mut phase.links {
                if id.node_id == node_id {
                    l.lost = true;
                    l.incomplete = Some(format!(
                        "the clock of node {node_id} restarted during the phase"
                    ));
                }
            }
        }
    }

    /// Counts the records of an update in the phases they fall into.
    pub fn account(&mut self, update: &Update) {
        for phase in self.all.iter_mut().filter(|p| p.state != State::Complete) {
            for i in &update.link_intervals {
                if let Some(l) = phase.link_at(LinkId::new(i.node_id, i.port, i.queue), i.start_ns)
                {
                    l.counted.intervals += 1;
                    l.counted.reports_lost += u64::from(i.reports_lost);
                }
            }
            for i in &update.flow_intervals {
                if let Some(l) = phase.link_at(LinkId::new(i.node_id, i.port, i.queue), i.start_ns)
                {
                    l.counted.joined += u64::from(i.joined);
                    l.counted.unjoined += u64::from(i.unjoined);
                }
            }
        }
    }
}

/// Counts of the records of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Interval records.
    pub intervals: u64,
    /// Packets that left or were dropped.
    pub reports: u64,
    /// Reports lost on their way.
    pub reports_lost: u64,
    /// Packets joined with the sender's state.
    pub joined: u64,
    /// Packets of probed flows that were not joined.
    pub unjoined: u64,
}

impl Counted {
    /// Adds the counts of another link.
    pub fn add(&mut self, other: Self) {
        self.intervals += other.intervals;
        self.reports += other.reports;
        self.reports_lost += other.reports_lost;
        self.joined += other.joined;
        self.unjoined += other.unjoined;
    }
}

impl PhaseLink {
    /// Creates a link's phase from a span of a finished run.
    pub fn of_span(
        (start_ns, end_ns): (u64, u64),
        first_ns: u64,
        counted: Counted,
        estimate: Arc<LinkEstimate>,
        (advice, verdict): (Arc<Advice>, Arc<Verdict>),
    ) -> Self {
        let mut link = Self {
            start_ns,
            end_ns: Some(end_ns),
            first_ns,
            counted,
            estimate: Some(estimate),
            advice: Some(advice),
            verdict: Some(verdict),
            ..Self::default()
        };
        link.weigh();
        link
    }
}

impl Phase {
    /// Creates a phase of a finished run. Of the collectors' counters, a capture tells only those
    /// of `counted`.
    pub fn of_run(
        name: &str,
        unix_ms: (u64, u64),
        counted: Counted,
        links: BTreeMap<LinkId, PhaseLink>,
    ) -> Self {
        let after = CollectorStatus {
            reports_received: counted.reports,
            reports_lost: counted.reports_lost,
            join_candidates: counted.joined + counted.unjoined,
            join_matched: counted.joined,
            ..CollectorStatus::default()
        };
        Self {
            name: name.into(),
            state: State::Complete,
            started_unix_ms: unix_ms.0,
            ended_unix_ms: Some(unix_ms.1),
            links,
            before: vec![CollectorStatus::default()],
            after: vec![after],
            ended: None,
        }
    }

    fn link_at(&mut self, id: LinkId, start_ns: u64) -> Option<&mut PhaseLink> {
        let l = self.links.get_mut(&id)?;
        let inside = !l.lost && start_ns >= l.start_ns && l.end_ns.is_none_or(|end| start_ns < end);
        inside.then_some(l)
    }

    /// Returns how far a counter of the collectors rose during the phase.
    pub fn counted(&self, counter: impl Fn(&CollectorStatus) -> u64) -> u64 {
        let pairs = self.before.iter().zip(&self.after);
        // A restarted collector counts from 0 again.
        pairs
            .map(|(b, a)| counter(a).checked_sub(counter(b)).unwrap_or(counter(a)))
            .sum()
    }

    /// Like [`Self::counted`], for a counter that not every collector has; `None` if none has it.
    pub fn counted_where_known(
        &self,
        counter: impl Fn(&CollectorStatus) -> Option<u64>,
    ) -> Option<u64> {
        let known = self.after.iter().any(|s| counter(s).is_some());
        known.then(|| self.counted(|s| counter(s).unwrap_or(0)))
    }
}
