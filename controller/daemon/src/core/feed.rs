// SPDX-License-Identifier: Apache-2.0
//! What is known through one collector: its nodes, the estimator it feeds, the
//! series of its links and its counters.

use super::flow_windows::FlowWindows;
use super::series::LinkSeries;
use super::switch_clock::SwitchClock;
use std::collections::BTreeMap;
use tidemark_control::Timestamp;
use tidemark_estimators::{
    Estimate, Estimator, EstimatorConfig, Evicted, LinkEstimate, LinkId, OccupancyDistribution,
};
use tidemark_proto::telemetry::{CollectorInfo, CollectorStatus, Port, Update};

/// A record this much older than the last one is of a clock that restarted.
const BACK_IN_TIME_NS: u64 = 1_000_000_000;

/// A link that is not configured is forgotten after this much silence, by its
/// node's clock.
const FORGET_UNNAMED_NS: u64 = 60_000_000_000;

/// Bounds of what is kept of a finished run: two hours of 20 flows take a gigabyte.
const WHOLE_RUN: Bounds = Bounds {
    link_intervals: 1_000_000,
    flow_intervals: 4_000_000,
    drops: 4_000_000,
    events: 4_000_000,
    charts: 6,
};

/// How much is kept beyond what is kept of a live collector.
struct Bounds {
    link_intervals: usize,
    flow_intervals: usize,
    drops: usize,
    events: usize,
    /// Series and windows, times as much.
    charts: usize,
}

/// One collector's telemetry.
#[derive(Debug)]
pub struct Feed {
    pub address: String,
    pub connected: bool,
    /// Why it is not connected.
    pub problem: Option<String>,
    /// Connections made so far.
    pub connections: u64,
    pub info: CollectorInfo,
    pub status: CollectorStatus,
    /// Updates received over all connections.
    pub updates: u64,
    /// Updates missed because we read too slowly.
    pub updates_lost: u64,
    pub last_update: Option<Timestamp>,
    /// When the last `status` came.
    pub last_status: Option<Timestamp>,
    pub series: BTreeMap<LinkId, LinkSeries>,
    /// Windows of flows, by link.
    pub windows: BTreeMap<LinkId, FlowWindows>,
    pub clocks: BTreeMap<u32, SwitchClock>,
    /// Where the collector says that the records of a queue of a link begin.
    firsts: BTreeMap<(LinkId, u32), u64>,
    estimator: Estimator,
    config: EstimatorConfig,
    /// Bounds of series and windows, times those of a live collector.
    charts: usize,
}

impl Feed {
    /// One of `feeds`, not connected yet.
    pub fn new(address: &str, retention_s: f64, feeds: usize) -> Self {
        let all = EstimatorConfig::default();
        let config = EstimatorConfig {
            retention_s,
            max_all_link_intervals: all.max_all_link_intervals / feeds.max(1),
            max_all_flow_intervals: all.max_all_flow_intervals / feeds.max(1),
            ..all
        };
        Self::of(address, config, 1)
    }

    /// A feed that keeps a finished run, as `analyze` does, within bounds.
    pub fn of_whole_run(address: &str) -> Self {
        let config = EstimatorConfig {
            retention_s: 1e9,
            max_link_intervals: WHOLE_RUN.link_intervals,
            max_flow_intervals: WHOLE_RUN.flow_intervals,
            max_all_link_intervals: usize::MAX,
            max_all_flow_intervals: usize::MAX,
            max_drops: WHOLE_RUN.drops,
            max_events: WHOLE_RUN.events,
            max_flows: usize::MAX,
            max_listed_flows: usize::MAX,
            ..Default::default()
        };
        Self::of(address, config, WHOLE_RUN.charts)
    }

    fn of(address: &str, config: EstimatorConfig, charts: usize) -> Self {
        Self {
            address: address.into(),
            connected: false,
            problem: None,
            connections: 0,
            info: CollectorInfo::default(),
            status: CollectorStatus::default(),
            updates: 0,
            updates_lost: 0,
            last_update: None,
            last_status: None,
            series: BTreeMap::new(),
            windows: BTreeMap::new(),
            clocks: BTreeMap::new(),
            firsts: BTreeMap::new(),
            estimator: Estimator::new(config.clone()),
            config,
            charts,
        }
    }

    /// Records that the bounds of memory had no room for.
    pub fn evicted(&self) -> Evicted {
        self.estimator.evicted()
    }

    /// The collector answered. A new `instance` means that it was restarted: it
    /// numbers its flows from the start again, so what was kept of them is
    /// forgotten. Returns whether it was.
    pub fn connected(&mut self, info: CollectorInfo) -> bool {
        let restarted = self.info.instance != info.instance && !self.info.instance.is_empty();
        if restarted {
            self.estimator = Estimator::new(self.config.clone());
            self.status = CollectorStatus::default();
            self.firsts.clear();
            self.windows.clear();
        }
        self.estimator.set_nodes(&info.nodes);
        self.info = info;
        self.connected = true;
        self.problem = None;
        self.connections += 1;
        restarted
    }

    /// The connection ended.
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
        let restarted = self.restarted(update);
        for &node in &restarted {
            self.estimator.forget_node(node);
            self.series.retain(|id, _| id.node_id != node);
            self.windows.retain(|id, _| id.node_id != node);
            self.clocks.remove(&node);
            self.firsts.retain(|(id, _), _| id.node_id != node);
        }
        self.estimator.push(update);
        let (interval_ms, charts) = (self.info.interval_ms, self.charts);
        for i in &update.link_intervals {
            let id = LinkId {
                node_id: i.node_id,
                port: i.port,
            };
            if i.first_start_ns > 0 {
                self.firsts.insert((id, i.queue), i.first_start_ns);
            }
            self.series
                .entry(id)
                .or_insert_with(|| LinkSeries::keeping(interval_ms, charts))
                .push(i, at);
        }
        for i in &update.flow_intervals {
            let id = LinkId {
                node_id: i.node_id,
                port: i.port,
            };
            // Of a link that the series know: they are what is forgotten.
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
        if let Some(s) = update.status {
            self.status = s;
            self.last_status = Some(at);
        }
        restarted
    }

    /// Nodes that go back in time by more than what reports may be late, or
    /// whose records the collector lets begin again.
    fn restarted(&self, update: &Update) -> Vec<u32> {
        let intervals = update.link_intervals.iter().filter_map(|i| {
            let id = LinkId {
                node_id: i.node_id,
                port: i.port,
            };
            let last_ns = self.series.get(&id)?.last_ns;
            let back = i.start_ns.saturating_add(BACK_IN_TIME_NS) < last_ns;
            let anew = self
                .firsts
                .get(&(id, i.queue))
                .is_some_and(|&f| i.first_start_ns > 0 && f != i.first_start_ns);
            // The collector forgets a silent port that is not configured. When that
            // port comes again, no clock has restarted.
            let again = anew && (self.port(id).is_some() || i.first_start_ns < last_ns);
            (back || again).then_some(i.node_id)
        });
        let watermarks = update.watermarks.iter().filter_map(|w| {
            let before_ns = self.clocks.get(&w.node_id)?.watermark_ns();
            (w.time_ns.saturating_add(BACK_IN_TIME_NS) < before_ns).then_some(w.node_id)
        });
        let mut nodes: Vec<u32> = intervals.chain(watermarks).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Forgets links that are not configured and have been silent: whoever can
    /// make up egress ports would else fill the memory with them.
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
            self.firsts.retain(|(of, _), _| *of != id);
            self.estimator.forget_link(id);
        }
    }

    /// Links with data.
    pub fn links(&self) -> Vec<LinkId> {
        self.estimator.links()
    }

    /// The estimate over `[from_ns, to_ns)` of the switch's clock.
    pub fn estimate(&self, link: LinkId, from_ns: u64, to_ns: u64) -> LinkEstimate {
        self.estimator.estimate(link, from_ns, to_ns)
    }

    /// N_b alone over `[from_ns, to_ns)` of the switch's clock.
    pub fn n_b(&self, link: LinkId, from_ns: u64, to_ns: u64) -> Estimate {
        self.estimator.n_b(link, from_ns, to_ns)
    }

    /// The estimate of a time that is over. Its lost reports are those told until now:
    /// which are missing is known from the next report, after that time.
    pub fn outcome(&self, link: LinkId, from_ns: u64, to_ns: u64) -> LinkEstimate {
        let mut estimate = self.estimate(link, from_ns, to_ns);
        let until_now = self.estimate(link, from_ns, to_ns.max(self.complete_ns(link)));
        estimate.reports_lost = estimate.reports_lost.max(until_now.reports_lost);
        estimate
    }

    /// The occupancy met by arrivals within `[from_ns, to_ns)` of the switch's
    /// clock, at the last limit there.
    pub fn occupancy(&self, link: LinkId, from_ns: u64, to_ns: u64) -> OccupancyDistribution {
        self.estimator.occupancy_distribution(link, from_ns, to_ns)
    }

    /// Time of which records are kept of a link.
    pub fn span(&self, link: LinkId) -> Option<(u64, u64)> {
        self.estimator.span(link)
    }

    /// Now, on the clock of a link's node, as well as the telemetry tells.
    pub fn now_ns(&self, link: LinkId, now: Timestamp) -> u64 {
        self.clocks
            .get(&link.node_id)
            .map(|c| c.now_ns(now))
            .filter(|&now_ns| now_ns > 0)
            .unwrap_or_else(|| self.series.get(&link).map_or(0, |s| s.last_ns))
    }

    /// Configuration of a port, where the collector has one.
    pub fn port(&self, link: LinkId) -> Option<&Port> {
        let node = self.info.nodes.iter().find(|n| n.node_id == link.node_id)?;
        node.ports.iter().find(|p| p.port == link.port)
    }

    /// Name of a node; empty when it has none.
    pub fn node_name(&self, node_id: u32) -> &str {
        let node = self.info.nodes.iter().find(|n| n.node_id == node_id);
        node.map_or("", |n| n.name.as_str())
    }

    /// Length of an interval record, ns.
    pub fn interval_ns(&self) -> u64 {
        u64::from(self.info.interval_ms.max(1)) * 1_000_000
    }

    /// End of what has arrived completely of a link, rounded down to whole
    /// intervals; 0 when nothing has.
    pub fn complete_ns(&self, link: LinkId) -> u64 {
        let watermark = self
            .clocks
            .get(&link.node_id)
            .map(SwitchClock::watermark_ns);
        let end = match watermark {
            Some(w) if w > 0 => w,
            _ => self.series.get(&link).map_or(0, |s| s.last_ns),
        };
        end - end % self.interval_ns()
    }

    /// Age of the newest report of a link, s; `None` before the first. By the
    /// switch's clock, so that what comes late is as old as it is; by its arrival
    /// where that clock is not known.
    pub fn report_age_s(&self, link: LinkId, at: Timestamp) -> Option<f64> {
        let series = self.series.get(&link)?;
        let since_heard_s = at.since_s(series.heard?);
        let clock = self.clocks.get(&link.node_id);
        let by_clock_s = clock.and_then(|c| c.age_s(series.reported_ns, at));
        Some(by_clock_s.map_or(since_heard_s, |s| s.max(since_heard_s)))
    }

    /// Age of the newest report of any link of a node, s.
    pub fn node_age_s(&self, node: u32, at: Timestamp) -> Option<f64> {
        let port = |port| LinkId {
            node_id: node,
            port,
        };
        let of_node = self.series.range(port(0)..=port(u32::MAX));
        let ages = of_node.filter_map(|(&id, _)| self.report_age_s(id, at));
        ages.reduce(f64::min)
    }

    /// How far what has arrived of a node lies behind its clock, s.
    pub fn lag_s(&self, node: u32, at: Timestamp) -> Option<f64> {
        let clock = self.clocks.get(&node)?;
        clock.age_s(clock.watermark_ns(), at)
    }

    /// Seconds since the last update; `None` before the first.
    pub fn age_s(&self, at: Timestamp) -> Option<f64> {
        let last = self.last_update?;
        Some(at.since_s(last))
    }
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
