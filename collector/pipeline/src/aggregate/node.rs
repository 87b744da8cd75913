// SPDX-License-Identifier: Apache-2.0
//! The open intervals of one node.

use super::flow::FlowTotals;
use super::link::{LinkState, LinkTotals};
use super::{AggregateConfig, Misfits};
use crate::rows::{PostcardRow, ProbeRow};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use tidemark_proto::telemetry::{Drop, Update, Watermark};

/// Open intervals reach at most this far.
const MAX_OPEN_NS: u64 = 120_000_000_000;
/// Queueing delay that the wait for late arrivals follows.
const MAX_DELAY_NS: u64 = 10_000_000_000;
/// Egress queues per node.
const MAX_LINKS: usize = 4096;

#[derive(Debug, Default)]
struct Interval {
    links: Vec<((u32, u8), LinkTotals)>,
    flows: FxHashMap<(u64, u32), FlowTotals>,
    drops: Vec<Drop>,
}

impl Interval {
    fn link(&mut self, port: u32, queue: u8) -> &mut LinkTotals {
        let i = match self.links.iter().position(|(k, _)| *k == (port, queue)) {
            Some(i) => i,
            None => {
                self.links.push(((port, queue), LinkTotals::default()));
                self.links.len() - 1
            }
        };
        &mut self.links[i].1
    }
}

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
    links: BTreeMap<(u32, u8), LinkState>,
    max_ns: u64,
    max_delay_ns: u64,
}

impl NodeIntervals {
    pub fn new(node_id: u32, config: AggregateConfig) -> Self {
        Self {
            node_id,
            config,
            base: None,
            closing: false,
            open: VecDeque::new(),
            links: BTreeMap::new(),
            max_ns: 0,
            max_delay_ns: 0,
        }
    }

    /// The node's clock starts anew.
    pub fn restart(&mut self) {
        self.base = None;
        self.closing = false;
        self.open.clear();
        self.max_ns = 0;
    }

    fn interval(&mut self, time_ns: u64, misfits: &mut Misfits) -> &mut Interval {
        let max_open = (MAX_OPEN_NS / self.config.interval_ns).max(2);
        let number = time_ns / self.config.interval_ns;
        let base = *self.base.get_or_insert(number);
        let mut offset = match number.checked_sub(base) {
            Some(offset) => offset,
            None if !self.closing && base - number + self.open.len() as u64 <= max_open => {
                for _ in number..base {
                    self.open.push_front(Interval::default());
                }
                self.base = Some(number);
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
        if self.open.len() <= offset {
            self.open.resize_with(offset + 1, Interval::default);
        }
        &mut self.open[offset]
    }

    pub fn postcard(&mut self, row: &PostcardRow, misfits: &mut Misfits) {
        let (port, queue) = (row.port, row.queue);
        if !self.links.contains_key(&(port, queue)) {
            if self.links.len() >= MAX_LINKS {
                misfits.links_refused += 1;
                return;
            }
            self.links.insert((port, queue), LinkState::default());
        }
        self.interval(row.ingress_ns, misfits)
            .link(port, queue)
            .arrival(row);
        let at_end = self.interval(row.time_ns(), misfits);
        at_end
            .flows
            .entry((row.flow_id, port))
            .or_default()
            .packet(row);
        let link = at_end.link(port, queue);
        link.lost(row.lost_before);
        if row.dropped {
            at_end.drops.push(Drop {
                node_id: row.node_id,
                port,
                queue: queue.into(),
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
            link.departure(row);
            let delay_ns = row.egress_ns.saturating_sub(row.ingress_ns);
            self.max_delay_ns = self.max_delay_ns.max(delay_ns.min(MAX_DELAY_NS));
        }
        self.max_ns = self.max_ns.max(row.time_ns());
    }

    pub fn probe(&mut self, row: &ProbeRow, misfits: &mut Misfits) {
        if self.base.is_none() {
            return;
        }
        self.interval(row.time_ns, misfits)
            .flows
            .entry((row.flow_id, row.port))
            .or_default()
            .sample(row);
    }

    /// Up to where intervals can be closed, once that is worth an update.
    pub fn due(&self) -> Option<u64> {
        let wait_ns = self.config.reorder_ns + self.max_delay_ns + self.max_delay_ns / 4;
        let safe_ns = self.max_ns.saturating_sub(wait_ns);
        let base_ns = self.base? * self.config.interval_ns;
        let worth_ns = self.config.publish_ns.max(self.config.interval_ns);
        (safe_ns >= base_ns.saturating_add(worth_ns)).then_some(safe_ns)
    }

    /// Closes the intervals that end by `to_ns`; false when there is none.
    pub fn close(&mut self, to_ns: u64, update: &mut Update) -> bool {
        let Some(base) = self.base else { return false };
        // A watermark far beyond the data must not make endless empty records.
        let max_open = (MAX_OPEN_NS / self.config.interval_ns).max(2);
        let end = (to_ns / self.config.interval_ns).min(base.saturating_add(max_open));
        if end <= base {
            return false;
        }
        for number in base..end {
            let interval = self.open.pop_front().unwrap_or_default();
            self.emit(number, interval, update);
        }
        self.base = Some(end);
        self.closing = true;
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
        self.close(end * self.config.interval_ns, update)
    }

    fn emit(&mut self, number: u64, mut interval: Interval, update: &mut Update) {
        let duration_ns = self.config.interval_ns;
        let start_ns = number * duration_ns;
        for (&(port, queue), state) in &mut self.links {
            let totals = interval
                .links
                .iter()
                .position(|(k, _)| *k == (port, queue))
                .map(|i| interval.links.swap_remove(i).1);
            update.link_intervals.push(state.record(
                totals,
                (self.node_id, port, queue),
                start_ns,
                duration_ns,
            ));
        }
        let mut flows: Vec<_> = interval.flows.into_iter().collect();
        flows.sort_unstable_by_key(|(k, _)| *k);
        for ((flow_id, port), totals) in flows {
            update.flow_intervals.push(totals.record(
                flow_id,
                (self.node_id, port),
                start_ns,
                duration_ns,
            ));
        }
        interval.drops.sort_by_key(|d| d.time_ns);
        update.drops.append(&mut interval.drops);
    }
}
