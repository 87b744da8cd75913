// SPDX-License-Identifier: Apache-2.0
//! What is known through one collector: its nodes, the estimator it feeds, the
//! series of its links and its counters.

use super::series::LinkSeries;
use super::switch_clock::SwitchClock;
use std::collections::BTreeMap;
use tidemark_control::Timestamp;
use tidemark_estimators::{
    Estimator, EstimatorConfig, LinkEstimate, LinkId, OccupancyDistribution,
};
use tidemark_proto::telemetry::{CollectorInfo, CollectorStatus, Port, Update};

/// A record this much older than the last one is of a clock that restarted.
const BACK_IN_TIME_NS: u64 = 1_000_000_000;

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
    pub clocks: BTreeMap<u32, SwitchClock>,
    /// Where the collector says that the records of a link begin.
    firsts: BTreeMap<LinkId, u64>,
    estimator: Estimator,
    config: EstimatorConfig,
}

impl Feed {
    /// A feed not connected yet.
    pub fn new(address: &str, retention_s: f64) -> Self {
        let config = EstimatorConfig {
            retention_s,
            ..Default::default()
        };
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
            clocks: BTreeMap::new(),
            firsts: BTreeMap::new(),
            estimator: Estimator::new(config.clone()),
            config,
        }
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
            self.clocks.remove(&node);
            self.firsts.retain(|id, _| id.node_id != node);
        }
        self.estimator.push(update);
        let interval_ms = self.info.interval_ms;
        for i in &update.link_intervals {
            let id = LinkId {
                node_id: i.node_id,
                port: i.port,
            };
            if i.first_start_ns > 0 {
                self.firsts.insert(id, i.first_start_ns);
            }
            self.series
                .entry(id)
                .or_insert_with(|| LinkSeries::new(interval_ms))
                .push(i);
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
            let again = self
                .firsts
                .get(&id)
                .is_some_and(|&f| i.first_start_ns > 0 && f != i.first_start_ns);
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

    /// Links with data.
    pub fn links(&self) -> Vec<LinkId> {
        self.estimator.links()
    }

    /// The estimate over `[from_ns, to_ns)` of the switch's clock.
    pub fn estimate(&self, link: LinkId, from_ns: u64, to_ns: u64) -> LinkEstimate {
        self.estimator.estimate(link, from_ns, to_ns)
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

    /// Seconds since the last update; `None` before the first.
    pub fn age_s(&self, at: Timestamp) -> Option<f64> {
        let last = self.last_update?;
        Some(at.since_s(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::LinkInterval;

    fn update(start_ms: u64, first_ms: u64) -> Update {
        Update {
            link_intervals: vec![LinkInterval {
                node_id: 10,
                port: 5,
                start_ns: start_ms * 1_000_000,
                duration_ns: 1_000_000,
                first_start_ns: first_ms * 1_000_000,
                packets: 1,
                ..LinkInterval::default()
            }],
            ..Update::default()
        }
    }

    #[test]
    fn a_clock_that_restarts_is_noticed() {
        let mut feed = Feed::new("x", 60.0);
        let mut push =
            |start_ms, first_ms| feed.push(&update(start_ms, first_ms), Timestamp::default());
        assert!(push(5000, 5000).is_empty());
        // A little late is not another clock.
        assert!(push(5600, 5000).is_empty());
        assert!(push(4900, 5000).is_empty());
        // Back by less than reports may be late, but begun again.
        assert_eq!(push(4800, 4800), [10]);
        assert!(push(7000, 4800).is_empty());
        assert_eq!(push(100, 100), [10]);
        let id = LinkId {
            node_id: 10,
            port: 5,
        };
        assert_eq!(feed.span(id), Some((100_000_000, 101_000_000)));
        assert_eq!(feed.series[&id].last_ns, 101_000_000);
    }

    #[test]
    fn another_collector_is_not_another_clock() {
        let mut feed = Feed::new("x", 60.0);
        let info = |instance: &str| CollectorInfo {
            instance: instance.into(),
            ..CollectorInfo::default()
        };
        assert!(!feed.connected(info("one")));
        feed.push(&update(5000, 5000), Timestamp::default());
        assert!(feed.connected(info("two")));
        assert!(
            feed.push(&update(6000, 6000), Timestamp::default())
                .is_empty()
        );
    }
}
