// SPDX-License-Identifier: Apache-2.0
//! Packet by packet: which of the sender's states it left under.
//!
//! The first sample with `snd_nxt` beyond a segment's sequence number was taken
//! on the first ACK after the segment left, before that ACK was processed: it
//! shows the state the segment left under. For segments sent again the
//! sequence number says nothing, so the first sample after they left is taken,
//! through the clock mapping.

use super::{Node, Pending, Pipeline};
use crate::flow::SampleState;
use crate::point::{Arrival, Waiting};
use crate::rows::{Join, PostcardRow, Sink};
use crate::table::FlowTable;

/// A last sample may stand in for a missing one for this long.
const MAX_STALE_NS: u64 = 5_000_000_000;

#[inline]
fn fill(row: &mut PostcardRow, sample: &SampleState, join: Join) {
    row.join = join;
    row.cwnd = sample.cwnd;
    row.ssthresh = sample.ssthresh;
    row.srtt_us = sample.srtt_us;
}

impl<S: Sink> Pipeline<S> {
    /// Joins a data packet or puts it among the waiting.
    #[inline]
    pub(super) fn join(&mut self, pending: &mut Pending) {
        let position = self.first_position + self.queue.len() as u64;
        let wait_ns = u64::from(self.config.join_wait_ms) * 1_000_000;
        let row = &mut pending.row;
        let Some(flow) = self.flows.get_mut(pending.slot) else {
            return;
        };
        let clock = &mut self.nodes[usize::from(pending.node)].clock;
        let seq = flow.unwrap(row.tcp_seq);
        let end = seq + u64::from(row.payload_bytes);
        let p = flow.point(pending.node, row.port);
        let arrival = flow.points[p].arrival(seq, end, row.ingress_ns);
        row.retransmitted = arrival == Arrival::Again;
        if arrival != Arrival::New || row.dropped {
            flow.points[p].disturbed();
        } else {
            let delay_ns = row.egress_ns.saturating_sub(row.ingress_ns);
            flow.points[p].passed(seq, end, row.egress_ns, delay_ns);
        }
        let waits =
            flow.probed || row.rx_ns.saturating_sub(flow.created_rx_ns) < wait_ns.saturating_mul(2);
        let beyond = flow.sample_beyond(seq);
        if arrival == Arrival::New && beyond.is_none() {
            if waits {
                pending.resolved = false;
                pending.deadline_rx_ns = row.rx_ns.saturating_add(wait_ns);
                let point = &mut flow.points[p];
                point.forget_waiting(self.first_position);
                point.wait_for_sequence(Waiting { key: seq, position });
            }
            return;
        }
        // When it came here stands for when it left: a little late, but never
        // before the ACK that caused it.
        let left_host_ns = clock.mapping(flow.host).map(|m| m.to_host(row.ingress_ns));
        let by_sequence = match (arrival, beyond) {
            (Arrival::New, Some((sample, before))) => Some((sample, before)),
            // Reordered, not sent again: it was here before that sample.
            (Arrival::Hole, Some((sample, _)))
                if left_host_ns.is_some_and(|t| t <= sample.time_ns) =>
            {
                Some((sample, None))
            }
            _ => None,
        };
        if let Some((sample, before)) = by_sequence {
            if let Some(before) = before {
                clock.sent_after(flow.host, row.ingress_ns, before.time_ns);
            }
            fill(row, &sample, Join::Sequence);
            return;
        }
        let waits_for_sequence =
            arrival == Arrival::New || (arrival == Arrival::Hole && beyond.is_none());
        if !waits_for_sequence && let Some(sample) = left_host_ns.and_then(|t| flow.sample_after(t))
        {
            fill(row, &sample, Join::Time);
            return;
        }
        if !waits {
            return;
        }
        pending.resolved = false;
        pending.deadline_rx_ns = row.rx_ns.saturating_add(wait_ns);
        let point = &mut flow.points[p];
        point.forget_waiting(self.first_position);
        if waits_for_sequence {
            point.wait_for_sequence(Waiting { key: seq, position });
        } else {
            let key = left_host_ns.unwrap_or(0);
            point.wait_time.push_back(Waiting { key, position });
        }
    }

    /// Gives the waiting packets of a flow the state of a new sample.
    pub(super) fn resolve_waiting(
        &mut self,
        slot: u32,
        sample: SampleState,
        before: Option<SampleState>,
    ) {
        let first = self.first_position;
        let Some(flow) = self.flows.get_mut(slot) else {
            return;
        };
        let (id, host) = (flow.id, flow.host);
        for point in &mut flow.points {
            let clock = &mut self.nodes[usize::from(point.node)].clock;
            while let Some(w) = point.wait_sequence.front().copied() {
                if w.key >= sample.snd_nxt {
                    break;
                }
                point.wait_sequence.pop_front();
                let Some(pending) = waiting(&mut self.queue, first, w.position, id) else {
                    continue;
                };
                fill(&mut pending.row, &sample, Join::Sequence);
                pending.resolved = true;
                if let Some(before) = before {
                    clock.sent_after(host, pending.row.ingress_ns, before.time_ns);
                }
            }
            while let Some(w) = point.wait_time.front().copied() {
                if w.key > sample.time_ns {
                    break;
                }
                point.wait_time.pop_front();
                if let Some(pending) = waiting(&mut self.queue, first, w.position, id) {
                    fill(&mut pending.row, &sample, Join::Time);
                    pending.resolved = true;
                }
            }
        }
    }

    /// Hands on what waits for nothing any more, in the order of arrival.
    #[inline]
    pub(super) fn emit_ready(&mut self, now_rx_ns: u64) {
        loop {
            let forced = self.queue.len() > self.config.max_pending;
            let Some(front) = self.queue.front_mut() else {
                return;
            };
            if !front.resolved {
                if front.deadline_rx_ns > now_rx_ns && !forced {
                    return;
                }
                self.stats.join_forced += u64::from(forced);
                join_late(&self.flows, &self.nodes, front);
            }
            self.nodes[usize::from(front.node)].pending -= 1;
            let row = &mut front.row;
            match row.join {
                Join::None => {}
                Join::Unmatched => self.stats.join_candidates += 1,
                Join::Sequence => {
                    self.stats.join_candidates += 1;
                    self.stats.join_by_sequence += 1;
                }
                Join::Time => {
                    self.stats.join_candidates += 1;
                    self.stats.join_by_time += 1;
                }
            }
            row.order = self.order;
            self.order += 1;
            self.stats.postcard_rows += 1;
            self.sink.postcard(row);
            if let Some(update) = self.aggregator.postcard(row) {
                self.sink.update(update);
            }
            self.queue.pop_front();
            self.first_position += 1;
        }
    }
}

/// No sample came: the last segments of a connection left under the state
/// after the last sample.
#[cold]
fn join_late(flows: &FlowTable, nodes: &[Node], pending: &mut Pending) {
    let Some(flow) = flows.get(pending.slot) else {
        return;
    };
    if flow.id != pending.row.flow_id || !flow.probed {
        return;
    }
    let clock = &nodes[usize::from(pending.node)].clock;
    let left_host_ns = clock
        .mapping(flow.host)
        .map(|m| m.to_host(pending.row.ingress_ns));
    match (flow.last_sample(), left_host_ns) {
        (Some(sample), Some(t)) if t.saturating_sub(sample.time_ns) <= MAX_STALE_NS => {
            fill(&mut pending.row, sample, Join::Time);
        }
        _ => pending.row.join = Join::Unmatched,
    }
}

#[inline]
fn waiting(
    queue: &mut std::collections::VecDeque<Pending>,
    first: u64,
    position: u64,
    flow_id: u64,
) -> Option<&mut Pending> {
    let i = position.checked_sub(first)?;
    let pending = queue.get_mut(usize::try_from(i).ok()?)?;
    (!pending.resolved && pending.row.flow_id == flow_id).then_some(pending)
}
