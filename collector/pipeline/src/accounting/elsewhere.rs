// SPDX-License-Identifier: Apache-2.0
//! Reports with hops of several nodes, where nodes are dealt out to several pipelines.
//!
//! Each pipeline of such a node has the datagram and takes the records of its own nodes.
//! That of the node which sends it, and it alone, counts the report and what is lost before
//! it; others only tell whether it came twice.

use super::time::{NodeTime, TimeError, Times};
use crate::config::Config;
use crate::node_shards::NodeShards;
use crate::wire::Received;
use int_report::sequence::{StreamConfig, StreamTable};
use rustc_hash::FxHashMap;

/// All that a pipeline has to know of nodes that are not its own.
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
    pub(super) fn of(config: &Config, max_streams: usize) -> Option<Self> {
        let share = config.share;
        (share.of > 1).then(|| Self {
            nodes: NodeShards::new(config.nodes.keys().copied(), share.of),
            index: share.index,
            clocks: FxHashMap::default(),
            streams: StreamTable::new(StreamConfig::default(), max_streams),
        })
    }

    /// True of the nodes of this pipeline.
    #[inline]
    pub(super) fn owns(&mut self, node_id: u32) -> bool {
        self.nodes.of(node_id) == self.index
    }

    /// The time at a node by its clock. Of more nodes than may be unknown there is none.
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
