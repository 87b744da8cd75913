// SPDX-License-Identifier: Apache-2.0
//! Interval records kept within bounds of time and count.

use crate::types::LinkId;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::VecDeque;
use tidemark_proto::telemetry::{Drop, FlowEvent, FlowInfo, FlowInterval, LinkInterval};

/// What was dropped from memory, by bound; time-outs are not counted: those
/// records had served.
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
    /// Flows with all that was known of them.
    pub flows: u64,
    /// Records refused because they name no time or lie before what is kept.
    pub stale: u64,
}

#[derive(Debug, Default)]
pub(crate) struct FlowStore {
    pub intervals: VecDeque<FlowInterval>,
}

impl FlowStore {
    /// Packets that left or were dropped.
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
    /// Start of the newest record of a flow that had to go; 0 when none had.
    pub flows_evicted_ns: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub links: FxHashMap<LinkId, LinkStore>,
    pub info: FxHashMap<u64, FlowInfo>,
    pub events: FxHashMap<u64, VecDeque<FlowEvent>>,
    event_count: usize,
    /// Flows with interval records, over all links.
    flow_count: usize,
    pub evicted: Evicted,
}

/// Inserts by time; records come nearly in order, so the place is near the end.
fn insert<T>(queue: &mut VecDeque<T>, item: T, time: impl Fn(&T) -> u64) {
    let at = time(&item);
    let mut place = queue.len();
    while place > 0 && queue.get(place - 1).is_some_and(|q| time(q) > at) {
        place -= 1;
    }
    queue.insert(place, item);
}

fn expire<T>(queue: &mut VecDeque<T>, before: u64, end: impl Fn(&T) -> u64) -> usize {
    let mut gone = 0;
    while queue.front().is_some_and(|x| end(x) < before) {
        queue.pop_front();
        gone += 1;
    }
    gone
}

impl Store {
    pub fn push_link_interval(&mut self, record: LinkInterval, max: usize) {
        let id = LinkId {
            node_id: record.node_id,
            port: record.port,
        };
        let link = self.links.entry(id).or_default();
        let end = record.start_ns.saturating_add(record.duration_ns);
        link.latest_ns = link.latest_ns.max(end);
        insert(&mut link.intervals, record, |r| r.start_ns);
        while link.intervals.len() > max {
            link.intervals.pop_front();
            self.evicted.link_intervals += 1;
        }
    }

    pub fn push_flow_interval(&mut self, record: FlowInterval) {
        let id = LinkId {
            node_id: record.node_id,
            port: record.port,
        };
        let link = self.links.entry(id).or_default();
        link.flow_intervals += 1;
        let flow = link.flows.entry(record.flow_id).or_default();
        if flow.intervals.is_empty() {
            // Most flows of a flood never have a second one.
            flow.intervals.reserve_exact(1);
            self.flow_count += 1;
        }
        insert(&mut flow.intervals, record, |r| r.start_ns);
    }

    pub fn push_drop(&mut self, drop: Drop, max: usize) {
        let id = LinkId {
            node_id: drop.node_id,
            port: drop.port,
        };
        let link = self.links.entry(id).or_default();
        insert(&mut link.drops, drop, |d| d.time_ns);
        while link.drops.len() > max {
            link.drops.pop_front();
            self.evicted.drops += 1;
        }
    }

    pub fn push_event(&mut self, event: FlowEvent, max: usize) {
        if self.event_count >= max {
            // Which flow's to drop: its own oldest, else none fits.
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

    /// Forgets what is dated by the clock of a node that restarted. What is
    /// known of flows stays: their numbers are the collector's, not the node's.
    pub fn forget_node(&mut self, node_id: u32) {
        self.links.retain(|id, _| id.node_id != node_id);
        self.flow_count = self.links.values().map(|l| l.flows.len()).sum();
        // Events name no node; those of a flow elsewhere are dated by that clock.
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

    /// Forgets the records of a link; its flows may cross others.
    pub fn forget_link(&mut self, link: LinkId) {
        if let Some(gone) = self.links.remove(&link) {
            self.flow_count -= gone.flows.len();
        }
    }

    /// Drops what is older than `retention_ns` before each link's newest
    /// interval, and flows nothing is left of.
    pub fn expire(&mut self, retention_ns: u64, max_flow_intervals: usize, max_flows: usize) {
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
            while link.flow_intervals > max_flow_intervals {
                let removed = drop_oldest_tenth(link);
                if removed == 0 {
                    break;
                }
                link.flow_intervals -= removed;
                self.evicted.flow_intervals += removed as u64;
            }
            link.flows.retain(|_, f| !f.intervals.is_empty());
        }
        self.flow_count = self.links.values().map(|l| l.flows.len()).sum();
        for events in self.events.values_mut() {
            self.event_count -= expire(events, oldest, |e| e.time_ns);
        }
        self.events.retain(|_, e| !e.is_empty());
        let links = &self.links;
        self.info.retain(|id, info| {
            info.first_seen_ns >= oldest || links.values().any(|l| l.flows.contains_key(id))
        });
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

    /// Flows with interval records, over all links.
    pub fn flow_count(&self) -> usize {
        self.flow_count
    }

    /// Whether there are more flows than may wait for the next expiry.
    pub fn is_crowded(&self, max_flows: usize) -> bool {
        let limit = max_flows.saturating_add(max_flows / 4);
        self.flow_count > limit || self.info.len() > limit
    }

    /// Leaves at most `max_flows` with records: those of at most `short_packets`
    /// that sent last longest ago go first, then others by the same order. A flood
    /// of short flows so leaves the long ones, and those that have just begun.
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
            // It may cross another link, too.
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

/// Shortens the time covered by a tenth, for all flows alike.
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
}
