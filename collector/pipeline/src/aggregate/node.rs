// SPDX-License-Identifier: Apache-2.0
//! Counters of one node.

use super::batch::Batch;
use super::config::{AggregateConfig, MAX_OPEN_BYTES, ROWS_PER_LOOK};
use super::flows::Step;
use super::interval::LinkIndex;
use super::links::Links;
use super::open::{CachedInterval, OpenIntervals, OutOfWindow};
use crate::prefetch;
use crate::rows::{PostcardRow, ProbeRow};
use std::collections::BTreeSet;
use tidemark_proto::departures::TENTHS;
use tidemark_proto::telemetry::{Drop, Watermark};
use tidemark_rows::Absent;

/// The tenth of an interval that a time falls into.
#[inline(always)]
fn tenth(time_ns: u64, start_ns: u64, tenths_per_ns: f64) -> usize {
    (time_ns.saturating_sub(start_ns) as f64 * tenths_per_ns) as usize
}

/// The open intervals of one node, and the state carried from one interval to the next.
///
/// The fast path takes a packet that came and left in the interval of the last lookup. Its plain
/// form is [`NodeIntervals::postcard_slow`]; the property test `agrees_with_plain_counting` checks
/// both against counting into maps. Justified by the benchmark row "decode, flow, join, intervals".
#[derive(Debug)]
pub(super) struct NodeIntervals {
    pub node_id: u32,
    config: AggregateConfig,
    tenths_per_ns: f64,
    open: OpenIntervals,
    links: Links,
    /// Interval of the last packet: packets leave about a round trip before the samples that
    /// describe them.
    last_packet: CachedInterval,
    last_sample: CachedInterval,
    max_ns: u64,
    /// An egress queue, and the delay up to which its packets show nothing new.
    learnt: (LinkIndex, u64),
    /// The longest recent queueing delay, for which late arrivals are waited for.
    longest_delay_ns: u64,
    /// Intervals can be handed on once a packet has this time or a later one.
    due_ns: u64,
    /// From this time on, no interval can be open together with the oldest one.
    leap_ns: u64,
    /// Whether the last closed interval had so many flows that prefetching totals is worth its
    /// cost.
    pub many_flows: bool,
    pub(super) max_open_bytes: usize,
    rows_until_look: u32,
    /// Intervals that end by this time are handed on, even if reports for them are still due.
    forced_to_ns: Option<u64>,
}

impl NodeIntervals {
    /// Creates a node without rows; `named_ports` are the ports that the configuration names.
    pub(super) fn new(node_id: u32, config: AggregateConfig, named_ports: BTreeSet<u32>) -> Self {
        Self {
            node_id,
            config,
            tenths_per_ns: TENTHS as f64 / config.interval_ns as f64,
            open: OpenIntervals::new(&config),
            links: Links::new(named_ports),
            last_packet: CachedInterval::default(),
            last_sample: CachedInterval::default(),
            max_ns: 0,
            learnt: (0, 0),
            longest_delay_ns: 0,
            due_ns: u64::MAX,
            leap_ns: u64::MAX,
            many_flows: false,
            max_open_bytes: MAX_OPEN_BYTES,
            rows_until_look: ROWS_PER_LOOK,
            forced_to_ns: None,
        }
    }

    /// Resets the node after its clock restarted.
    pub(super) fn restart(&mut self) {
        self.open.clear();
        self.max_ns = 0;
        self.links.restart();
        self.learnt = (0, 0);
        self.longest_delay_ns = 0;
        self.forced_to_ns = None;
        self.window_moved();
    }

    /// Whether a time is after the end of every open interval.
    pub(super) fn is_beyond(&self, time_ns: u64) -> bool {
        self.open.end_ns().is_some_and(|end_ns| time_ns >= end_ns)
    }

    /// Returns how long after the end of an interval its packets may come.
    fn wait_ns(&self) -> u64 {
        self.config.reorder_ns + self.longest_delay_ns + self.longest_delay_ns / 4
    }

    /// Updates the cached state after the open intervals moved, or have to wait longer.
    fn window_moved(&mut self) {
        self.last_packet = CachedInterval::default();
        self.last_sample = CachedInterval::default();
        let worth_ns = self.config.publish_ns.max(self.config.interval_ns);
        self.due_ns = self.open.start_ns().map_or(u64::MAX, |start| {
            start
                .saturating_add(worth_ns)
                .saturating_add(self.wait_ns())
        });
        self.leap_ns = self.open.most_ns();
    }

    /// Returns the time up to which intervals must be closed before a row of `time_ns` is counted,
    /// if the row is too far ahead to be open with them.
    #[inline]
    pub(super) fn due_before(&self, time_ns: u64) -> Option<u64> {
        (time_ns >= self.leap_ns).then(|| time_ns.saturating_sub(self.wait_ns()))
    }

    /// Position of an interval among the open ones.
    #[inline]
    fn position(&mut self, number: u64, outside: &mut OutOfWindow) -> usize {
        let place = self.open.place(number, outside);
        if place.moved {
            self.window_moved();
        }
        place.offset
    }

    /// Counts a packet.
    #[inline]
    pub(super) fn postcard(&mut self, row: &PostcardRow, outside: &mut OutOfWindow) {
        let Some(link) = self.links.index((row.port, row.queue)) else {
            outside.links_refused += 1;
            return;
        };
        let time_ns = row.time_ns();
        if !row.dropped
            && self.last_packet.has(row.ingress_ns)
            && self.last_packet.has(time_ns)
            && let Some(interval) = self.open.get_mut(self.last_packet.offset)
        {
            if !row.absent.has(Absent::PACKET) {
                let tenth = tenth(time_ns, self.last_packet.start_ns, self.tenths_per_ns);
                interval.flows.packet(row, tenth);
            }
            let totals = interval.link(link);
            totals.arrival(row);
            totals.lost(row.lost_before);
            totals.departure(row);
        } else {
            self.postcard_slow(row, link, outside);
        }
        if !row.dropped {
            let delay_ns = row.egress_ns.saturating_sub(row.ingress_ns);
            if self.learnt.0 != link || delay_ns > self.learnt.1 {
                self.learn_delay(link, delay_ns, time_ns);
            }
        }
        self.max_ns = self.max_ns.max(time_ns);
        self.counted(outside);
    }

    /// Notes that a row was counted, which may have taken memory.
    #[inline(always)]
    fn counted(&mut self, outside: &mut OutOfWindow) {
        self.rows_until_look -= 1;
        if self.rows_until_look == 0 {
            self.bound_memory(outside);
        }
    }

    /// Has the oldest open intervals handed on if all take too much memory.
    #[cold]
    #[inline(never)]
    fn bound_memory(&mut self, outside: &mut OutOfWindow) {
        self.rows_until_look = ROWS_PER_LOOK;
        if let Some((to_ns, intervals)) = self.open.crowded(self.max_open_bytes) {
            outside.forced += intervals;
            self.forced_to_ns = Some(to_ns);
            self.due_ns = 0;
        }
    }

    /// Takes a delay of an egress queue that may be longer than the believed one.
    #[inline(never)]
    fn learn_delay(&mut self, link: LinkIndex, delay_ns: u64, time_ns: u64) {
        let Some(delay) = self.links.delay_mut(link) else {
            return;
        };
        let mut longer = false;
        if delay.exceeded_by(delay_ns) {
            let interval = self.open.number(time_ns);
            // An interval that is no longer open was judged when it was closed.
            if let Some(before) = delay.unjudged(interval)
                && before < interval
                && let Some(left) = self.open.departures(before, link)
            {
                longer = delay.judge(before, left, self.config.interval_ns);
            }
            delay.longer(delay_ns, interval);
        }
        self.learnt = (link, delay.current_ns);
        if longer {
            self.delays_changed();
        }
    }

    fn delays_changed(&mut self) {
        self.longest_delay_ns = self.links.longest_delay_ns();
        self.window_moved();
    }

    #[inline(never)]
    fn postcard_slow(&mut self, row: &PostcardRow, link: LinkIndex, outside: &mut OutOfWindow) {
        let arrived = self.open.number(row.ingress_ns);
        let arrival = self.position(arrived, outside);
        let ended = self.open.number(row.time_ns());
        let same = ended == arrived && self.open.is_at(arrived, arrival);
        let end = if same {
            arrival
        } else {
            let end = self.position(ended, outside);
            if let Some(interval) = self.open.get_mut(arrival) {
                interval.link(link).arrival(row);
            }
            end
        };
        let start_ns = ended.saturating_mul(self.config.interval_ns);
        let tenth = tenth(row.time_ns(), start_ns, self.tenths_per_ns);
        let Some(at_end) = self.open.get_mut(end) else {
            return;
        };
        if !row.absent.has(Absent::PACKET) {
            at_end.flows.packet(row, tenth);
        }
        let totals = at_end.link(link);
        if same {
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
        self.last_packet = self.open.cached(ended, end);
    }

    /// Counts a sample.
    #[inline]
    pub(super) fn probe(&mut self, row: &ProbeRow, outside: &mut OutOfWindow) {
        if self.open.is_empty() {
            return;
        }
        if !self.last_sample.has(row.time_ns) {
            let number = self.open.number(row.time_ns);
            let offset = self.position(number, outside);
            self.last_sample = self.open.cached(number, offset);
            if !self.last_sample.has(row.time_ns) {
                self.last_sample.offset = offset;
            }
        }
        if let Some(interval) = self.open.get_mut(self.last_sample.offset) {
            interval.flows.sample(row);
        }
        self.counted(outside);
    }

    /// Prefetches the totals that a coming packet will probably be counted in.
    #[inline(always)]
    pub(super) fn prefetch_packet(&self, step: Step, flow_id: u64, port: u32) {
        if let Some(interval) = self.open.get(self.last_packet.offset) {
            interval.flows.prefetch(step, flow_id, port);
        }
    }

    /// Like `prefetch_packet`, for a sample.
    #[inline(always)]
    pub(super) fn prefetch_sample(&self, step: Step, flow_id: u64, port: u32) {
        if let Some(interval) = self.open.get(self.last_sample.offset) {
            interval.flows.prefetch(step, flow_id, port);
        }
    }

    /// Returns the time up to which intervals can be closed, once that is worth an update.
    #[inline]
    pub(super) fn due(&self) -> Option<u64> {
        if self.max_ns < self.due_ns {
            return None;
        }
        let to_ns = self.max_ns.saturating_sub(self.wait_ns());
        Some(self.forced_to_ns.map_or(to_ns, |forced| forced.max(to_ns)))
    }

    /// Closes the intervals that end by `to_ns`; returns false if there are none.
    pub(super) fn close(&mut self, to_ns: u64, batch: &mut Batch<'_>) -> bool {
        let (links, node_id) = (&mut self.links, self.node_id);
        let mut many = self.many_flows;
        let closed = self.open.close(to_ns, |span, interval| {
            links.records(node_id, span, interval, &mut batch.update.link_intervals);
            interval.drops.sort_by_key(|d| d.time_ns);
            batch.update.drops.append(&mut interval.drops);
            many = interval.flows.len() >= prefetch::MANY_FLOWS;
            interval.flows.drain(node_id, span, batch);
            batch.interval_ended();
        });
        self.many_flows = many;
        self.forced_to_ns = None;
        let Some(time_ns) = closed else { return false };
        let open = &self.open;
        self.links.forget(time_ns, |link| open.has(link));
        self.learnt = (0, 0);
        self.delays_changed();
        let watermark = Watermark { node_id, time_ns };
        batch.update.watermarks.push(watermark);
        true
    }

    /// Closes all open intervals.
    pub(super) fn end(&mut self, batch: &mut Batch<'_>) -> bool {
        match self.open.end_ns() {
            Some(end_ns) => self.close(end_ns, batch),
            None => false,
        }
    }
}
