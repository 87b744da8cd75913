// SPDX-License-Identifier: Apache-2.0
//! What is known through one collector: its nodes, the estimator it feeds, the
//! series of its links and its counters.

use super::clock::SwitchClock;
use super::series::LinkSeries;
use std::collections::BTreeMap;
use std::time::Instant;
use tidemark_estimators::{Estimator, EstimatorConfig, LinkEstimate, LinkId};
use tidemark_proto::telemetry::{CollectorInfo, CollectorStatus, Port, Update};

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
    pub last_update: Option<Instant>,
    /// When the last `status` came.
    pub last_status: Option<Instant>,
    pub series: BTreeMap<LinkId, LinkSeries>,
    pub clocks: BTreeMap<u32, SwitchClock>,
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
            estimator: Estimator::new(config.clone()),
            config,
        }
    }

    /// The collector answered. A new `instance` means that it was restarted:
    /// it numbers its flows anew, so what was kept of them is forgotten.
    /// Returns whether it was.
    pub fn connected(&mut self, info: CollectorInfo) -> bool {
        let restarted = self.info.instance != info.instance && !self.info.instance.is_empty();
        if restarted {
            self.estimator = Estimator::new(self.config.clone());
            self.status = CollectorStatus::default();
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

    /// Takes one update.
    pub fn push(&mut self, update: &Update, at: Instant) {
        self.updates += 1;
        self.updates_lost += update.updates_lost;
        self.last_update = Some(at);
        self.estimator.push(update);
        let interval_ms = self.info.interval_ms;
        for i in &update.link_intervals {
            let id = LinkId {
                node_id: i.node_id,
                port: i.port,
            };
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
    }

    /// Links with data.
    pub fn links(&self) -> Vec<LinkId> {
        self.estimator.links()
    }

    /// The estimate over `[from_ns, to_ns)` of the switch's clock.
    pub fn estimate(&self, link: LinkId, from_ns: u64, to_ns: u64) -> LinkEstimate {
        self.estimator.estimate(link, from_ns, to_ns)
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
    pub fn age_s(&self, at: Instant) -> Option<f64> {
        let last = self.last_update?;
        Some(at.saturating_duration_since(last).as_secs_f64())
    }
}
