// SPDX-License-Identifier: Apache-2.0
//! Everything the controller knows, as one value under one lock.

use super::feed::Feed;
use super::history::History;
use super::phases::Phases;
use super::share::Share;
use super::switch::SwitchState;
use crate::config::{CollectorConfig, Config};
use std::collections::BTreeMap;
use std::sync::Arc;
use tidemark_control::{
    Limit, LinkControl, LinkSettings, Mode, Readings, Settings, TelemetryReading, Timestamp,
};
use tidemark_estimators::LinkId;
use tidemark_rules::{Options, Targets};

/// A collector is silent if its last update is this much older than that of another, ns.
const SILENT_NS: i64 = 3_000_000_000;

/// The state of the controller.
pub struct State {
    config: Arc<Config>,
    settings: Arc<Settings>,
    /// One feed per collector, in the order of the configuration.
    pub feeds: Vec<Feed>,
    /// State of the switches, by node.
    pub switches: BTreeMap<u32, SwitchState>,
    /// The closed loop of every link.
    pub links: BTreeMap<LinkId, LinkControl>,
    /// Targets of links that have none of their own.
    pub default_targets: Targets,
    /// Targets of single links.
    pub link_targets: BTreeMap<LinkId, Targets>,
    /// How far the controller may go in applying advice.
    pub mode: Mode,
    /// Named spans of experiments.
    pub phases: Phases,
    /// Estimates of every link over time.
    pub history: BTreeMap<LinkId, History>,
}

impl State {
    /// Creates the initial state, as configured.
    pub fn new(config: &Arc<Config>) -> Self {
        let feeds = config.collectors.len();
        let feed = |c: &CollectorConfig| Feed::new(&c.address, config.retention_s, feeds);
        let own_targets = config.links.iter().filter_map(|l| {
            let id = LinkId::new(l.node, l.port, l.queue);
            Some((id, l.targets.clone()?))
        });
        let nodes = config.switches.iter();
        Self {
            settings: Arc::new(config.control.clone()),
            feeds: config.collectors.iter().map(feed).collect(),
            switches: nodes.map(|s| (s.node, SwitchState::default())).collect(),
            links: BTreeMap::new(),
            default_targets: config.targets.clone(),
            link_targets: own_targets.collect(),
            mode: config.control.mode,
            phases: Phases::default(),
            history: BTreeMap::new(),
            config: Arc::clone(config),
        }
    }

    /// Returns the loop of a link, which is created if it does not exist.
    pub fn link_mut(&mut self, id: LinkId) -> &mut LinkControl {
        let (mode, targets) = (self.mode, self.targets_of(id));
        self.links.entry(id).or_insert_with(|| {
            let settings = LinkSettings {
                id,
                control: Arc::clone(&self.settings),
                range: self.config.range(id),
                has_switch: self.switches.contains_key(&id.node_id),
                window_s: self.config.window_s,
                retention_s: self.config.retention_s,
            };
            LinkControl::new(settings, mode, targets)
        })
    }

    /// How far back records reach, s.
    pub fn retention_s(&self) -> f64 {
        self.config.retention_s
    }

    /// Returns the feed that heard of the link last, among those that are not silent.
    pub fn feed_of(&self, link: LinkId) -> Option<&Feed> {
        let knowing = || self.feeds.iter().filter(|f| f.series.contains_key(&link));
        let updated_ns = |f: &Feed| f.last_update.map(|at| at.monotonic_ns);
        let newest_ns = knowing().filter_map(updated_ns).max()?;
        let heard_ns = |f: &Feed| f.series.get(&link)?.heard.map(|at| at.monotonic_ns);
        knowing()
            .filter(|f| updated_ns(f).is_some_and(|ns| newest_ns - ns <= SILENT_NS))
            .max_by_key(|f| (heard_ns(f), updated_ns(f)))
    }

    /// Returns all links with data, in order.
    pub fn known_links(&self) -> Vec<LinkId> {
        let all = self.feeds.iter().flat_map(|f| f.series.keys().copied());
        let mut all: Vec<LinkId> = all.collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Forgets silent links that are neither configured nor in use: reports can make up any number
    /// of ports of a switch.
    pub fn forget_silent(&mut self, now: Timestamp) {
        for feed in &mut self.feeds {
            feed.forget_silent(now);
        }
        let (feeds, config, targets) = (&self.feeds, &self.config, &self.link_targets);
        let known = |id: &LinkId| {
            feeds
                .iter()
                .any(|f| f.series.contains_key(id) || f.port(*id).is_some())
        };
        let named = |id: &LinkId| targets.contains_key(id) || config.names_link(*id);
        self.links
            .retain(|id, link| known(id) || named(id) || link.is_in_use());
        for switch in self.switches.values_mut() {
            switch
                .limits
                .retain(|id, _| self.links.contains_key(id) || known(id) || named(id));
        }
        self.history.retain(|id, _| self.links.contains_key(id));
        self.share_memory();
    }

    /// Shortens the charts when there are many links.
    fn share_memory(&mut self) {
        let kept = |f: &Feed| f.series.len();
        let share = Share::among(self.feeds.iter().map(kept).sum());
        for feed in &mut self.feeds {
            feed.series.values_mut().for_each(|s| s.bound(share));
            feed.windows.values_mut().for_each(|w| w.bound(share));
        }
        self.history.values_mut().for_each(|h| h.bound(share));
    }

    /// Returns the targets in force at a link.
    pub fn targets_of(&self, link: LinkId) -> Targets {
        let own = self.link_targets.get(&link);
        own.unwrap_or(&self.default_targets).clone()
    }

    /// Returns the capacity of a link, bits/s; 0 if unknown. For a queue that shares its port it is
    /// the rate at which the queue was served.
    pub fn capacity_bps(&self, link: LinkId) -> u64 {
        let estimate = self.links.get(&link).and_then(|l| l.estimate());
        match estimate.filter(|e| e.shares_port) {
            Some(e) => e.capacity_bps,
            None => (self.feed_of(link).and_then(|f| f.port(link))).map_or(0, |p| p.capacity_bps),
        }
    }

    /// Returns the limit in force: as read from the switch, or else as reported.
    pub fn limit_in_force(&self, link: LinkId) -> Option<Limit> {
        let switch = self.switches.get(&link.node_id);
        let read = switch.and_then(|s| s.limits.get(&link).copied());
        read.or_else(|| {
            let reported = self.feed_of(link)?.series.get(&link)?.limit_bytes;
            (reported > 0).then_some(Limit::DropTail {
                limit_bytes: reported,
            })
        })
    }

    /// Returns the outside readings of a link that its loop needs.
    pub fn readings(&self, link: LinkId, now: Timestamp) -> Readings {
        Readings {
            in_force: self.limit_in_force(link),
            telemetry: self.feed_of(link).map(|f| TelemetryReading {
                age_s: f.report_age_s(link, now),
                clock_ns: f.now_ns(link, now),
                complete_ns: f.complete_ns(link),
            }),
        }
    }

    /// Returns the advisor's options at a link: with the link's largest limit and the unit of its
    /// switch.
    pub fn advisor_options(&self, link: LinkId) -> Options {
        let mut options = self.config.advisor.clone();
        let max = self.config.max_limit_bytes(link) as f64;
        options.max_bytes = Some(options.max_bytes.map_or(max, |m| m.min(max)));
        let switch = self.config.switches.iter().find(|s| s.node == link.node_id);
        if let Some(switch) = switch {
            let unit = f64::from(switch.limit_unit_bytes);
            options.unit_bytes = options.unit_bytes.max(unit);
        }
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SwitchConfig;
    use tidemark_control::SavedControl;
    use tidemark_proto::telemetry::{LinkInterval, Update, Watermark};

    const NODE: u32 = 10;
    const S: u64 = 1_000_000_000;
    const LIMIT: Limit = Limit::DropTail {
        limit_bytes: 90_000,
    };

    fn link(port: u32) -> LinkId {
        LinkId {
            node_id: NODE,
            port,
            queue: 0,
        }
    }

    /// An update in which `ports` ports of the node report, starting at `from`.
    fn reports(from: u32, ports: u32, second: u64) -> Update {
        let interval = |port| LinkInterval {
            node_id: NODE,
            port,
            start_ns: second * S - S / 100,
            duration_ns: S / 100,
            first_start_ns: 1,
            packets: 1,
            ..LinkInterval::default()
        };
        Update {
            link_intervals: (from..from + ports).map(interval).collect(),
            watermarks: vec![Watermark {
                node_id: NODE,
                time_ns: second * S,
            }],
            ..Update::default()
        }
    }

    /// Made-up ports of a node that has a switch: whatever a tick and a poll of the switch keep of
    /// them is dropped when they are silent.
    #[test]
    fn made_up_ports_of_a_switch_are_forgotten() {
        let config = Config {
            collectors: vec![CollectorConfig::new("x")],
            switches: vec![SwitchConfig::new(NODE, "y")],
            ..Config::default()
        };
        let mut state = State::new(&Arc::new(config));
        let set = SavedControl {
            limit: Some(LIMIT),
            ..SavedControl::default()
        };
        state.link_mut(link(7)).restore(set, Timestamp::default());
        for round in 0..20u32 {
            let second = 1 + u64::from(round) * 100;
            let at = Timestamp {
                monotonic_ns: (second * S) as i64,
                unix_ms: second * 1000,
            };
            state.feeds[0].push(&reports(100 + round * 50, 50, second), at);
            for id in state.known_links() {
                state.link_mut(id);
                state.history.entry(id).or_default();
                let switch = state.switches.get_mut(&NODE).unwrap();
                switch.limits.insert(id, LIMIT);
            }
            state.forget_silent(at);
            assert_eq!(state.known_links().len(), 50);
            assert_eq!(state.links.len(), 51, "the made-up ones, and port 7");
            assert_eq!(state.history.len(), 50);
            assert_eq!(state.switches[&NODE].limits.len(), 50);
        }
        assert_eq!(state.links[&link(7)].set_limit(), Some(LIMIT));
    }
}
