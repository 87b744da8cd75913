// SPDX-License-Identifier: Apache-2.0
//! Join layer: finds the sender's state under which each packet left.
//!
//! The first sample with `snd_nxt` beyond a segment's sequence number was taken
//! on the first ACK after the segment left, before that ACK was processed: it
//! shows the state the segment left under. For retransmissions the sequence
//! number says nothing, so the first sample after they left is taken, through
//! the clock mapping.
//!
//! Packets wait in a queue for their sample ([`queue`]); events of hosts wait briefly for the
//! packets that they concern ([`reorder`]). Each node's clock is mapped to each host's clock
//! ([`clock`]).

mod clock;
mod envelope;
mod hand_over;
mod hosts;
mod packet;
mod queue;
mod reorder;
mod sample;

pub(crate) use hosts::{Hosts, Place};
pub(crate) use reorder::{HostEvent, MAX_EVENTS, ReorderBuffer};

use crate::accounting::{Node, Packet, egress_queue};
use crate::config::Config;
use crate::flow::{Flow, FlowTable, Observed, SegmentMemory};
use crate::prefetch::{self, distance};
use crate::rows::PostcardRow;
use crate::stats::Stats;
use crate::tcp_flags::{CWR, SYN, TCP};
use clock::{Mapping, NodeClock};
use hand_over::HandOvers;
use packet::Candidate;
use queue::{JoinSlot, PacketQueue};
use std::collections::VecDeque;
use tidemark_rows::Absent;

/// State of the join layer for one node.
#[derive(Debug)]
struct NodeJoin {
    clock: NodeClock,
    queued: u64,
}

/// Returns a node's state, created if new.
#[inline(always)]
fn node_at<'a>(nodes: &'a mut Vec<NodeJoin>, node: u16, hosts: &Hosts) -> &'a mut NodeJoin {
    let i = usize::from(node);
    if i >= nodes.len() {
        add_nodes(nodes, i, hosts);
    }
    &mut nodes[i]
}

#[cold]
fn add_nodes(nodes: &mut Vec<NodeJoin>, last: usize, hosts: &Hosts) {
    nodes.resize_with(last + 1, || NodeJoin {
        clock: NodeClock::new(hosts.local()),
        queued: 0,
    });
}

/// Packets that wait for samples, and samples that wait for packets.
#[derive(Debug)]
pub(crate) struct Joiner {
    queue: PacketQueue,
    handed_over: HandOvers,
    /// Nodes by index.
    nodes: Vec<NodeJoin>,
    /// Events of hosts on their way to their flows.
    pub events: ReorderBuffer,
    pub hosts: Hosts,
    enabled: bool,
    wait_ns: u64,
    max_queued: usize,
}

impl Joiner {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            queue: PacketQueue::default(),
            handed_over: HandOvers::default(),
            nodes: Vec::new(),
            events: ReorderBuffer::new(u64::from(config.probe_hold_ms) * 1_000_000),
            hosts: Hosts::new(config.local_host.as_deref()),
            enabled: config.join,
            wait_ns: u64::from(config.join_wait_ms) * 1_000_000,
            max_queued: config.max_pending,
        }
    }

    pub(crate) fn queued(&self) -> usize {
        self.queue.len()
    }

    pub(crate) fn queued_of(&self, node: u16) -> u64 {
        self.nodes.get(usize::from(node)).map_or(0, |n| n.queued)
    }

    /// Notes that packets from here on are handed over at `now_rx_ns`.
    pub(crate) fn hand_over(&mut self, now_rx_ns: u64) {
        let (oldest, next) = (self.queue.first, self.queue.next);
        self.handed_over.note(oldest, next, now_rx_ns);
    }

    /// Returns the mapping from a node's clock to a host's, as last computed.
    #[inline]
    pub(crate) fn mapping(&self, node: u16, host: u16) -> Option<Mapping> {
        self.nodes.get(usize::from(node))?.clock.mapping(host)
    }

    /// Recomputes all mappings.
    pub(crate) fn update_clocks(&mut self) {
        for node in &mut self.nodes {
            node.clock.update();
        }
    }

    /// Forgets a host whose place is reused; returns how many of its events were held back.
    pub(crate) fn forget_host(&mut self, host: u16) -> u64 {
        for node in &mut self.nodes {
            node.clock.forget_host(host);
        }
        self.events.forget_host(host)
    }

    /// Resets a node's clock mappings after its clock restarted, which begins another time axis.
    pub(crate) fn restart(&mut self, node: u16) {
        node_at(&mut self.nodes, node, &self.hosts).clock = NodeClock::new(self.hosts.local());
    }

    /// Queues the row of a packet and joins it if there is anything to join.
    #[inline(always)]
    pub(crate) fn packet(
        &mut self,
        packet: &Packet<'_>,
        node: &mut Node,
        slot: u32,
        (flow, memory): (&mut Flow, &mut SegmentMemory),
    ) {
        let Packet { report, inner, .. } = *packet;
        let (wait_ns, enabled) = (self.wait_ns, self.enabled);
        let first_position = self.queue.first;
        let position = self.queue.next;
        let joined = node_at(&mut self.nodes, packet.node, &self.hosts);
        if !report.dropped {
            joined.clock.received(packet.egress_ns, packet.rx_ns);
            if joined.clock.lacks_local() {
                joined.clock.update();
            }
        }
        joined.queued += 1;
        let Some((row, join_slot)) = self.queue.push() else {
            return;
        };
        let at = egress_queue(report);
        fill_row(row, packet, node, flow.id);
        *join_slot = JoinSlot {
            flow: slot,
            node: packet.node,
            ..JoinSlot::default()
        };
        let joins = inner.protocol == TCP
            && !inner.fragment
            && inner.tcp_flags & SYN == 0
            && inner.payload_bytes > 0;
        if joins && enabled {
            let candidate = Candidate {
                tcp_seq: inner.tcp_seq,
                payload_bytes: inner.payload_bytes,
                dropped: report.dropped,
                ingress_ns: packet.ingress_ns,
                egress_ns: packet.egress_ns,
                rx_ns: packet.rx_ns,
                node: packet.node,
                at,
                position,
                first_position,
            };
            let clock = &mut joined.clock;
            row.retransmitted = packet::join((flow, memory), clock, join_slot, candidate, wait_ns);
        } else if joins {
            // A copy, so that the packet itself need not be in memory.
            row.retransmitted = packet::came_before((flow, memory), &{ *packet }, at);
        }
        let concerns = row.dropped || row.ce_marked || row.retransmitted;
        // With sampling, packets between the sampled ones are unknown.
        if joins && (concerns || flow.awaits_feedback) && row.sampling_shift == 0 {
            row.feedback_rtt_us = flow.feedback_us(&observed(packet, row));
        }
    }

    /// Queues the row of a packet that cannot be read: its flow is unknown.
    #[cold]
    pub(crate) fn without_flow(&mut self, packet: &Packet<'_>, node: &mut Node) {
        node_at(&mut self.nodes, packet.node, &self.hosts).queued += 1;
        if let Some((row, join_slot)) = self.queue.push() {
            fill_row(row, packet, node, 0);
            row.absent = row.absent.with(Absent::PACKET, true);
            *join_slot = JoinSlot {
                node: packet.node,
                ..JoinSlot::default()
            };
        }
    }

    /// Returns the oldest packet, complete but for its `order`; `None` if it still waits or there
    /// is none. [`Joiner::pop`] removes it.
    #[inline(always)]
    pub(crate) fn ready(
        &mut self,
        now_rx_ns: u64,
        flows: &FlowTable,
        stats: &mut Stats,
    ) -> Option<&mut PostcardRow> {
        let queued = self.queue.len();
        let first_position = self.queue.first;
        let (row, slot) = self.queue.front()?;
        let node = self.nodes.get_mut(usize::from(slot.node))?;
        if slot.waits {
            let forced = queued > self.max_queued;
            let came_ns = row.rx_ns.max(self.handed_over.oldest_ns(first_position));
            if came_ns.saturating_add(self.wait_ns) > now_rx_ns && !forced {
                return None;
            }
            stats.join_forced += u64::from(forced);
            packet::join_late(flows, &node.clock, row, slot);
        }
        node.queued -= 1;
        row.join = slot.join;
        row.cwnd = slot.cwnd;
        row.ssthresh = slot.ssthresh;
        row.srtt_us = slot.srtt_us;
        stats.count_join(row.join);
        Some(row)
    }

    /// Returns the packet that is `places` behind the oldest.
    #[inline(always)]
    pub(crate) fn ahead(&self, places: u64) -> Option<&PostcardRow> {
        self.queue.ahead(places)
    }

    #[inline(always)]
    pub(crate) fn pop(&mut self) {
        self.queue.pop_front();
    }

    /// Prefetches what upcoming events need, each kind of memory at its own distance.
    #[inline(always)]
    pub(crate) fn prefetch(&self, events: &mut VecDeque<HostEvent>, flows: &FlowTable) {
        if flows.is_large()
            && let Some(event) = events.get(distance::SAMPLE_INDEX)
        {
            if let Some(later) = events.get(distance::SAMPLES) {
                prefetch::lines(later, size_of::<HostEvent>());
            }
            event.prefetch_index(flows);
        }
        if let Some(event) = events.get_mut(distance::SAMPLE_FLOWS) {
            event.look_ahead(flows);
        }
        if let Some(event) = events.get(distance::SAMPLE_SEGMENTS)
            && let Some(hint) = event.hint
        {
            flows.prefetch_oldest(hint);
        }
        if let Some(event) = events.get(distance::SAMPLE_JOIN_SLOTS)
            && let Some(hint) = event.hint
            && let Some(flow) = flows.get(hint.slot)
            && let Some(port) = flow.ports.first()
        {
            for position in port.oldest_waiting().into_iter().flatten() {
                self.queue.prefetch(position);
            }
        }
    }
}

/// Returns the fields of a packet that matter for its flow's feedback time.
#[inline(always)]
fn observed(packet: &Packet<'_>, row: &PostcardRow) -> Observed {
    Observed {
        node: packet.node,
        port: row.port,
        queue: row.queue,
        seq: packet.inner.tcp_seq,
        ingress_ns: packet.ingress_ns,
        egress_ns: packet.egress_ns,
        dropped: row.dropped,
        ce_marked: row.ce_marked,
        cwr: packet.inner.tcp_flags & CWR != 0,
        again: row.retransmitted,
    }
}

/// Fills a row field by field in place: a finished row would be copied while its parts are still on
/// their way to memory (measured on "decode, flow, join, intervals"). The pattern names every
/// column, so that an unfilled column does not compile.
#[inline(always)]
fn fill_row(row: &mut PostcardRow, packet: &Packet<'_>, node: &mut Node, id: u64) {
    let PostcardRow {
        rx_ns,
        node_id,
        hw_id,
        sequence,
        flow_id,
        ingress_port,
        port,
        queue,
        ingress_ns,
        egress_ns,
        occupancy_bytes,
        limit_bytes,
        ip_bytes,
        wire_overhead_bytes,
        payload_bytes,
        tcp_seq,
        tcp_ack,
        tcp_flags,
        ecn,
        ce_marked,
        dropped,
        from_stack,
        drop_reason,
        sampling_shift,
        out_of_sample,
        retransmitted,
        feedback_rtt_us,
        lost_before,
        absent,
        // Set when the row is handed on.
        order: _,
        join: _,
        cwnd: _,
        ssthresh: _,
        srtt_us: _,
    } = row;
    let Packet { report, inner, .. } = *packet;
    *rx_ns = packet.rx_ns;
    *node_id = report.node_id;
    *hw_id = report.hw_id;
    *sequence = report.sequence;
    *flow_id = id;
    *ingress_port = report.ingress_port.unwrap_or(0);
    (*port, *queue) = egress_queue(report);
    *ingress_ns = packet.ingress_ns;
    *egress_ns = packet.egress_ns;
    *occupancy_bytes = node.depth_bytes(report.queue_occupancy.unwrap_or(0));
    *limit_bytes = match report.limit {
        None | Some(u32::MAX) => 0,
        Some(limit) => node.depth_bytes(limit),
    };
    *ip_bytes = inner.ip_bytes;
    *wire_overhead_bytes = node.wire_overhead_bytes(*port)
        + inner.beyond_bytes
        + report.hop.map_or(0, |hop| hop.carried_bytes.into());
    *payload_bytes = inner.payload_bytes;
    *tcp_seq = inner.tcp_seq;
    *tcp_ack = inner.tcp_ack;
    *tcp_flags = inner.tcp_flags;
    *ecn = inner.ecn;
    *ce_marked = report.ce_marked();
    *dropped = report.dropped;
    *from_stack = report.hop.is_some();
    *drop_reason = report.drop_reason.unwrap_or(0);
    *sampling_shift = report.sampling_shift.unwrap_or(0);
    *out_of_sample = report.out_of_sample();
    *retransmitted = false;
    *feedback_rtt_us = 0;
    *lost_before = node.take_lost();
    *absent = packet
        .absent
        .with(Absent::INGRESS_PORT, report.ingress_port.is_none())
        .with(Absent::EGRESS_PORT, report.egress_port.is_none())
        .with(Absent::QUEUE, report.queue_id.is_none())
        .with(Absent::OCCUPANCY, report.queue_occupancy.is_none());
}
