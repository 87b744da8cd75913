// SPDX-License-Identifier: Apache-2.0
//! Invariants, checked during a run. The first violation ends it.

mod books;
mod collector;
mod control;
mod storage;
mod truth;

use crate::fault::Kind;
use crate::parts::subscriber::Subscriber;
use crate::plan::Plan;
use books::ControlChecks;
use daemon_kit::metrics;
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the invariant.
    pub invariant: &'static str,
    /// Time of the violation, ms of the run.
    pub at_ms: u64,
    /// The value found, and the right one.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_s = self.at_ms as f64 / 1e3;
        write!(f, "{} at {at_s:.3} s: {}", self.invariant, self.detail)
    }
}

/// State of the checks.
pub(crate) struct Checks {
    pub violation: Option<Violation>,
    pub now_ns: u64,
    /// Whether somebody forges the switch's own address.
    forged: bool,
    /// Whether the switch restarts, and with it its sequence numbers and times.
    restarts: bool,
    /// Whether its reports have a break, or the collector's clock is set.
    breaks: bool,
    /// Number of packets that each row stands for, by arrival time, if only samples are reported.
    stands_for: BTreeMap<u64, u64>,
    /// Flows by the collector's numbers.
    flows: HashMap<u64, usize>,
    control: ControlChecks,
    /// Whether a trial failed while a fault disturbed its link. Auto mode then approaches the
    /// failed limit by halves, until the rest is within its dead band.
    pub approaches: bool,
    /// Time of the last trial with a worse outcome, ns.
    pub worse_ns: Option<u64>,
    /// Largest number of queued bytes since the bounds apply.
    pub peak_bytes: u64,
    /// Counts of events, for the sums over all seeds.
    pub tally: Tally,
}

metrics! {
    /// Counts of the events in a run: a simulation in which nothing happens proves nothing.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Tally: Sum {
        /// Reports that the collector accepted.
        counter reports: u64,
        /// Writes of limits that reached the switch.
        counter writes: u64,
        /// Writes that failed.
        counter failed: u64,
        /// Limits tried.
        counter trials: u64,
        /// Trials whose limit was kept.
        counter kept: u64,
        /// Trials with a worse outcome.
        counter worse: u64,
        /// Trials without a clear outcome.
        counter unclear: u64,
        /// Limits restored after a worse outcome.
        counter rollbacks: u64,
        /// Reports that the collector counted as lost.
        counter lost: u64,
        /// Reports that the collector refused.
        counter refused: u64,
        /// Starts of the collector whose counted losses were compared with the truth.
        counter exact: u64,
        /// Rows compared with their packets.
        counter probed: u64,
        /// Packets joined with a sender's sample.
        counter joined: u64,
        /// Packets joined with the right sample.
        counter joined_right: u64,
        /// Estimates compared with the truth.
        counter estimates: u64,
        /// Estimates whose N_b was far too low.
        counter n_b_low: u64,
        /// Estimates whose N_b was far too high.
        counter n_b_high: u64,
        /// Runs whose loss was compared with its bound.
        counter loss_held: u64,
        /// Runs that end at the largest limit, where the loss has no bound.
        counter loss_at_largest: u64,
        /// Largest memory of the controller's records, bytes.
        counter most_memory_bytes: u64,
        /// Rows in captures at the end.
        counter written: u64,
        /// Rows in the database at the end.
        counter inserted: u64,
        /// Rows dropped by either.
        counter fell_out: u64,
        /// Batches that a repeated attempt found in the database.
        counter found: u64,
    }
}

impl Tally {
    /// Adds another run's counts.
    pub fn add(&mut self, o: &Self) {
        let most = self.most_memory_bytes.max(o.most_memory_bytes);
        *self += o;
        self.most_memory_bytes = most;
    }
}

/// Returns whether the switch may seem silent, or the collector restarts.
fn breaks(kind: &Kind) -> bool {
    use Kind::{CollectorKill, CollectorStall, CollectorStop, PowerCut, ReportPartition, UnixStep};
    matches!(
        kind,
        CollectorKill | CollectorStop | PowerCut | CollectorStall | ReportPartition | UnixStep(_)
    )
}

impl Checks {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            violation: None,
            now_ns: 0,
            forged: plan.has(Kind::is_forged),
            breaks: plan.has(breaks),
            restarts: plan.has(|k| matches!(k, Kind::SwitchRestart | Kind::SwitchClockStep(_))),
            stands_for: BTreeMap::new(),
            flows: HashMap::new(),
            control: ControlChecks::new(plan),
            approaches: false,
            worse_ns: None,
            peak_bytes: 0,
            tally: Tally::default(),
        }
    }

    /// Checks the sequence numbers of a subscriber's updates.
    pub(crate) fn subscriber(&mut self, s: &mut Subscriber) {
        if let Some(wrong) = s.wrong.take() {
            self.fail("updates are numbered", wrong);
        }
    }

    /// Records a violation; keeps only the first one.
    pub(crate) fn fail(&mut self, invariant: &'static str, detail: impl Into<String>) {
        if self.violation.is_none() {
            self.violation = Some(Violation {
                invariant,
                at_ms: self.now_ns / 1_000_000,
                detail: detail.into(),
            });
        }
    }

    /// Records a violation if a condition does not hold.
    pub(crate) fn require(
        &mut self,
        holds: bool,
        invariant: &'static str,
        detail: impl FnOnce() -> String,
    ) {
        if !holds {
            self.fail(invariant, detail());
        }
    }
}
