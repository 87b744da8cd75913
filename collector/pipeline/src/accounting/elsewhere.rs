// SPDX-License-Identifier: Apache-2.0
//! Reports with hops of several nodes, where nodes are dealt out to several pipelines.
//!
//! Each pipeline of such a node has the datagram and takes the records of its own nodes.
//! That of the node which sends it, and it alone, counts the report and what is lost before
//! it; others only tell whether it came twice.

use super::time::{NodeTime, TimeError, Times};
use super::{Accounting, MAX_STREAMS, MAX_UNKNOWN_NODES};
use crate::config::Config;
use crate::node_shards::NodeShards;
use crate::wire::Received;
use int_report::sequence::{StreamConfig, StreamTable};
use rustc_hash::FxHashMap;

/// What a pipeline has to know of nodes that are not its own.
#[derive(Debug)]
pub(super) struct Elsewhere {
    nodes: NodeShards,
    /// Number of this pipeline.
    index: usize,
    /// Clocks of the hops that datagrams of own nodes begin with.
    clocks: FxHashMap<u32, NodeTime>,
    /// Of nodes that others account for.
    pub(super) streams: StreamTable,
}

impl Elsewhere {
    /// `None` of the only pipeline.
    pub(super) fn of(config: &Config) -> Option<Self> {
        let share = config.share;
        (share.of > 1).then(|| Self {
            nodes: NodeShards::new(config.nodes.keys().copied(), share.of),
            index: share.index,
            clocks: FxHashMap::default(),
            streams: StreamTable::new(StreamConfig::default(), MAX_STREAMS),
        })
    }

    /// The time at a node by its clock. Of more nodes than may be unknown there is none.
    fn times(&mut self, config: &Config, received: &Received<'_>) -> Result<Times, TimeError> {
        let node_id = received.report.node_id;
        let most = config.nodes.len() + MAX_UNKNOWN_NODES;
        if self.clocks.len() >= most && !self.clocks.contains_key(&node_id) {
            return Err(TimeError::Implausible);
        }
        let clock = self.clocks.entry(node_id).or_insert_with(|| {
            let node = config.nodes.get(&node_id).cloned();
            NodeTime::new(&node.unwrap_or_default(), config.max_clock_step_ms)
        });
        let times = clock.times(received.report, received.rx_ns);
        if times.as_ref().is_ok_and(|t| t.restarted) {
            self.streams.clock_restarted(node_id);
        }
        times
    }
}

impl Accounting {
    /// Whether a node is this pipeline's.
    #[inline]
    pub(crate) fn owns(&mut self, node_id: u32) -> bool {
        let elsewhere = self.elsewhere.as_mut();
        elsewhere.is_none_or(|e| e.nodes.of(node_id) == e.index)
    }

    /// The record of a hop that another pipeline takes. Where a datagram begins with it, tag
    /// and number are looked at: they are those of the records after it.
    #[cold]
    pub(super) fn of_another(&mut self, config: &Config, received: &Received<'_>) {
        let report = received.report;
        let Some(reporter_id) = report.hop.map(|hop| hop.reporter_id) else {
            return;
        };
        if !report.first_in_datagram {
            return;
        }
        (self.duplicate, self.replayed) = (false, false);
        // What is refused, its own pipeline counts.
        let Some(index) = self.index(config, reporter_id, received.rx_ns) else {
            return;
        };
        let at = usize::from(index);
        let Some(node) = self.nodes.get_mut(at) else {
            return;
        };
        if !node.allows(received.exporter) {
            return;
        }
        let has_key = node.tag.is_some();
        self.verified = match &node.tag {
            None => Ok(()),
            Some(tag) => tag.verify(received.tagged.as_ref()),
        };
        if self.verified.is_err() {
            return;
        }
        // A number with an impossible time is no evidence of anything.
        let elsewhere = self.elsewhere.as_mut();
        let Some(Ok(times)) = elsewhere.map(|e| e.times(config, received)) else {
            return;
        };
        let has_time = report.ingress_ts.is_some() || report.egress_ts.is_some();
        let times = Some(times).filter(|_| has_time);
        let lost = self.number(received, reporter_id, has_key, times);
        if let Some(node) = self.nodes.get_mut(at) {
            node.lost_before = node.lost_before.saturating_add(lost);
        }
    }
}
