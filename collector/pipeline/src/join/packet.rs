// SPDX-License-Identifier: Apache-2.0
//! Joins a packet with a sample that has come already, or lets it wait.

use super::clock::NodeClock;
use super::queue::JoinSlot;
use crate::accounting::Packet;
use crate::flow::{Arrival, Flow, FlowTable, SampleState, Segment, SegmentMemory, Waiting};
use crate::rows::{Join, PostcardRow};

/// How long the last sample may stand in for a missing one.
const MAX_STALE_NS: u64 = 5_000_000_000;

/// A data packet to be joined. Its values are copied instead of read from its row, because reading
/// back what was just written would wait for memory.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub tcp_seq: u32,
    pub payload_bytes: u32,
    pub dropped: bool,
    pub ingress_ns: u64,
    pub egress_ns: u64,
    pub rx_ns: u64,
    pub node: u16,
    pub at: (u32, u8),
    /// Position in the queue.
    pub position: u64,
    /// Position of the oldest packet in the queue.
    pub first_position: u64,
}

impl Candidate {
    #[inline(always)]
    fn segment(&self, seq: u64, end: u64) -> Segment {
        Segment::new(seq, end, self.ingress_ns, self.position)
    }
}

/// Place of a candidate in its flow.
#[derive(Clone, Copy)]
struct Placement {
    /// Index among the flow's ports.
    port: usize,
    /// Unwrapped sequence number.
    seq: u64,
    arrival: Arrival,
    /// Whether a sample can still come.
    may_wait: bool,
}

/// Joins a data packet, or lets it wait. Returns whether it is a retransmission.
///
/// The fast path is a new segment whose sample has not come; [`join_slow`] takes everything else.
#[inline(always)]
pub(super) fn join(
    (flow, memory): (&mut Flow, &mut SegmentMemory),
    clock: &mut NodeClock,
    slot: &mut JoinSlot,
    candidate: Candidate,
    wait_ns: u64,
) -> bool {
    let seq = flow.unwrap(candidate.tcp_seq);
    let end = seq + u64::from(candidate.payload_bytes);
    let port_index = flow.port_index(candidate.node, candidate.at, memory);
    let sampled = flow.sampled_beyond(seq);
    // Without samples of the flow, nothing would remove the segment again.
    let age_ns = candidate.rx_ns.saturating_sub(flow.created_rx_ns);
    let may_wait = flow.probed || age_ns < wait_ns.saturating_mul(2);
    let Some(port) = flow.ports.get_mut(port_index) else {
        return false;
    };
    let arrival = port.arrival(seq, end, candidate.ingress_ns, memory);
    let is_new = arrival == Arrival::New;
    if is_new && !candidate.dropped {
        if may_wait {
            let segment = candidate.segment(seq, end).left(candidate.egress_ns);
            port.remember(segment.waiting(!sampled), candidate.first_position, memory);
        }
    } else {
        port.disturbed();
        if is_new && !sampled && may_wait {
            let segment = candidate.segment(seq, end).waiting(true);
            port.remember(segment, candidate.first_position, memory);
        }
    }
    if is_new && !sampled {
        slot.waits = may_wait;
        return false;
    }
    let placement = Placement {
        port: port_index,
        seq,
        arrival,
        may_wait,
    };
    join_slow((flow, memory), clock, slot, candidate, placement);
    arrival == Arrival::Again
}

/// Whether a data packet is a retransmission, if no packets are joined because no source of samples
/// is configured.
#[inline(never)]
pub(super) fn came_before(
    (flow, memory): (&mut Flow, &mut SegmentMemory),
    packet: &Packet<'_>,
    at: (u32, u8),
) -> bool {
    let seq = flow.unwrap(packet.inner.tcp_seq);
    let end = seq + u64::from(packet.inner.payload_bytes);
    let index = flow.port_index(packet.node, at, memory);
    let Some(port) = flow.ports.get_mut(index) else {
        return false;
    };
    port.arrival(seq, end, packet.ingress_ns, memory) == Arrival::Again
}

/// Joins a packet that is reported after its sample, reordered, or retransmitted.
#[inline(never)]
fn join_slow(
    (flow, memory): (&mut Flow, &mut SegmentMemory),
    clock: &mut NodeClock,
    slot: &mut JoinSlot,
    candidate: Candidate,
    placement: Placement,
) {
    let Placement { seq, arrival, .. } = placement;
    let host = flow.host;
    let beyond = flow.sample_beyond(seq);
    // Its arrival here stands for its departure from the host: a little late, but never before the
    // ACK that caused it.
    let left_host_ns = clock.mapping(host).map(|m| m.to_host(candidate.ingress_ns));
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
            clock
                .pairs(host)
                .sent_after(candidate.ingress_ns, before_ns);
        }
        slot.fill(&sample, Join::Sequence);
        return;
    }
    let waits_for_sequence =
        arrival == Arrival::New || (arrival == Arrival::Hole && beyond.is_none());
    if !waits_for_sequence && let Some(sample) = left_host_ns.and_then(|t| flow.sample_after(t)) {
        slot.fill(&sample, Join::Time);
        return;
    }
    let port = flow.ports.get_mut(placement.port);
    let Some(port) = port.filter(|_| placement.may_wait) else {
        return;
    };
    slot.waits = true;
    if waits_for_sequence {
        let end = seq + u64::from(candidate.payload_bytes);
        let segment = candidate.segment(seq, end).waiting(true);
        port.remember(segment, candidate.first_position, memory);
    } else {
        let waiting = Waiting {
            host_ns: left_host_ns.unwrap_or(0),
            position: candidate.position,
        };
        port.wait_for_time(waiting, candidate.first_position, memory);
    }
}

/// Joins a packet for which no sample came: the last segments of a connection left under the state
/// after the last sample.
#[cold]
pub(super) fn join_late(
    flows: &FlowTable,
    clock: &NodeClock,
    row: &PostcardRow,
    slot: &mut JoinSlot,
) {
    let Some(flow) = flows.get(slot.flow) else {
        return;
    };
    if flow.id != row.flow_id || !flow.probed {
        return;
    }
    let left_host_ns = clock.mapping(flow.host).map(|m| m.to_host(row.ingress_ns));
    match (flow.last_sample(), left_host_ns) {
        (Some(sample), Some(t)) if t.saturating_sub(sample.time_ns) <= MAX_STALE_NS => {
            slot.fill(sample, Join::Time);
        }
        _ => slot.join = Join::Unmatched,
    }
}

impl JoinSlot {
    /// Sets the state that the packet left under; it no longer waits.
    #[inline]
    pub(super) fn fill(&mut self, sample: &SampleState, join: Join) {
        self.join = join;
        self.cwnd = sample.cwnd;
        self.ssthresh = sample.ssthresh;
        self.srtt_us = sample.srtt_us;
        self.waits = false;
    }
}
