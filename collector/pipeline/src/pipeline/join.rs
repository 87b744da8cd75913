// SPDX-License-Identifier: Apache-2.0
//! Packet by packet: which of the sender's states it left under.
//!
//! The first sample with `snd_nxt` beyond a segment's sequence number was taken
//! on the first ACK after the segment left, before that ACK was processed: it
//! shows the state the segment left under. For segments sent again the
//! sequence number says nothing, so the first sample after they left is taken,
//! through the clock mapping.

use super::{Node, Pipeline};
use crate::clock::{NodeClock, Pairs};
use crate::flow::{Flow, SampleState};
use crate::point::{Arrival, Point, Waiting};
use crate::queue::{Mark, Queue};
use crate::rows::{Join, PostcardRow, Sink};
use crate::segment::Segment;
use crate::table::FlowTable;

/// A last sample may stand in for a missing one for this long.
const MAX_STALE_NS: u64 = 5_000_000_000;

#[inline]
fn fill(mark: &mut Mark, sample: &SampleState, join: Join) {
    mark.join = join;
    mark.cwnd = sample.cwnd;
    mark.ssthresh = sample.ssthresh;
    mark.srtt_us = sample.srtt_us;
    mark.waits = false;
}

/// A data packet to be joined.
#[derive(Clone, Copy)]
pub(super) struct Packet {
    pub tcp_seq: u32,
    pub payload_bytes: u32,
    pub dropped: bool,
    pub ingress_ns: u64,
    pub egress_ns: u64,
    pub rx_ns: u64,
    pub node: u16,
    pub port: u32,
    /// In the queue.
    pub position: u64,
    /// Of the oldest packet there.
    pub first_position: u64,
}

/// Joins a data packet, or puts it among the waiting.
#[inline(always)]
pub(super) fn join(
    flow: &mut Flow,
    clock: &mut NodeClock,
    (row, mark): (&mut PostcardRow, &mut Mark),
    s: Packet,
    wait_ns: u64,
) {
    let seq = flow.unwrap(s.tcp_seq);
    let end = seq + u64::from(s.payload_bytes);
    let p = flow.point(s.node, s.port);
    let sampled = flow.sampled_beyond(seq);
    let waits =
        flow.probed || s.rx_ns.saturating_sub(flow.created_rx_ns) < wait_ns.saturating_mul(2);
    let Some(point) = flow.points.get_mut(p) else {
        return;
    };
    let arrival = point.arrival(seq, end, s.ingress_ns);
    if arrival == Arrival::New && !s.dropped {
        // Of a flow without samples nothing would take it away again.
        if waits {
            let segment = s.segment(seq, end).left(s.egress_ns);
            point.remember(segment.waiting(!sampled), s.first_position);
        }
    } else {
        row.retransmitted = arrival == Arrival::Again;
        point.disturbed();
        if arrival == Arrival::New && !sampled && waits {
            point.remember(s.segment(seq, end).waiting(true), s.first_position);
        }
    }
    if arrival == Arrival::New && !sampled {
        mark.waits = waits;
        return;
    }
    join_unusual((flow, p), clock, mark, s, (seq, arrival, waits));
}

impl Packet {
    #[inline(always)]
    fn segment(&self, seq: u64, end: u64) -> Segment {
        Segment::new(seq, end, self.ingress_ns, self.position)
    }
}

/// A packet that is reported after its sample, or was sent again.
#[inline(never)]
fn join_unusual(
    (flow, p): (&mut Flow, usize),
    clock: &mut NodeClock,
    mark: &mut Mark,
    s: Packet,
    (seq, arrival, waits): (u64, Arrival, bool),
) {
    let host = flow.host;
    let beyond = flow.sample_beyond(seq);
    // When it came here stands for when it left: a little late, but never
    // before the ACK that caused it.
    let left_host_ns = clock.mapping(host).map(|m| m.to_host(s.ingress_ns));
    let by_sequence = match (arrival, beyond) {
        (Arrival::New, Some((sample, before_ns))) => Some((sample, before_ns)),
        // Reordered, not sent again: it was here before that sample.
        (Arrival::Hole, Some((sample, _))) if left_host_ns.is_some_and(|t| t <= sample.time_ns) => {
            Some((sample, None))
        }
        _ => None,
    };
    if let Some((sample, before_ns)) = by_sequence {
        if let Some(before_ns) = before_ns {
            clock.pairs(host).sent_after(s.ingress_ns, before_ns);
        }
        fill(mark, &sample, Join::Sequence);
        return;
    }
    let waits_for_sequence =
        arrival == Arrival::New || (arrival == Arrival::Hole && beyond.is_none());
    if !waits_for_sequence && let Some(sample) = left_host_ns.and_then(|t| flow.sample_after(t)) {
        fill(mark, &sample, Join::Time);
        return;
    }
    let Some(point) = flow.points.get_mut(p).filter(|_| waits) else {
        return;
    };
    mark.waits = true;
    if waits_for_sequence {
        let segment = s.segment(seq, seq + u64::from(s.payload_bytes));
        point.remember(segment.waiting(true), s.first_position);
    } else {
        let waiting = Waiting {
            host_ns: left_host_ns.unwrap_or(0),
            position: s.position,
        };
        point.wait_for_time(waiting, s.first_position);
    }
}

/// Gives the waiting packets of a flow at a port the state of a new sample;
/// `before_ns`: host time of the sample before it.
#[inline(always)]
pub(super) fn resolve_waiting(
    point: &mut Point,
    queue: &mut Queue,
    pairs: &mut Pairs,
    sample: &SampleState,
    before_ns: Option<u64>,
) {
    while let Some(s) = point.shown(sample.snd_nxt) {
        if let Some(mark) = queue.waiting(s.position()) {
            fill(mark, sample, Join::Sequence);
            if let Some(before_ns) = before_ns {
                pairs.sent_after(s.ingress_ns(), before_ns);
            }
        }
    }
    while let Some(w) = point.wait_time.front()
        && w.host_ns <= sample.time_ns
    {
        if let Some(mark) = queue.waiting(w.position) {
            fill(mark, sample, Join::Time);
        }
        point.wait_time.pop_front();
    }
}

impl<S: Sink> Pipeline<S> {
    /// Hands on what waits for nothing any more, in the order of arrival.
    #[inline]
    pub(super) fn emit_ready(&mut self, now_rx_ns: u64) {
        while self.emit_oldest(now_rx_ns) {}
    }

    /// Hands on the oldest packet unless it waits; false when there is none.
    #[inline(always)]
    fn emit_oldest(&mut self, now_rx_ns: u64) -> bool {
        let waiting = self.queue.len();
        let Some((row, mark)) = self.queue.front() else {
            return false;
        };
        if mark.waits {
            let forced = waiting > self.config.max_pending;
            if row.rx_ns.saturating_add(self.join_wait_ns) > now_rx_ns && !forced {
                return false;
            }
            self.stats.join_forced += u64::from(forced);
            join_late(&self.flows, &self.nodes, row, mark);
        }
        if let Some(node) = self.nodes.get_mut(usize::from(mark.node)) {
            node.pending -= 1;
        }
        row.join = mark.join;
        row.cwnd = mark.cwnd;
        row.ssthresh = mark.ssthresh;
        row.srtt_us = mark.srtt_us;
        row.order = self.order;
        self.order += 1;
        self.stats.postcard_rows += 1;
        self.stats.count_join(row.join);
        self.sink.postcard(row);
        if self.aggregator.count(row)
            && let Some(update) = self.aggregator.close_due()
        {
            self.sink.update(update);
        }
        self.queue.pop_front();
        true
    }
}

/// No sample came: the last segments of a connection left under the state
/// after the last sample.
#[cold]
fn join_late(flows: &FlowTable, nodes: &[Node], row: &PostcardRow, mark: &mut Mark) {
    let Some(flow) = flows.get(mark.slot) else {
        return;
    };
    if flow.id != row.flow_id || !flow.probed {
        return;
    }
    let clock = &nodes[usize::from(mark.node)].clock;
    let left_host_ns = clock.mapping(flow.host).map(|m| m.to_host(row.ingress_ns));
    match (flow.last_sample(), left_host_ns) {
        (Some(sample), Some(t)) if t.saturating_sub(sample.time_ns) <= MAX_STALE_NS => {
            fill(mark, sample, Join::Time);
        }
        _ => mark.join = Join::Unmatched,
    }
}
