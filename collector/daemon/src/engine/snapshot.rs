// SPDX-License-Identifier: Apache-2.0
//! Counters of the engines, as other threads see them.

use int_report::DecodeError;
use int_report::tag::Run;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_pipeline::{RefusedSource, Stats};

/// Counters of one engine, or the sum over all engines.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Snapshot {
    /// Number of snapshots published, including this one; it stops growing if an engine hangs.
    pub number: u64,
    /// Counters of the pipeline.
    pub stats: Stats,
    /// Datagrams handed to the pipeline.
    pub datagrams: u64,
    /// Malformed datagrams by [`DecodeError::LABELS`].
    pub malformed: [u64; DecodeError::LABELS.len()],
    /// Flows remembered.
    pub flows_active: u64,
    /// Memory used for segments, gaps and waiting packets of flows.
    pub segment_memory_bytes: usize,
    /// Packets that wait for their sample.
    pub packets_waiting: u64,
    /// Samples held back until the reports of their packets have arrived.
    pub samples_held: u64,
    /// Newest datagram taken of each node that has a key and whose exporter numbers its runs.
    #[serde(skip)]
    pub runs: BTreeMap<u32, Run>,
    /// Nodes whose drops are unknown, in ascending order.
    pub nodes_of_hops_alone: Vec<u32>,
    /// The first sources of refused reports.
    pub refused_sources: Vec<RefusedSource>,
}

impl Snapshot {
    /// Datagrams that could not be decoded to their end.
    pub fn malformed_total(&self) -> u64 {
        self.malformed.iter().sum()
    }

    /// Adds another engine's counters.
    fn add(&mut self, other: &Self) {
        self.number = self.number.min(other.number);
        self.stats += &other.stats;
        self.datagrams += other.datagrams;
        for (sum, n) in self.malformed.iter_mut().zip(other.malformed) {
            *sum += n;
        }
        self.flows_active += other.flows_active;
        self.segment_memory_bytes += other.segment_memory_bytes;
        self.packets_waiting += other.packets_waiting;
        self.samples_held += other.samples_held;
        for (&node, &run) in &other.runs {
            let newest = self.runs.entry(node).or_insert(run);
            *newest = run.max(*newest);
        }
        self.nodes_of_hops_alone
            .extend_from_slice(&other.nodes_of_hops_alone);
        self.nodes_of_hops_alone.sort_unstable();
        self.refused_sources
            .extend_from_slice(&other.refused_sources);
    }
}

/// The [`Snapshot`]s of all engines, shared between threads. Each engine publishes
/// through its own handle; every handle reads the sum.
#[derive(Clone, Debug)]
pub struct SharedSnapshot {
    all: Arc<[Mutex<Snapshot>]>,
    /// Index of the engine that this handle belongs to.
    engine: usize,
}

impl Default for SharedSnapshot {
    fn default() -> Self {
        Self::of_engines(1)
    }
}

impl SharedSnapshot {
    /// Creates the snapshots of several engines, and returns the first engine's handle.
    pub fn of_engines(engines: usize) -> Self {
        Self {
            all: (0..engines.max(1)).map(|_| Mutex::default()).collect(),
            engine: 0,
        }
    }

    /// Returns the handle of an engine.
    #[must_use]
    pub fn of_engine(&self, engine: usize) -> Self {
        Self {
            all: Arc::clone(&self.all),
            engine,
        }
    }

    fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Snapshot>> {
        let all = self.all.iter();
        all.map(|s| s.lock())
    }

    /// Returns the sum over all engines.
    pub fn get(&self) -> Snapshot {
        let mut each = self.each();
        let mut sum = each.next().map(|s| s.clone()).unwrap_or_default();
        each.for_each(|s| sum.add(&s));
        sum
    }

    /// Returns how many snapshots every engine has published; it stops growing if one engine hangs.
    pub fn published(&self) -> u64 {
        self.each().map(|s| s.number).min().unwrap_or(0)
    }

    pub(super) fn set(&self, snapshot: Snapshot) {
        if let Some(mut last) = self.each().nth(self.engine) {
            let number = last.number + 1;
            *last = Snapshot { number, ..snapshot };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_engines_are_summed_and_the_one_that_stands_still_shows() {
        let all = SharedSnapshot::of_engines(2);
        let of = |reports, datagrams| Snapshot {
            stats: Stats {
                reports,
                ..Stats::default()
            },
            datagrams,
            ..Snapshot::default()
        };
        all.of_engine(0).set(of(1, 1));
        all.of_engine(0).set(of(3, 2));
        assert_eq!(all.published(), 0);
        all.of_engine(1).set(of(10, 20));
        let sum = all.get();
        assert_eq!((sum.stats.reports, sum.datagrams), (13, 22));
        assert_eq!((sum.number, all.published()), (1, 1));
    }
}
