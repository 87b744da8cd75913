// SPDX-License-Identifier: Apache-2.0
//! Reports with hops of several nodes, when the nodes are divided among several pipelines.
//!
//! Each pipeline that owns one of the nodes gets the datagram and takes its own nodes' records.
//! Only the pipeline of the node that sent the datagram counts it and the losses before it; the
//! other pipelines only detect duplicates.

use super::time::{NodeTime, TimeError, Times};
use crate::config::Config;
use crate::node_shards::NodeShards;
use crate::wire::Received;
use int_report::sequence::{StreamConfig, StreamTable};
use rustc_hash::FxHashMap;

/// State that a pipeline keeps for nodes of other pipelines.
#[derive(Debug)]
pub(super) struct Elsewhere {
    nodes: NodeShards,
    /// Number of this pipeline.
    index: usize,
    /// Clocks of other pipelines' nodes whose hop record was first in a datagram.
    clocks: FxHashMap<u32, NodeTime>,
    /// Sequence-number streams of nodes that other pipelines account for.
    pub(super) streams: StreamTable,
}

impl Elsewhere {
    /// Returns `None` if there is only one pipeline.
    pub(super) fn of(config: &Config, max_streams: usize) -> Option<Self> {
        let share = config.share;
        (share.of > 1).then(|| Self {
            nodes: NodeShards::new(config.nodes.keys().copied(), share.of),
            index: share.index,
            clocks: FxHashMap::default(),
            streams: StreamTable::new(StreamConfig::default(), max_streams),
        })
    }

    /// Returns whether a node belongs to this pipeline.
    #[inline]
    pub(super) fn owns(&mut self, node_id: u32) -> bool {
        self.nodes.of(node_id) == self.index
    }

    /// Returns a report's times by its node's clock, or an error if there are too many nodes.
    pub(super) fn times(
        &mut self,
        config: &Config,
        max_unknown_nodes: usize,
        received: &Received<'_>,
    ) -> Result<Times, TimeError> {
        let node_id = received.report.node_id;
        let most = config.nodes.len() + max_unknown_nodes;
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
