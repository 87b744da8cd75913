// SPDX-License-Identifier: Apache-2.0
//! Builds interval records from rows. The result depends only on the rows and their order, so that
//! a replayed capture gives the records that were sent live.

mod allowance;
mod batch;
mod config;
mod flow;
mod flows;
mod histogram;
mod interval;
mod link;
mod links;
mod node;
mod open;

use crate::config::{Config, NodeConfig};
use crate::rows::{Event, EventRow, FlowRow, PostcardRow, ProbeRow};
use batch::Batch;
use node::NodeIntervals;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use tidemark_proto::telemetry::{
    CongestionState, FlowEvent, FlowInfo, FlowKey, Retransmit, Update, flow_event,
};

pub use config::AggregateConfig;
pub(crate) use flows::Step;
pub use open::OutOfWindow;

/// Number of gathered flows, events and clocks at which they are handed on at once.
const MAX_GATHERED: usize = 4096;

/// Builds interval records.
#[derive(Debug)]
pub struct Aggregator {
    config: AggregateConfig,
    named_ports: BTreeMap<u32, BTreeSet<u32>>,
    nodes: Vec<NodeIntervals>,
    node_index: FxHashMap<u32, usize>,
    last_node: usize,
    gathered: Update,
    outside: OutOfWindow,
    /// Nodes with rows missing before their next packet.
    missing: Vec<u32>,
}

impl Aggregator {
    /// Creates an aggregator without rows; an interval is at least 1 ns long.
    pub fn new(config: AggregateConfig) -> Self {
        Self {
            config: AggregateConfig {
                interval_ns: config.interval_ns.max(1),
                ..config
            },
            named_ports: BTreeMap::new(),
            nodes: Vec::new(),
            node_index: FxHashMap::default(),
            last_node: 0,
            gathered: Update::default(),
            outside: OutOfWindow::default(),
            missing: Vec::new(),
        }
    }

    /// Creates a pipeline's aggregator: egress queues of ports that the configuration names always
    /// have a place, and a record of every interval once they are seen. Other queues are limited in
    /// number and forgotten when they fall silent.
    pub fn of(config: &Config) -> Self {
        let named = |(&id, node): (&u32, &NodeConfig)| (id, node.ports.keys().copied().collect());
        Self {
            named_ports: config.nodes.iter().map(named).collect(),
            ..Self::new(AggregateConfig::from(config))
        }
    }

    /// Returns the numbers of rows not counted in the interval they belong to.
    pub fn out_of_window(&self) -> OutOfWindow {
        self.outside
    }

    #[inline]
    fn position(&mut self, node_id: u32) -> usize {
        if self
            .nodes
            .get(self.last_node)
            .is_some_and(|n| n.node_id == node_id)
        {
            return self.last_node;
        }
        self.find(node_id)
    }

    #[cold]
    fn find(&mut self, node_id: u32) -> usize {
        self.last_node = match self.node_index.get(&node_id) {
            Some(&i) => i,
            None => {
                let named = self.named_ports.get(&node_id).cloned().unwrap_or_default();
                let node = NodeIntervals::new(node_id, self.config, named);
                self.nodes.push(node);
                self.node_index.insert(node_id, self.nodes.len() - 1);
                self.nodes.len() - 1
            }
        };
        self.last_node
    }

    fn node(&mut self, node_id: u32) -> &mut NodeIntervals {
        let i = self.position(node_id);
        &mut self.nodes[i]
    }

    /// Counts a packet; `out` gets the updates that it completes.
    #[inline]
    pub fn postcard(&mut self, row: &PostcardRow, out: &mut dyn FnMut(Update)) {
        self.make_room(row, out);
        if self.count(row) {
            self.close_due(out);
        }
    }

    /// Closes the open intervals if a packet is too far ahead to be open with them: nothing was
    /// heard in between.
    #[inline(always)]
    pub(crate) fn make_room(&mut self, row: &PostcardRow, out: &mut dyn FnMut(Update)) {
        let i = self.position(row.node_id);
        let node = self.nodes.get(i);
        if let Some(to_ns) = node.and_then(|n| n.due_before(row.ingress_ns)) {
            self.close(row.node_id, to_ns, out);
        }
    }

    /// Marks that the next rows are missing. Until a node's next packet, nothing is reported of it:
    /// that time is unknown, not idle.
    pub fn rows_missing(&mut self) {
        self.missing = self.nodes.iter().map(|n| n.node_id).collect();
    }

    /// Must be called before each packet if rows can be missing.
    #[inline]
    pub fn resume(&mut self, row: &PostcardRow, out: &mut dyn FnMut(Update)) {
        let Some(place) = self.missing.iter().position(|&id| id == row.node_id) else {
            return;
        };
        self.missing.swap_remove(place);
        // Few rows are missing if the packet's interval is still open.
        if self.node(row.node_id).is_beyond(row.ingress_ns) {
            self.close(row.node_id, u64::MAX, out);
            self.node(row.node_id).restart();
        }
    }

    /// Counts a packet; returns whether [`Aggregator::close_due`] has anything to close.
    #[inline(always)]
    pub(crate) fn count(&mut self, row: &PostcardRow) -> bool {
        let i = self.position(row.node_id);
        let Some(node) = self.nodes.get_mut(i) else {
            return false;
        };
        node.postcard(row, &mut self.outside);
        node.due().is_some()
    }

    /// Closes the intervals that are due at the node of the last packet.
    #[cold]
    pub(crate) fn close_due(&mut self, out: &mut dyn FnMut(Update)) {
        if let Some(node) = self.nodes.get(self.last_node)
            && let Some(to_ns) = node.due()
        {
            self.close(node.node_id, to_ns, out);
        }
    }

    /// Counts a sample.
    #[inline]
    pub fn probe(&mut self, row: &ProbeRow) {
        let i = self.position(row.node_id);
        if let Some(node) = self.nodes.get_mut(i) {
            node.probe(row, &mut self.outside);
        }
    }

    /// Whether prefetching is worth its cost at the last row's node, which is nearly always the
    /// next row's node as well.
    #[inline(always)]
    pub(crate) fn has_many_flows(&self) -> bool {
        let node = self.nodes.get(self.last_node);
        node.is_some_and(|n| n.many_flows)
    }

    /// Prefetches what counting a coming packet of that node will need.
    #[inline(always)]
    pub(crate) fn prefetch_packet(&self, step: Step, flow_id: u64, port: u32) {
        if let Some(node) = self.nodes.get(self.last_node) {
            node.prefetch_packet(step, flow_id, port);
        }
    }

    /// Like `prefetch_packet`, for a sample.
    #[inline(always)]
    pub(crate) fn prefetch_sample(&self, step: Step, flow_id: u64, port: u32) {
        if let Some(node) = self.nodes.get(self.last_node) {
            node.prefetch_sample(step, flow_id, port);
        }
    }

    /// Takes an event; `out` gets the updates that it completes.
    pub fn event(&mut self, row: &EventRow, out: &mut dyn FnMut(Update)) {
        match &row.event {
            Event::Flow(f) => self.gathered.flows.push(flow_info(f)),
            Event::Retransmit(at) => self.gathered.events.push(FlowEvent {
                flow_id: at.flow_id,
                time_ns: at.time_ns,
                event: Some(flow_event::Event::Retransmit(Retransmit {})),
            }),
            Event::CongestionState { at, state } => self.gathered.events.push(FlowEvent {
                flow_id: at.flow_id,
                time_ns: at.time_ns,
                event: Some(flow_event::Event::CongestionState(CongestionState {
                    state: u32::from(*state),
                })),
            }),
            Event::Host { .. } => {}
            Event::Clock(mapping) => self.gathered.clocks.push(mapping.clone()),
            Event::Watermark { node_id, time_ns } => {
                let unknown = self.missing.contains(node_id);
                self.close(*node_id, if unknown { u64::MAX } else { *time_ns }, out);
                return;
            }
            Event::Restart { node_id, .. } => {
                self.close(*node_id, u64::MAX, out);
                self.node(*node_id).restart();
                return;
            }
        }
        let g = &self.gathered;
        if g.flows.len() + g.events.len() + g.clocks.len() >= MAX_GATHERED {
            out(std::mem::take(&mut self.gathered));
        }
    }

    fn close(&mut self, node_id: u32, to_ns: u64, out: &mut dyn FnMut(Update)) {
        let mut batch = Batch::new(std::mem::take(&mut self.gathered), out);
        let node = self.node(node_id);
        let closed = match to_ns {
            u64::MAX => node.end(&mut batch),
            to_ns => node.close(to_ns, &mut batch),
        };
        if closed {
            batch.finish();
        } else {
            self.gathered = batch.into_gathered();
        }
    }

    /// Closes all intervals.
    pub fn finish(&mut self, out: &mut dyn FnMut(Update)) {
        let mut batch = Batch::new(std::mem::take(&mut self.gathered), out);
        let mut ids: Vec<u32> = self.node_index.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            self.node(id).end(&mut batch);
        }
        if batch.update != Update::default() {
            batch.finish();
        }
    }
}

/// Returns the bytes of an address in network order.
pub fn address_bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(a) => a.octets().to_vec(),
        IpAddr::V6(a) => a.octets().to_vec(),
    }
}

/// Converts a flow to its form in the telemetry contract.
pub fn flow_info(f: &FlowRow) -> FlowInfo {
    FlowInfo {
        flow_id: f.flow_id,
        key: Some(FlowKey {
            src: address_bytes(f.key.src),
            dst: address_bytes(f.key.dst),
            src_port: f.key.src_port.into(),
            dst_port: f.key.dst_port.into(),
            protocol: f.key.protocol.into(),
        }),
        first_seen_ns: f.first_seen_ns,
        probed: f.probed,
        handshake_rtt_ns: f.handshake_rtt_ns,
        mss_bytes: f.mss_bytes,
    }
}

#[cfg(test)]
mod tests;
