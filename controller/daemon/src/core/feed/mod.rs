// SPDX-License-Identifier: Apache-2.0
//! State of one collector: its nodes, the estimator it feeds, the series of its links and
//! its counters.

mod bounds;
mod silence;
mod time;

pub use silence::Silence;

use super::flow_windows::FlowWindows;
use super::series::{LinkSeries, reports};
use super::switch_clock::SwitchClock;
use std::collections::BTreeMap;
use tidemark_control::Timestamp;
use tidemark_estimators::{
    Estimator, EstimatorConfig, Evicted, LinkEstimate, LinkId, OccupancyDistribution,
};
use tidemark_proto::telemetry::{CollectorInfo, CollectorStatus, Port, Update};

/// A record this much older than the last one means that the clock restarted.
const BACK_IN_TIME_NS: u64 = 1_000_000_000;

/// An unconfigured link is forgotten after this much silence, by its node's clock.
const FORGET_UNNAMED_NS: u64 = 60_000_000_000;

/// Telemetry of one collector.
#[derive(Debug, Default)]
pub struct Feed {
    /// gRPC address of the collector.
    pub address: String,
    /// Whether its stream is open.
    pub connected: bool,
    /// Why it is not connected.
    pub problem: Option<String>,
    /// Connections made so far.
    pub connections: u64,
    /// Its newest description of itself.
    pub info: CollectorInfo,
    /// Its newest counters.
    pub status: CollectorStatus,
    /// Updates received over all connections.
    pub updates: u64,
    /// Updates missed because we read too slowly.
    pub updates_lost: u64,
    /// When the last update arrived.
    pub last_update: Option<Timestamp>,
    /// When the last `status` arrived.
    pub last_status: Option<Timestamp>,
    /// Series of the charts, by link.
    pub series: BTreeMap<LinkId, LinkSeries>,
    /// Windows of flows, by link.
    pub windows: BTreeMap<LinkId, FlowWindows>,
    /// Clocks of the switches, by node.
    pub clocks: BTreeMap<u32, SwitchClock>,
    /// Times when switches were silent, by node.
    pub silences: BTreeMap<u32, Silence>,
    /// Start of the records of a link, according to the collector.
    firsts: BTreeMap<LinkId, u64>,
    pub(super) estimator: Estimator,
    config: EstimatorConfig,
    /// Factor for the bounds of series and windows, relative to a live collector.
    charts: usize,
}

impl Feed {
    fn of(address: &str, config: EstimatorConfig, charts: usize) -> Self {
        Self {
            address: address.into(),
            estimator: Estimator::new(config.clone()),
            config,
            charts,
            ..Self::default()
        }
    }

    /// Returns how many records were evicted for lack of memory.
    pub fn evicted(&self) -> Evicted {
        self.estimator.evicted()
    }

    /// Notes that the collector answered. A new `instance` means that it was restarted: it numbers
    /// its flows from the start again, so their records are forgotten. Returns whether it was
    /// restarted.
    pub fn connected(&mut self, info: CollectorInfo) -> bool {
        let restarted = self.info.instance != info.instance && !self.info.instance.is_empty();
        if restarted {
            self.estimator = Estimator::new(self.config.clone());
            self.status = CollectorStatus::default();
            self.firsts.clear();
            self.windows.clear();
            let clocks = self.clocks.values_mut();
            clocks.for_each(SwitchClock::collector_restarted);
        }
        self.estimator.set_nodes(&info.nodes);
        self.info = info;
        self.connected = true;
        self.problem = None;
        self.connections += 1;
        restarted
    }

    /// Notes that the connection ended.
    pub fn disconnected(&mut self, problem: String) {
        self.connected = false;
        self.problem = Some(problem);
    }

    /// Takes one update; returns the nodes whose clocks restarted with it.
    /// Everything dated by their old clocks is forgotten.
    pub fn push(&mut self, update: &Update, at: Timestamp) -> Vec<u32> {
        self.updates += 1;
        self.updates_lost += update.updates_lost;
        self.last_update = Some(at);
        let restarted = self.restarted(update, at);
        for &node in &restarted {
            self.estimator.forget_node(node);
            self.series.retain(|id, _| id.node_id != node);
            self.windows.retain(|id, _| id.node_id != node);
            self.clocks.remove(&node);
            self.silences.remove(&node);
            self.firsts.retain(|id, _| id.node_id != node);
        }
        self.estimator.push(update);
        let (interval_ms, charts) = (self.info.interval_ms, self.charts);
        for i in &update.link_intervals {
            let id = LinkId::new(i.node_id, i.port, i.queue);
            if i.first_start_ns > 0 {
                self.firsts.insert(id, i.first_start_ns);
            }
            self.series
                .entry(id)
                .or_insert_with(|| LinkSeries::keeping(interval_ms, charts))
                .push(i, at);
        }
        let mut heard: Vec<_> = update
            .link_intervals
            .iter()
            .filter(|i| reports(i))
            .collect();
        // The records are grouped by port.
        heard.sort_unstable_by_key(|i| i.start_ns);
        for i in heard {
            self.silences.entry(i.node_id).or_default().heard(i);
        }
        for i in &update.flow_intervals {
            let id = LinkId::new(i.node_id, i.port, i.queue);
            // Only for a link in the series, because these decide which links are forgotten.
            if self.series.contains_key(&id) {
                let windows = self.windows.entry(id);
                windows
                    .or_insert_with(|| FlowWindows::keeping(interval_ms, charts))
                    .push(i);
            }
        }
        for m in &update.clocks {
            self.clocks.entry(m.node_id).or_default().mapping(m);
        }
        for w in &update.watermarks {
            let clock = self.clocks.entry(w.node_id).or_default();
            clock.watermark(w.time_ns, at);
        }
        if let Some(s) = &update.status {
            self.status.clone_from(s);
            self.last_status = Some(at);
        }
        restarted
    }

    /// Returns the nodes whose time goes back by more than the delay of a report, or whose records
    /// the collector starts again.
    fn restarted(&self, update: &Update, at: Timestamp) -> Vec<u32> {
        let intervals = update.link_intervals.iter().filter_map(|i| {
            let id = LinkId::new(i.node_id, i.port, i.queue);
            let last_ns = self.series.get(&id)?.last_ns;
            let back = i.start_ns.saturating_add(BACK_IN_TIME_NS) < last_ns;
            let from_another_start = self
                .firsts
                .get(&id)
                .is_some_and(|&f| i.first_start_ns > 0 && f != i.first_start_ns);
            // The collector forgets a silent port that is not configured. When that port comes
            // back, no clock has restarted.
            let again =
                from_another_start && (self.port(id).is_some() || i.first_start_ns < last_ns);
            (back || again).then_some(i.node_id)
        });
        let watermarks = update.watermarks.iter().filter_map(|w| {
            let clock = self.clocks.get(&w.node_id)?;
            let back = w.time_ns.saturating_add(BACK_IN_TIME_NS) < clock.watermark_ns();
            (back || clock.restarted_meanwhile(w.time_ns, at)).then_some(w.node_id)
        });
        let mut nodes: Vec<u32> = intervals.chain(watermarks).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Forgets silent links that are not configured. Otherwise a sender that makes up egress ports
    /// would fill the memory with them.
    pub fn forget_silent(&mut self, now: Timestamp) {
        let silent: Vec<LinkId> = self
            .series
            .iter()
            .filter(|(id, s)| {
                self.port(**id).is_none()
                    && self.now_ns(**id, now).saturating_sub(s.last_ns) > FORGET_UNNAMED_NS
            })
            .map(|(&id, _)| id)
            .collect();
        for id in silent {
            self.series.remove(&id);
            self.windows.remove(&id);
            self.firsts.remove(&id);
            self.estimator.forget_link(id);
        }
    }

    /// Estimates a link over `[from_ns, to_ns)` of the switch's clock.
    pub fn estimate(&self, link: LinkId, from_ns: u64, to_ns: u64) -> LinkEstimate {
        self.estimator.estimate(link, from_ns, to_ns)
    }

    /// Estimates a link over a past span. Lost reports are counted until now, because a gap shows
    /// only at the next report, after the span. So the time without records is also that until now,
    /// plus the missing time at its beginning.
    pub fn outcome(&self, link: LinkId, from_ns: u64, to_ns: u64) -> LinkEstimate {
        let mut estimate = self.estimate(link, from_ns, to_ns);
        let until_now = self.estimate(link, from_ns, to_ns.max(self.complete_ns(link)));
        estimate.reports_lost = estimate.reports_lost.max(until_now.reports_lost);
        estimate.unrecorded_s = until_now.unrecorded_s;
        if self.port(link).is_some() {
            let late_ns = until_now.from_ns.saturating_sub(from_ns);
            let late_ns = late_ns.saturating_sub(self.interval_ns());
            estimate.unrecorded_s += late_ns as f64 / 1e9;
        }
        estimate
    }

    /// Returns the distribution of the occupancy met by arrivals within `[from_ns, to_ns)` of the
    /// switch's clock, at the last limit of that span.
    pub fn occupancy(&self, link: LinkId, from_ns: u64, to_ns: u64) -> OccupancyDistribution {
        self.estimator.occupancy_distribution(link, from_ns, to_ns)
    }

    /// Whether a node is seen only in the metadata of packets (INT-MD), which reports no drops.
    pub fn are_drops_untold(&self, node_id: u32) -> bool {
        self.estimator.are_drops_untold(node_id)
    }

    /// Returns the span of time over which records of a link are kept.
    pub fn span(&self, link: LinkId) -> Option<(u64, u64)> {
        self.estimator.span(link)
    }

    /// Returns the configuration of a port, if the collector has one.
    pub fn port(&self, link: LinkId) -> Option<&Port> {
        let node = self.info.nodes.iter().find(|n| n.node_id == link.node_id)?;
        node.ports.iter().find(|p| p.port == link.port)
    }

    /// Returns the name of a node; empty if it has none.
    pub fn node_name(&self, node_id: u32) -> &str {
        let node = self.info.nodes.iter().find(|n| n.node_id == node_id);
        node.map_or("", |n| n.name.as_str())
    }
}

#[cfg(test)]
mod tests;
