// SPDX-License-Identifier: Apache-2.0
//! Evicts records that are old or exceed the limits.

use super::{LinkStore, NodeTimes, Store};
use crate::config::EstimatorConfig;
use crate::types::LinkId;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// A queue without packets for this long keeps [`QUIET_RECORDS`] if memory is short.
const QUIET_NS: u64 = 30_000_000_000;
const QUIET_RECORDS: usize = 20;

fn expire<T>(queue: &mut VecDeque<T>, before: u64, end: impl Fn(&T) -> u64) -> usize {
    let mut gone = 0;
    while queue.front().is_some_and(|x| end(x) < before) {
        queue.pop_front();
        gone += 1;
    }
    gone
}

impl Store {
    /// Whether the records of any node have advanced by `every_ns` since the last expiry.
    pub fn is_expiry_due(&self, every_ns: u64) -> bool {
        let is_due = |n: &NodeTimes| n.latest_ns >= n.expired_ns.saturating_add(every_ns);
        self.nodes.values().any(is_due)
    }

    /// Removes records older than the retention before each link's newest interval, records beyond
    /// the limits on all links together, and flows without records.
    pub fn expire(&mut self, config: &EstimatorConfig) {
        let retention_ns = (config.retention_s.max(0.0) * 1e9) as u64;
        for node in self.nodes.values_mut() {
            node.expired_ns = node.latest_ns;
        }
        let mut oldest = u64::MAX;
        for link in self.links.values_mut() {
            let before = link.latest_ns.saturating_sub(retention_ns);
            oldest = oldest.min(before);
            expire(&mut link.intervals, before, |r| r.start_ns + r.duration_ns);
            expire(&mut link.drops, before, |d| d.time_ns);
            for flow in link.flows.values_mut() {
                link.flow_intervals -=
                    expire(&mut flow.intervals, before, |r| r.start_ns + r.duration_ns);
            }
        }
        self.evict_intervals(config);
        self.flow_count = self.links.values().map(|l| l.flows.len()).sum();
        for events in self.events.values_mut() {
            self.event_count -= expire(events, oldest, |e| e.time_ns);
        }
        self.events.retain(|_, e| !e.is_empty());
        let with_records = self.links.values().flat_map(|l| l.flows.keys().copied());
        let with_records: FxHashSet<u64> = with_records.collect();
        self.info
            .retain(|id, info| info.first_seen_ns >= oldest || with_records.contains(id));
        let max_flows = config.max_flows;
        if self.info.len() > max_flows {
            let mut by_age: Vec<(u64, u64)> = self
                .info
                .values()
                .map(|i| (i.first_seen_ns, i.flow_id))
                .collect();
            by_age.sort_unstable();
            for &(_, id) in by_age.iter().take(self.info.len() - max_flows) {
                self.info.remove(&id);
                self.evicted.flows += 1;
            }
        }
    }

    /// Keeps interval records within the limits of each link and of all links: if all links
    /// together have too many, links with more than an equal part lose their oldest.
    fn evict_intervals(&mut self, config: &EstimatorConfig) {
        self.thin_quiet(config.max_all_link_intervals);
        let at_rest = |l: &&LinkStore| is_at_rest(l) && l.intervals.len() <= QUIET_RECORDS;
        let rest = self.links.values().filter(at_rest);
        let busy = self.links.len() - rest.clone().count();
        let of_rest: usize = rest.map(|l| l.intervals.len()).sum();
        let part = |kept: usize, most: usize| {
            let equal = most.saturating_sub(of_rest) / busy.max(1);
            if kept > most { equal } else { usize::MAX }
        };
        let links = self.links.values();
        let kept = links.clone().map(|l| l.intervals.len()).sum();
        let most_of_link = part(kept, config.max_all_link_intervals);
        let kept = links.map(|l| l.flow_intervals).sum();
        let most_of_flows = part(kept, config.max_all_flow_intervals);
        let most_of_flows = most_of_flows.min(config.max_flow_intervals);
        for link in self.links.values_mut() {
            let surplus = link.intervals.len().saturating_sub(most_of_link);
            link.intervals.drain(..surplus);
            self.evicted.link_intervals += surplus as u64;
            while link.flow_intervals > most_of_flows {
                let removed = drop_oldest_tenth(link);
                if removed == 0 {
                    break;
                }
                link.flow_intervals -= removed;
                self.evicted.flow_intervals += removed as u64;
            }
            link.flows.retain(|_, f| !f.intervals.is_empty());
        }
    }

    /// Keeps only a few records of links that have been idle for long, once the links together have
    /// half of the records that fit, so that idle queues do not shorten the history of busy queues.
    /// The removed records have no packets, and are not counted as evicted.
    fn thin_quiet(&mut self, most: usize) {
        let kept: usize = self.links.values().map(|l| l.intervals.len()).sum();
        if kept <= most / 2 {
            return;
        }
        for link in self.links.values_mut() {
            let before = link.latest_ns.saturating_sub(QUIET_NS);
            if link.reported_ns.is_none_or(|ns| ns < before) {
                let surplus = link.intervals.len().saturating_sub(QUIET_RECORDS);
                link.intervals.drain(..surplus);
            }
        }
    }

    /// Keeps the records of at most `max_flows` flows: flows of at most `short_packets` go first,
    /// then the rest, each in order of their last packet. So a flood of short flows leaves the long
    /// flows and those that have just begun.
    pub fn evict_flows(&mut self, max_flows: usize, short_packets: u64) {
        if self.flow_count <= max_flows {
            return;
        }
        let mut order: Vec<(bool, u64, LinkId, u64)> = Vec::with_capacity(self.flow_count);
        for (&link, store) in &self.links {
            order.extend(store.flows.iter().map(|(&id, flow)| {
                let last_ns = flow.intervals.back().map_or(0, |r| r.start_ns);
                (flow.packets() > short_packets, last_ns, link, id)
            }));
        }
        let surplus = order.len().saturating_sub(max_flows);
        if surplus == 0 {
            return;
        }
        order.select_nth_unstable(surplus - 1);
        for &(_, last_ns, link, id) in order.iter().take(surplus) {
            let Some(store) = self.links.get_mut(&link) else {
                continue;
            };
            if let Some(flow) = store.flows.remove(&id) {
                store.flow_intervals -= flow.intervals.len();
                store.flows_evicted_ns = store.flows_evicted_ns.max(last_ns);
                self.evicted.flow_intervals += flow.intervals.len() as u64;
                self.evicted.flows += 1;
                self.flow_count -= 1;
            }
            // The flow may also cross another link.
            if self.links.values().any(|l| l.flows.contains_key(&id)) {
                continue;
            }
            self.info.remove(&id);
            if let Some(events) = self.events.remove(&id) {
                self.event_count -= events.len();
                self.evicted.events += events.len() as u64;
            }
        }
    }
}

/// Whether no kept record of a link has packets.
fn is_at_rest(link: &LinkStore) -> bool {
    let oldest_ns = link.intervals.front().map_or(0, |r| r.start_ns);
    link.reported_ns.is_none_or(|ns| ns < oldest_ns)
}

/// Shortens the covered time by a tenth, for all flows alike.
fn drop_oldest_tenth(link: &mut LinkStore) -> usize {
    let first = link
        .flows
        .values()
        .filter_map(|f| f.intervals.front())
        .map(|r| r.start_ns)
        .min()
        .unwrap_or(link.latest_ns);
    let before = first + (link.latest_ns.saturating_sub(first) / 10).max(1);
    link.flows
        .values_mut()
        .map(|f| expire(&mut f.intervals, before, |r| r.start_ns))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::telemetry::{FlowInfo, FlowInterval, LinkInterval};

    #[test]
    fn a_flow_that_is_evicted_at_one_link_is_known_at_the_other() {
        let mut store = Store::default();
        let record = |port, flow_id, start_ns| FlowInterval {
            node_id: 10,
            port,
            flow_id,
            start_ns,
            packets: 1,
            ..FlowInterval::default()
        };
        for (port, flow_id, start_ns) in [(1, 7, 1), (2, 7, 5), (1, 8, 2), (1, 9, 6)] {
            store.push_flow_interval(record(port, flow_id, start_ns));
        }
        for flow_id in [7, 8, 9] {
            store.push_info(FlowInfo {
                flow_id,
                ..FlowInfo::default()
            });
        }
        store.evict_flows(2, 100);
        assert_eq!((store.flow_count(), store.evicted.flows), (2, 2));
        let mut known: Vec<u64> = store.info.keys().copied().collect();
        known.sort_unstable();
        assert_eq!(known, [7, 9], "8 is gone, 7 still crosses port 2");
    }

    #[test]
    fn many_links_share_what_all_may_keep() {
        let mut store = Store::default();
        let interval = |port, start_ns| LinkInterval {
            packets: 1,
            port,
            start_ns,
            ..LinkInterval::default()
        };
        let of_flow = |port, start_ns| FlowInterval {
            port,
            start_ns,
            packets: 1,
            ..FlowInterval::default()
        };
        for (port, records) in [(1, 10), (2, 1000), (3, 1000)] {
            for n in 1000 - records..1000 {
                store.push_link_interval(interval(port, n), usize::MAX);
                store.push_flow_interval(of_flow(port, n));
            }
        }
        let config = EstimatorConfig {
            max_all_link_intervals: 600,
            max_all_flow_intervals: 900,
            ..EstimatorConfig::default()
        };
        store.expire(&config);
        let kept = |port| {
            let link = &store.links[&LinkId {
                node_id: 0,
                port,
                queue: 0,
            }];
            (link.intervals.len(), link.flows[&0].intervals.len())
        };
        assert_eq!(kept(1), (10, 10), "what is less than a part stays");
        for port in [2, 3] {
            let (of_link, of_flows) = kept(port);
            assert_eq!(of_link, 200);
            assert!((150..=300).contains(&of_flows), "{of_flows}");
        }
        let newest = store.links[&LinkId {
            node_id: 0,
            port: 2,
            queue: 0,
        }]
            .intervals
            .back();
        assert_eq!(newest.map(|r| r.start_ns), Some(999), "the newest stay");
        assert_eq!(store.evicted.link_intervals, 1600);
        assert!(store.evicted.flow_intervals >= 1400);
        let before = store.evicted;
        store.expire(&config);
        assert_eq!(store.evicted, before, "within the bounds nothing goes");
    }

    /// A thousand idle queues do not shorten the history of a busy queue.
    #[test]
    fn quiet_links_leave_room_to_busy_ones() {
        const S: u64 = 1_000_000_000;
        let mut store = Store::default();
        for second in 0..100 {
            for port in 0..1001 {
                let packets = u32::from(port == 0 || second == 0);
                let record = LinkInterval {
                    port,
                    start_ns: second * S,
                    duration_ns: S,
                    packets,
                    ..LinkInterval::default()
                };
                store.push_link_interval(record, usize::MAX);
            }
        }
        let config = EstimatorConfig {
            max_all_link_intervals: 30_000,
            retention_s: 200.0,
            ..EstimatorConfig::default()
        };
        store.expire(&config);
        let kept = |port| store.links[&LinkId::new(0, port, 0)].intervals.len();
        assert_eq!(
            (kept(0), kept(1), kept(1000)),
            (100, QUIET_RECORDS, QUIET_RECORDS)
        );
        assert_eq!(store.evicted.link_intervals, 0);
    }

    /// Switch clocks begin when the switches start: the one with the latest may be switched off.
    #[test]
    fn records_expire_while_a_node_with_a_later_clock_is_silent() {
        const S: u64 = 1_000_000_000;
        let mut estimator = crate::Estimator::new(EstimatorConfig {
            retention_s: 10.0,
            ..EstimatorConfig::default()
        });
        let mut push = |node_id, second: u64| {
            let record = LinkInterval {
                node_id,
                start_ns: second * S,
                duration_ns: S,
                packets: 1,
                ..LinkInterval::default()
            };
            estimator.push(&tidemark_proto::telemetry::Update {
                link_intervals: vec![record],
                ..Default::default()
            });
        };
        push(1, 1_000_000);
        for second in 0..100 {
            push(2, second);
        }
        assert_eq!(
            estimator.span(LinkId::new(2, 0, 0)),
            Some((89 * S, 100 * S))
        );
        assert!(estimator.span(LinkId::new(1, 0, 0)).is_some());
    }
}
