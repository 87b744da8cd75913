// SPDX-License-Identifier: Apache-2.0
//! Store of interval records, limited by age and count.

mod evict;
mod memory;

use crate::types::LinkId;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::VecDeque;
use tidemark_proto::telemetry::{Drop, FlowEvent, FlowInfo, FlowInterval, LinkInterval};

/// Numbers of records removed because of a limit on memory; expired records are not counted,
/// because they had served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Evicted {
    /// Interval records of links.
    pub link_intervals: u64,
    /// Interval records of flows.
    pub flow_intervals: u64,
    /// Records of dropped packets.
    pub drops: u64,
    /// Events of flows.
    pub events: u64,
    /// Flows removed with everything known about them.
    pub flows: u64,
}

#[derive(Debug, Default)]
pub(crate) struct FlowStore {
    pub intervals: VecDeque<FlowInterval>,
}

impl FlowStore {
    /// Packets of the flow that left or were dropped.
    fn packets(&self) -> u64 {
        let records = self.intervals.iter();
        records.map(|r| u64::from(r.packets + r.drops)).sum()
    }
}

#[derive(Debug, Default)]
pub(crate) struct LinkStore {
    pub intervals: VecDeque<LinkInterval>,
    pub flows: FxHashMap<u64, FlowStore>,
    pub drops: VecDeque<Drop>,
    flow_intervals: usize,
    pub latest_ns: u64,
    /// Start of the newest record with packets; `None` before the first.
    pub reported_ns: Option<u64>,
    /// Start of the newest record of an evicted flow; 0 if no flow was evicted.
    pub flows_evicted_ns: u64,
}

/// Times of a node's records, on its own clock: clocks of different nodes are unrelated.
#[derive(Debug, Default)]
pub(crate) struct NodeTimes {
    /// End of the newest record.
    latest_ns: u64,
    /// `latest_ns` at the last expiry.
    expired_ns: u64,
    /// Start of the newest record with packets; `None` before the first.
    pub reported_ns: Option<u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub links: FxHashMap<LinkId, LinkStore>,
    pub nodes: FxHashMap<u32, NodeTimes>,
    /// Queues with interval records, by node and port.
    queues: FxHashMap<(u32, u32), Vec<u32>>,
    pub info: FxHashMap<u64, FlowInfo>,
    pub events: FxHashMap<u64, VecDeque<FlowEvent>>,
    event_count: usize,
    /// Flows with interval records, over all links.
    flow_count: usize,
    pub evicted: Evicted,
    /// Nodes whose reports come only with packets that reached their sink, and so show no drops.
    pub nodes_of_hops_alone: Vec<u32>,
    /// Nodes for which two clocks report.
    pub nodes_of_two_clocks: Vec<u32>,
}

/// Inserts by time; records arrive nearly in order, so the place is near the end.
fn insert<T>(queue: &mut VecDeque<T>, item: T, time: impl Fn(&T) -> u64) {
    let at = time(&item);
    let mut place = queue.len();
    while place > 0 && queue.get(place - 1).is_some_and(|q| time(q) > at) {
        place -= 1;
    }
    if queue.len() == queue.capacity() {
        // Doubling would leave up to half of the memory of many links unused.
        queue.reserve_exact(1.max(queue.len() / 8));
    }
    queue.insert(place, item);
}

/// Whether a record has packets.
pub(crate) fn has_packets(r: &LinkInterval) -> bool {
    r.packets > 0 || r.arrivals > 0 || r.drops > 0
}

impl Store {
    pub fn push_link_interval(&mut self, record: LinkInterval, max: usize) {
        let id = LinkId::new(record.node_id, record.port, record.queue);
        let link = self.links.entry(id).or_default();
        if link.intervals.is_empty() {
            let queues = self.queues.entry((id.node_id, id.port)).or_default();
            if !queues.contains(&id.queue) {
                queues.push(id.queue);
            }
        }
        let end = record.start_ns.saturating_add(record.duration_ns);
        link.latest_ns = link.latest_ns.max(end);
        let node = self.nodes.entry(id.node_id).or_default();
        node.latest_ns = node.latest_ns.max(end);
        if has_packets(&record) {
            link.reported_ns = link.reported_ns.max(Some(record.start_ns));
            node.reported_ns = node.reported_ns.max(Some(record.start_ns));
        }
        insert(&mut link.intervals, record, |r| r.start_ns);
        while link.intervals.len() > max {
            link.intervals.pop_front();
            self.evicted.link_intervals += 1;
        }
    }

    pub fn push_flow_interval(&mut self, record: FlowInterval) {
        let id = LinkId::new(record.node_id, record.port, record.queue);
        let link = self.links.entry(id).or_default();
        link.flow_intervals += 1;
        let flow = link.flows.entry(record.flow_id).or_default();
        if flow.intervals.is_empty() {
            self.flow_count += 1;
        }
        insert(&mut flow.intervals, record, |r| r.start_ns);
    }

    pub fn push_drop(&mut self, drop: Drop, max: usize) {
        let id = LinkId::new(drop.node_id, drop.port, drop.queue);
        let link = self.links.entry(id).or_default();
        insert(&mut link.drops, drop, |d| d.time_ns);
        while link.drops.len() > max {
            link.drops.pop_front();
            self.evicted.drops += 1;
        }
    }

    pub fn push_event(&mut self, event: FlowEvent, max: usize) {
        if self.event_count >= max {
            // Makes room by dropping the oldest event of this flow; without any, drops this event.
            match self
                .events
                .get_mut(&event.flow_id)
                .and_then(VecDeque::pop_front)
            {
                Some(_) => self.event_count -= 1,
                None => {
                    self.evicted.events += 1;
                    return;
                }
            }
            self.evicted.events += 1;
        }
        self.event_count += 1;
        insert(self.events.entry(event.flow_id).or_default(), event, |e| {
            e.time_ns
        });
    }

    pub fn push_info(&mut self, info: FlowInfo) {
        self.info.insert(info.flow_id, info);
    }

    /// Removes what is dated by the clock of a restarted node. Descriptions of flows stay: the
    /// collector numbers flows, not the node.
    pub fn forget_node(&mut self, node_id: u32) {
        self.links.retain(|id, _| id.node_id != node_id);
        self.queues.retain(|&(node, _), _| node != node_id);
        self.nodes.remove(&node_id);
        self.flow_count = self.links.values().map(|l| l.flows.len()).sum();
        // Events have no node; events of a flow on another link are dated by that node's clock.
        let links = &self.links;
        let count = &mut self.event_count;
        self.events.retain(|flow, events| {
            let elsewhere = links.values().any(|l| l.flows.contains_key(flow));
            if !elsewhere {
                *count -= events.len();
            }
            elsewhere
        });
    }

    /// Removes the records of a link; its flows may cross other links.
    pub fn forget_link(&mut self, link: LinkId) {
        if let Some(gone) = self.links.remove(&link) {
            self.flow_count -= gone.flows.len();
        }
        let port = (link.node_id, link.port);
        if let Some(queues) = self.queues.get_mut(&port) {
            queues.retain(|&q| q != link.queue);
            if queues.is_empty() {
                self.queues.remove(&port);
            }
        }
    }

    /// The other queues of a link's port.
    pub fn other_queues(&self, id: LinkId) -> impl Iterator<Item = (u32, &LinkStore)> {
        let queues = self.queues.get(&(id.node_id, id.port));
        let others = queues
            .into_iter()
            .flatten()
            .filter(move |&&q| q != id.queue);
        others.filter_map(move |&queue| {
            let other = LinkId { queue, ..id };
            Some((queue, self.links.get(&other)?))
        })
    }

    /// Flows with interval records, over all links.
    pub fn flow_count(&self) -> usize {
        self.flow_count
    }

    /// Whether there are too many flows to wait for the next expiry.
    pub fn is_crowded(&self, max_flows: usize) -> bool {
        let limit = max_flows.saturating_add(max_flows / 4);
        self.flow_count > limit || self.info.len() > limit
    }
}
