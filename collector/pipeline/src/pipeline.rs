// SPDX-License-Identifier: Apache-2.0
//! The pipeline itself: reports and tcp_probe events in, rows and updates out.

mod events;
mod flows;
mod join;
mod publish;
mod reports;
mod staging;

pub use staging::Datagram;

use crate::aggregate::{AggregateConfig, Aggregator};
use crate::clock::NodeClock;
use crate::config::{Config, ConfigError};
use crate::flow::Flow;
use crate::node::NodeState;
use crate::queue::Queue;
use crate::rows::{Event, EventRow, FlowRow, Sink};
use crate::stats::Stats;
use crate::table::{FlowTable, Found};
use int_report::sequence::{StreamConfig, StreamTable};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Nodes that reports may name.
const MAX_NODES: usize = 1024;
/// Hosts that may send samples.
const MAX_HOSTS: usize = 1024;
/// (exporter, node, hw_id) streams.
const MAX_STREAMS: usize = 4096;
struct Held {
    due_rx_ns: u64,
    host: u16,
    event: tcp_probe::Event,
    /// Its flow, if that was known when it was fetched ahead.
    slot: Option<Found>,
}

struct Node {
    state: NodeState,
    clock: NodeClock,
    pending: u64,
    /// Reports missing, to be told with the next row.
    lost_before: i32,
    last_rx_ns: u64,
    first_rx_ns: u64,
    idle_mark_ns: u64,
    configured: bool,
}

/// Pure: time comes in with the data and through [`Pipeline::advance`].
pub struct Pipeline<S> {
    config: Config,
    sink: S,
    nodes: Vec<Node>,
    node_index: FxHashMap<u32, u16>,
    /// Of the report before: reports of a node come in runs.
    last_node: u16,
    hosts: Vec<String>,
    local: Option<u16>,
    streams: StreamTable,
    skip_datagram: bool,
    flows: FlowTable,
    queue: Queue,
    join_wait_ns: u64,
    held: VecDeque<Held>,
    aggregator: Aggregator,
    now_rx_ns: u64,
    unix_minus_rx_ns: i64,
    order: u64,
    next_clock_ns: u64,
    next_publish_ns: u64,
    stats: Stats,
}

impl<S: Sink> Pipeline<S> {
    /// # Errors
    /// When the configuration cannot be used.
    pub fn new(config: Config, sink: S) -> Result<Self, ConfigError> {
        config.validate()?;
        let hosts: Vec<String> = config.local_host.iter().cloned().collect();
        let mut pipeline = Self {
            local: (!hosts.is_empty()).then_some(0),
            hosts,
            sink,
            nodes: Vec::new(),
            node_index: FxHashMap::default(),
            last_node: 0,
            streams: StreamTable::new(StreamConfig::default(), MAX_STREAMS),
            skip_datagram: false,
            flows: FlowTable::new(config.max_flows),
            queue: Queue::default(),
            join_wait_ns: u64::from(config.join_wait_ms) * 1_000_000,
            held: VecDeque::new(),
            aggregator: Aggregator::new(AggregateConfig::from(&config)),
            now_rx_ns: 0,
            unix_minus_rx_ns: 0,
            order: 0,
            next_clock_ns: 0,
            next_publish_ns: 0,
            stats: Stats::default(),
            config,
        };
        for (host, name) in pipeline.hosts.clone().into_iter().enumerate() {
            let host = host as u16;
            pipeline.emit_event(Event::Host { host, name });
        }
        Ok(pipeline)
    }

    /// Difference between Unix time and the clock of reception times.
    pub fn set_unix_offset(&mut self, unix_minus_rx_ns: i64) {
        self.unix_minus_rx_ns = unix_minus_rx_ns;
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Names of hosts, in the order of [`crate::ProbeRow::host`].
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    pub fn sink(&self) -> &S {
        &self.sink
    }

    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    pub fn into_sink(self) -> S {
        self.sink
    }

    /// Totals so far.
    pub fn stats(&self) -> Stats {
        let mut s = self.stats.clone();
        let streams = self.streams.total();
        s.reports_lost = streams.lost;
        s.reports_late = streams.late;
        s.reports_stale = streams.stale;
        s.stream_restarts = streams.restarts;
        s.streams_refused = self.streams.refused();
        s.negative_delays = self.nodes.iter().map(|n| n.state.negative_delays).sum();
        s.flows_evicted = self.flows.evicted();
        let misfits = self.aggregator.misfits();
        s.rows_late = misfits.late;
        s.rows_ahead = misfits.ahead;
        s.links_refused = misfits.links_refused;
        s
    }

    /// Flows remembered now.
    pub fn flows_active(&self) -> usize {
        self.flows.active()
    }

    /// Packets waiting for their sample, and samples held back.
    pub fn waiting(&self) -> (usize, usize) {
        (self.queue.len(), self.held.len())
    }

    /// Tells the time of the collector's clock; call it a few times a second.
    pub fn advance(&mut self, now_rx_ns: u64) {
        self.now_rx_ns = self.now_rx_ns.max(now_rx_ns);
        self.release_held(self.now_rx_ns);
        self.emit_ready(self.now_rx_ns);
        self.close_idle();
        self.periodic();
    }

    /// Ends everything that is open.
    pub fn finish(&mut self) {
        self.release_held(u64::MAX);
        self.emit_ready(u64::MAX);
        for node in &mut self.nodes {
            node.clock.update();
        }
        self.publish();
        if let Some(update) = self.aggregator.finish() {
            self.sink.update(update);
        }
        self.publish_status();
    }

    #[inline]
    fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order - 1
    }

    fn emit_event(&mut self, event: Event) {
        let row = EventRow {
            order: self.next_order(),
            event,
        };
        self.stats.event_rows += 1;
        self.sink.event(&row);
        if let Some(update) = self.aggregator.event(&row) {
            self.sink.update(update);
        }
    }

    fn announce(&mut self, slot: u32) {
        let Some(flow) = self.flows.get(slot) else {
            return;
        };
        let row = self.flow_row(flow);
        self.emit_event(Event::Flow(row));
    }

    fn flow_row(&self, flow: &Flow) -> FlowRow {
        FlowRow {
            flow_id: flow.id,
            key: flow.key,
            node_id: self
                .nodes
                .get(usize::from(flow.first_node))
                .map_or(0, |n| n.state.node_id),
            first_seen_ns: flow.first_seen_ns,
            probed: flow.probed,
            handshake_rtt_ns: flow.handshake_rtt_ns,
            mss_bytes: flow.mss_bytes,
        }
    }

    fn host(&mut self, name: &str) -> Option<u16> {
        if let Some(i) = self.hosts.iter().position(|h| h == name) {
            return Some(i as u16);
        }
        if self.hosts.len() >= MAX_HOSTS {
            return None;
        }
        self.hosts.push(name.to_owned());
        let host = (self.hosts.len() - 1) as u16;
        self.emit_event(Event::Host {
            host,
            name: name.to_owned(),
        });
        Some(host)
    }

    #[inline]
    fn node(&mut self, node_id: u32, rx_ns: u64) -> Option<u16> {
        let last = self.nodes.get(usize::from(self.last_node));
        if last.is_some_and(|n| n.state.node_id == node_id) {
            return Some(self.last_node);
        }
        self.last_node = self.find_node(node_id, rx_ns)?;
        Some(self.last_node)
    }

    fn find_node(&mut self, node_id: u32, rx_ns: u64) -> Option<u16> {
        if let Some(&i) = self.node_index.get(&node_id) {
            return Some(i);
        }
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        let config = self.config.nodes.get(&node_id);
        let node = Node {
            configured: config.is_some(),
            state: NodeState::new(
                node_id,
                config.cloned().unwrap_or_default(),
                self.config.max_clock_step_ms,
            ),
            clock: NodeClock::new(self.local),
            pending: 0,
            lost_before: 0,
            last_rx_ns: rx_ns,
            first_rx_ns: rx_ns,
            idle_mark_ns: 0,
        };
        let i = self.nodes.len() as u16;
        self.nodes.push(node);
        self.node_index.insert(node_id, i);
        Some(i)
    }
}

#[cfg(test)]
mod quick_tests;
#[cfg(test)]
mod tests;
