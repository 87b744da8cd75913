// SPDX-License-Identifier: Apache-2.0
//! Streaming entry point: takes updates and estimates links.

use crate::assemble;
use crate::classify::Observation;
use crate::config::EstimatorConfig;
use crate::store::{Evicted, Store};
use crate::types::{Estimate, FlowKeyText, LinkEstimate, LinkId, LinkInfo};
use crate::window::LinkWindow;
use rustc_hash::FxHashMap;
use tidemark_proto::telemetry::{LinkInterval, Node, Update};

/// Estimates links from the telemetry of one collector.
///
/// Memory is bounded by [`EstimatorConfig`]; pushing costs O(records).
#[derive(Debug, Default)]
pub struct Estimator {
    config: EstimatorConfig,
    store: Store,
    /// Configuration of the ports, by node and port.
    ports: FxHashMap<(u32, u32), LinkInfo>,
}

impl Estimator {
    /// An empty estimator.
    pub fn new(config: EstimatorConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// Sets names, capacities and overheads of the ports, from `CollectorInfo.nodes`. May be called
    /// again after changes.
    pub fn set_nodes(&mut self, nodes: &[Node]) {
        for node in nodes {
            for port in &node.ports {
                self.set_port(
                    (node.node_id, port.port),
                    LinkInfo {
                        node_name: node.name.clone(),
                        port_name: port.name.clone(),
                        capacity_bps: port.capacity_bps,
                        wire_overhead_bytes: port.wire_overhead_bytes,
                        queue_overhead_bytes: port.queue_overhead_bytes,
                    },
                );
            }
        }
    }

    /// Sets name, capacity and overheads of one port of a node.
    pub fn set_port(&mut self, (node_id, port): (u32, u32), info: LinkInfo) {
        self.ports.insert((node_id, port), info);
    }

    /// Removes the records of a node whose clock restarted: they would lie in the future of new
    /// records.
    pub fn forget_node(&mut self, node_id: u32) {
        self.store.forget_node(node_id);
    }

    /// Removes the records of a link; its configuration stays.
    pub fn forget_link(&mut self, link: LinkId) {
        self.store.forget_link(link);
    }

    /// Processes one update of the collector's stream.
    pub fn push(&mut self, update: &Update) {
        let c = &self.config;
        if let Some(s) = &update.status {
            let store = &mut self.store;
            (store.nodes_of_hops_alone).clone_from(&s.nodes_of_hops_alone);
            (store.nodes_of_two_clocks).clone_from(&s.nodes_of_two_clocks);
        }
        for info in &update.flows {
            self.store.push_info(info.clone());
        }
        for record in &update.link_intervals {
            self.store
                .push_link_interval(record.clone(), c.max_link_intervals);
        }
        for record in &update.flow_intervals {
            self.store.push_flow_interval(*record);
        }
        for drop in &update.drops {
            self.store.push_drop(*drop, c.max_drops);
        }
        for event in &update.events {
            self.store.push_event(*event, c.max_events);
        }
        // Expiry visits all flows: once per percent of the retention is enough.
        let retention_ns = (c.retention_s.max(0.0) * 1e9) as u64;
        let due = self.store.is_expiry_due(retention_ns / 100);
        if due || self.store.is_crowded(c.max_flows) {
            self.store.evict_flows(c.max_flows, c.short_packets);
            self.store.expire(c);
        }
    }

    /// Whether the node is seen only in metadata of packets (INT-MD), which shows no drops.
    pub fn are_drops_untold(&self, node_id: u32) -> bool {
        self.store.nodes_of_hops_alone.contains(&node_id)
    }

    /// Whether no packet of a link has been reported since `since_ns`.
    pub fn is_quiet(&self, link: LinkId, since_ns: u64) -> bool {
        let newest = self.store.links.get(&link).and_then(|l| l.reported_ns);
        newest.is_none_or(|start_ns| start_ns < since_ns)
    }

    /// Links with interval records, in order.
    pub fn links(&self) -> Vec<LinkId> {
        let mut ids: Vec<LinkId> = self
            .store
            .links
            .iter()
            .filter(|(_, l)| !l.intervals.is_empty())
            .map(|(&id, _)| id)
            .collect();
        ids.sort_unstable();
        ids
    }

    /// Time span of a link's records: start of the oldest and end of the newest interval.
    pub fn span(&self, link: LinkId) -> Option<(u64, u64)> {
        let store = self.store.links.get(&link)?;
        Some((store.intervals.front()?.start_ns, store.latest_ns))
    }

    /// Interval records of a link, oldest first.
    pub(crate) fn link_intervals(
        &self,
        link: LinkId,
    ) -> impl DoubleEndedIterator<Item = &LinkInterval> {
        let kept = self.store.links.get(&link);
        kept.into_iter().flat_map(|l| l.intervals.iter())
    }

    /// Estimates a link over the intervals within `[from_ns, to_ns)` (the node's clock). A link
    /// without records gives an empty estimate with regime unknown.
    pub fn estimate(&self, link: LinkId, from_ns: u64, to_ns: u64) -> LinkEstimate {
        assemble::link(&self.window(link, from_ns, to_ns), &self.config)
    }

    /// [`Self::estimate`], and N_b alone over the last part, from `recent_ns` on, for little more
    /// time. The flows' history begins for both at the start of the whole window's history, so that
    /// this N_b may differ a little from [`Self::n_b`] over the same part.
    pub fn estimate_and_recent_n_b(
        &self,
        link: LinkId,
        from_ns: u64,
        to_ns: u64,
        recent_ns: u64,
    ) -> (LinkEstimate, Estimate) {
        let window = self.window(link, from_ns, to_ns);
        assemble::link_and_recent_n_b(window, recent_ns, &self.config)
    }

    /// N_b alone over `[from_ns, to_ns)`: the value of [`Self::estimate`] in less time.
    pub fn n_b(&self, link: LinkId, from_ns: u64, to_ns: u64) -> Estimate {
        assemble::n_b(&self.window(link, from_ns, to_ns), &self.config)
    }

    /// Observations of each flow whose class is decided by the weights, over the same window, for
    /// calibrating the weights.
    pub fn observations(
        &self,
        link: LinkId,
        from_ns: u64,
        to_ns: u64,
    ) -> Vec<(Option<FlowKeyText>, Observation)> {
        assemble::classified(&self.window(link, from_ns, to_ns), &self.config)
            .into_iter()
            .filter_map(|(key, c)| Some((key, c.observed?)))
            .collect()
    }

    fn window(&self, link: LinkId, from_ns: u64, to_ns: u64) -> LinkWindow<'_> {
        let info = self.ports.get(&(link.node_id, link.port));
        LinkWindow::gather(&self.store, &self.config, link, info, from_ns, to_ns)
    }

    /// Records removed so far by the limits on memory.
    pub fn evicted(&self) -> Evicted {
        self.store.evicted
    }

    /// Memory used by all records, bytes.
    pub fn memory_bytes(&self) -> usize {
        self.store.memory_bytes()
    }

    /// Current number of flows with interval records, over all links.
    pub fn flows_kept(&self) -> usize {
        self.store.flow_count()
    }

    /// Current number of described flows.
    pub fn flow_count(&self) -> usize {
        self.store.info.len()
    }
}
