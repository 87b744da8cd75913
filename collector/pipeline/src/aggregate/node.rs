// SPDX-License-Identifier: Apache-2.0
//! The open intervals of one node.

use super::interval::{Interval, Last, LinkIndex};
use super::link::LinkState;
use super::{AggregateConfig, Misfits};
use crate::node::MAX_TIME_NS;
use crate::rows::{PostcardRow, ProbeRow};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use tidemark_proto::telemetry::{Drop, Update, Watermark};

/// Open intervals reach at most this far.
const MAX_OPEN_NS: u64 = 120_000_000_000;
/// Queueing delay that the wait for late arrivals follows.
const MAX_DELAY_NS: u64 = 10_000_000_000;
/// Emptied intervals kept for use again.
const MAX_SPARE: usize = 64;
/// Egress queues per node.
const MAX_LINKS: usize = 4096;

/// See the module.
#[derive(Debug)]
pub struct NodeIntervals {
    node_id: u32,
    config: AggregateConfig,
    /// Number (time / interval) of the oldest open interval.
    base: Option<u64>,
    /// Intervals before `base` have been handed on.
    closing: bool,
    open: VecDeque<Interval>,
    /// Emptied, to be used again.
    spare: Vec<Interval>,
    links: Vec<((u32, u8), LinkState)>,
    link_index: FxHashMap<(u32, u8), LinkIndex>,
    /// Links in the order of ports and queues.
    sorted: Vec<LinkIndex>,
    last_link: LinkIndex,
    last_link_key: Option<(u32, u8)>,
    /// Of the packets: they left about a round trip before their samples.
    last: Last,
    /// Of the samples.
    last_sample: Last,
    max_ns: u64,
    max_delay_ns: u64,
    /// Intervals can be handed on once a packet is as young as this.
    due_ns: u64,
}

impl NodeIntervals {
    pub fn new(node_id: u32, config: AggregateConfig) -> Self {
        Self {
            node_id,
            config,
            base: None,
            closing: false,
            open: VecDeque::new(),
            spare: Vec::new(),
            links: Vec::new(),
            link_index: FxHashMap::default(),
            sorted: Vec::new(),
            last_link: 0,
            last_link_key: None,
            last: Last::default(),
            last_sample: Last::default(),
            max_ns: 0,
            max_delay_ns: 0,
            due_ns: u64::MAX,
        }
    }

    #[inline]
    pub fn node_id(&self) -> u32 {
        self.node_id
    }

    /// The node's clock starts anew.
    pub fn restart(&mut self) {
        self.base = None;
        self.closing = false;
        self.open.clear();
        self.max_ns = 0;
        self.look_again();
        for (_, state) in &mut self.links {
            state.restart();
        }
    }

    /// Number of the interval that a time falls into.
    #[inline]
    fn number(&self, time_ns: u64) -> u64 {
        time_ns.min(MAX_TIME_NS) / self.config.interval_ns
    }

    /// Where an interval is, to be remembered; nothing unless that is where its
    /// number belongs.
    fn found(&self, number: u64, offset: usize) -> Last {
        if self.base.is_none_or(|b| b + offset as u64 != number) {
            return Last::default();
        }
        let start_ns = number * self.config.interval_ns;
        Last {
            start_ns,
            end_ns: start_ns.saturating_add(self.config.interval_ns),
            offset,
        }
    }

    /// The open intervals have moved.
    fn look_again(&mut self) {
        self.last = Last::default();
        self.last_sample = Last::default();
        self.due_ns = self.base.map_or(u64::MAX, |base| {
            let wait_ns = self.config.reorder_ns + self.max_delay_ns + self.max_delay_ns / 4;
            let worth_ns = self.config.publish_ns.max(self.config.interval_ns);
            (base * self.config.interval_ns)
                .saturating_add(worth_ns)
                .saturating_add(wait_ns)
        });
    }

    /// Position of an interval among the open ones.
    #[inline]
    fn position(&mut self, number: u64, misfits: &mut Misfits) -> usize {
        if let Some(offset) = self.base.and_then(|base| number.checked_sub(base))
            && offset < self.open.len() as u64
        {
            return offset as usize;
        }
        self.make(number, misfits)
    }

    #[cold]
    fn make(&mut self, number: u64, misfits: &mut Misfits) -> usize {
        let max_open = (MAX_OPEN_NS / self.config.interval_ns).max(2);
        let is_first = self.base.is_none();
        let base = *self.base.get_or_insert(number);
        if is_first {
            self.look_again();
        }
        let mut offset = match number.checked_sub(base) {
            Some(offset) => offset,
            None if !self.closing && base - number + self.open.len() as u64 <= max_open => {
                for _ in number..base {
                    self.open.push_front(Interval::default());
                }
                self.base = Some(number);
                self.look_again();
                0
            }
            None => {
                misfits.late += 1;
                0
            }
        };
        if offset >= max_open {
            misfits.ahead += 1;
            offset = max_open - 1;
        }
        let offset = offset as usize;
        while self.open.len() <= offset {
            let interval = self.spare.pop().unwrap_or_default();
            self.open.push_back(interval);
        }
        offset
    }

    #[inline(always)]
    fn link(&mut self, key: (u32, u8)) -> Option<LinkIndex> {
        if self.last_link_key == Some(key) {
            return Some(self.last_link);
        }
        self.last_link_key = None;
        let link = self.find_link(key)?;
        self.last_link_key = Some(key);
        Some(link)
    }

    #[inline(never)]
    fn find_link(&mut self, key: (u32, u8)) -> Option<LinkIndex> {
        if let Some(&i) = self.link_index.get(&key) {
            self.last_link = i;
            return Some(i);
        }
        if self.links.len() >= MAX_LINKS {
            return None;
        }
        let i = self.links.len();
        self.links.push((key, LinkState::default()));
        self.link_index.insert(key, i);
        self.sorted.push(i);
        let links = &self.links;
        self.sorted.sort_unstable_by_key(|&i| links[i].0);
        self.last_link = i;
        Some(i)
    }

    #[inline]
    pub fn postcard(&mut self, row: &PostcardRow, misfits: &mut Misfits) {
        let Some(link) = self.link((row.port, row.queue)) else {
            misfits.links_refused += 1;
            return;
        };
        let time_ns = row.time_ns();
        if !row.dropped
            && self.last.has(row.ingress_ns)
            && self.last.has(time_ns)
            && let Some(interval) = self.open.get_mut(self.last.offset)
        {
            // Nearly always: it came and left in the interval looked up last.
            interval.flows.packet(row);
            let totals = interval.link(link);
            totals.arrival(row);
            totals.lost(row.lost_before);
            totals.departure(row);
        } else {
            self.postcard_of_any(row, link, misfits);
        }
        if !row.dropped {
            let delay_ns = row.egress_ns.saturating_sub(row.ingress_ns);
            if delay_ns.min(MAX_DELAY_NS) > self.max_delay_ns {
                self.longer_delay(delay_ns.min(MAX_DELAY_NS));
            }
        }
        self.max_ns = self.max_ns.max(time_ns);
    }

    #[cold]
    fn longer_delay(&mut self, delay_ns: u64) {
        self.max_delay_ns = delay_ns;
        self.look_again();
    }

    #[inline(never)]
    fn postcard_of_any(&mut self, row: &PostcardRow, link: LinkIndex, misfits: &mut Misfits) {
        let arrived = self.number(row.ingress_ns);
        let arrival = self.position(arrived, misfits);
        let ended = self.number(row.time_ns());
        let regular = self.base.is_some_and(|b| b + arrival as u64 == arrived);
        // Nearly always the interval it came in.
        let end = if ended == arrived && regular {
            arrival
        } else {
            let end = self.position(ended, misfits);
            self.open[arrival].link(link).arrival(row);
            end
        };
        let at_end = &mut self.open[end];
        at_end.flows.packet(row);
        let totals = at_end.link(link);
        if ended == arrived && regular {
            totals.arrival(row);
        }
        totals.lost(row.lost_before);
        if row.dropped {
            at_end.drops.push(Drop {
                node_id: row.node_id,
                port: row.port,
                queue: row.queue.into(),
                time_ns: row.ingress_ns,
                flow_id: row.flow_id,
                tcp_seq: row.tcp_seq,
                ip_bytes: row.ip_bytes,
                reason: row.drop_reason.into(),
                occupancy_bytes: row.occupancy_bytes,
                limit_bytes: row.limit_bytes,
                cwnd: row.cwnd,
            });
        } else {
            totals.departure(row);
        }
        self.last = self.found(ended, end);
    }

    #[inline]
    pub fn probe(&mut self, row: &ProbeRow, misfits: &mut Misfits) {
        if self.base.is_none() {
            return;
        }
        if !self.last_sample.has(row.time_ns) {
            let number = self.number(row.time_ns);
            let offset = self.position(number, misfits);
            self.last_sample = self.found(number, offset);
            if !self.last_sample.has(row.time_ns) {
                self.last_sample.offset = offset;
            }
        }
        if let Some(interval) = self.open.get_mut(self.last_sample.offset) {
            interval.flows.sample(row);
        }
    }

    /// Up to where intervals can be closed, once that is worth an update.
    #[inline]
    pub fn due(&self) -> Option<u64> {
        if self.max_ns < self.due_ns {
            return None;
        }
        let wait_ns = self.config.reorder_ns + self.max_delay_ns + self.max_delay_ns / 4;
        Some(self.max_ns.saturating_sub(wait_ns))
    }

    /// Closes the intervals that end by `to_ns`; false when there is none.
    pub fn close(&mut self, to_ns: u64, update: &mut Update) -> bool {
        let Some(base) = self.base else { return false };
        // A watermark far beyond the data must not make endless empty records.
        let max_open = (MAX_OPEN_NS / self.config.interval_ns).max(2);
        let end =
            (to_ns.min(MAX_TIME_NS) / self.config.interval_ns).min(base.saturating_add(max_open));
        if end <= base {
            return false;
        }
        for number in base..end {
            let interval = self.open.pop_front().unwrap_or_default();
            self.emit(number, interval, update);
        }
        self.base = Some(end);
        self.closing = true;
        self.look_again();
        update.watermarks.push(Watermark {
            node_id: self.node_id,
            time_ns: end * self.config.interval_ns,
        });
        true
    }

    /// Closes all intervals that hold anything.
    pub fn end(&mut self, update: &mut Update) -> bool {
        let Some(base) = self.base else { return false };
        let end = base + self.open.len() as u64;
        self.close(end.saturating_mul(self.config.interval_ns), update)
    }

    fn emit(&mut self, number: u64, mut interval: Interval, update: &mut Update) {
        let duration_ns = self.config.interval_ns;
        let start_ns = number * duration_ns;
        for &i in &self.sorted {
            let Some(((port, queue), state)) = self.links.get_mut(i) else {
                continue;
            };
            let totals = interval.links.get_mut(i).and_then(Option::as_deref_mut);
            update.link_intervals.push(state.record(
                totals,
                (self.node_id, *port, *queue),
                start_ns,
                duration_ns,
            ));
        }
        let records = &mut update.flow_intervals;
        interval
            .flows
            .drain(self.node_id, start_ns, duration_ns, records);
        interval.drops.sort_by_key(|d| d.time_ns);
        update.drops.append(&mut interval.drops);
        if self.spare.len() < MAX_SPARE {
            self.spare.push(interval);
        }
    }
}
