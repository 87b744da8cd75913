// SPDX-License-Identifier: Apache-2.0
//! From a decoded report to a row in the queue.

use super::Pipeline;
use super::join::{Packet, join};
use crate::node::{TimeError, Times};
use crate::queue::Mark;
use crate::rows::{Event, Sink};
use crate::table::Found;
use int_report::drop_reason::{DropClass, describe};
use int_report::sequence::{Outcome, StreamKey};
use int_report::{InnerError, InnerPacket, Report};
use std::net::IpAddr;

pub(super) const TCP: u8 = 6;
pub(super) const FIN: u8 = 0x01;
pub(super) const SYN: u8 = 0x02;
pub(super) const RST: u8 = 0x04;
pub(super) const ACK: u8 = 0x10;

impl<S: Sink> Pipeline<S> {
    #[inline(always)]
    pub(super) fn report(
        &mut self,
        exporter: IpAddr,
        rx_ns: u64,
        report: &Report<'_>,
        inner: Result<&InnerPacket, &InnerError>,
        found: Option<Found>,
    ) {
        let Some(index) = self.node(report.node_id, rx_ns) else {
            self.stats.nodes_refused += 1;
            return;
        };
        let node = &mut self.nodes[usize::from(index)];
        if !node.configured {
            self.stats.reports_unconfigured_node += 1;
        }
        let times = node.state.times(report);
        if report.first_in_datagram {
            self.skip_datagram = false;
            // A number with an impossible time is no evidence of anything.
            if times != Err(TimeError::Implausible) {
                let lost = self.account(exporter, report, times.ok());
                let before = &mut self.nodes[usize::from(index)].lost_before;
                *before = before.saturating_add(lost);
            }
        }
        if self.skip_datagram {
            self.stats.reports_duplicate += 1;
            return;
        }
        let times = match times {
            Ok(times) => times,
            Err(TimeError::Missing) => {
                self.stats.reports_without_time += 1;
                return;
            }
            Err(TimeError::Implausible) => {
                self.stats.reports_implausible_time += 1;
                return;
            }
        };
        if times.restarted {
            self.restart(index, times.ingress_ns, rx_ns);
        }
        let inner = match inner {
            Ok(inner) => inner,
            Err(e) => {
                if let Some(n) = self.stats.inner_errors.get_mut(e.index()) {
                    *n += 1;
                }
                return;
            }
        };
        let node = &mut self.nodes[usize::from(index)];
        node.last_rx_ns = node.last_rx_ns.max(rx_ns);
        if let Some(drops) = report.summary_drops {
            self.stats.drop_summaries += 1;
            self.stats.summarised_drops += u64::from(drops);
            return;
        }
        if report.dropped && !is_queue_loss(node.state.config.drop_codes, report.drop_reason) {
            self.stats.drops_not_of_queue += 1;
            return;
        }
        if !report.dropped {
            node.clock.received(times.egress_ns, rx_ns);
            if node.clock.lacks_local() {
                node.clock.update();
            }
        }
        let slot = self.flow_packet(index, rx_ns, report, inner, times, found);
        self.enqueue(index, slot, report, inner, times, rx_ns);
    }

    /// Accounts for a datagram; the number of reports found missing by it.
    #[inline(always)]
    fn account(&mut self, exporter: IpAddr, report: &Report<'_>, times: Option<Times>) -> i32 {
        let key = StreamKey {
            exporter,
            node_id: report.node_id,
            hw_id: report.hw_id,
            sequence_bits: report.sequence_bits,
        };
        let time_ns = times.map(|t| t.egress_ns.max(t.ingress_ns));
        let outcome = self.streams.observe(key, report.sequence, time_ns);
        self.skip_datagram = outcome == Some(Outcome::Duplicate);
        match outcome {
            Some(Outcome::Gap { lost }) => i32::try_from(lost).unwrap_or(i32::MAX),
            // Late ones were counted as lost before, but for those from before
            // the first report, which are rare and early.
            Some(Outcome::Late) => -1,
            _ => 0,
        }
    }

    fn restart(&mut self, index: u16, time_ns: u64, rx_ns: u64) {
        // What is in the queue belongs to the old time axis.
        self.emit_ready(u64::MAX);
        let local = self.local;
        let node = &mut self.nodes[usize::from(index)];
        let node_id = node.state.node_id;
        node.clock = crate::clock::NodeClock::new(local);
        node.first_rx_ns = rx_ns;
        node.idle_mark_ns = 0;
        self.emit_event(Event::Restart { node_id, time_ns });
    }

    /// Puts the row of a packet of a flow into the queue and joins it if there is
    /// anything to join.
    #[inline(always)]
    fn enqueue(
        &mut self,
        index: u16,
        slot: u32,
        report: &Report<'_>,
        inner: &InnerPacket,
        times: Times,
        rx_ns: u64,
    ) {
        let first_position = self.queue.first_position();
        let position = self.queue.next_position();
        let (Some(node), Some(flow)) = (
            self.nodes.get_mut(usize::from(index)),
            self.flows.get_mut(slot),
        ) else {
            return;
        };
        let Some((row, mark)) = self.queue.push() else {
            return;
        };
        let port = report.egress_port.unwrap_or(0);
        let wire_overhead_bytes = node.state.wire_overhead_bytes(port);
        let lost_before = std::mem::take(&mut node.lost_before);
        node.pending += 1;
        // Field by field where it lies: a finished row would be copied while its
        // parts are still on their way to memory. `order` and what the join
        // finds are set when it is handed on.
        row.rx_ns = rx_ns;
        row.node_id = report.node_id;
        row.hw_id = report.hw_id;
        row.sequence = report.sequence;
        row.flow_id = flow.id;
        row.ingress_port = report.ingress_port.unwrap_or(0);
        row.port = port;
        row.queue = report.queue_id.unwrap_or(0);
        row.ingress_ns = times.ingress_ns;
        row.egress_ns = times.egress_ns;
        row.occupancy_bytes = node.state.depth_bytes(report.queue_occupancy.unwrap_or(0));
        row.limit_bytes = match report.limit {
            None | Some(u32::MAX) => 0,
            Some(limit) => node.state.depth_bytes(limit),
        };
        row.ip_bytes = inner.ip_bytes;
        row.wire_overhead_bytes = wire_overhead_bytes;
        row.payload_bytes = inner.payload_bytes;
        row.tcp_seq = inner.tcp_seq;
        row.tcp_ack = inner.tcp_ack;
        row.tcp_flags = inner.tcp_flags;
        row.ecn = inner.ecn;
        row.ce_marked = report.ce_marked();
        row.dropped = report.dropped;
        row.drop_reason = report.drop_reason.unwrap_or(0);
        row.sampling_shift = report.sampling_shift.unwrap_or(0);
        row.retransmitted = false;
        row.lost_before = lost_before;
        *mark = Mark {
            slot,
            node: index,
            ..Mark::default()
        };
        let joins = inner.protocol == TCP
            && !inner.fragment
            && inner.tcp_flags & SYN == 0
            && inner.payload_bytes > 0;
        if joins && self.config.join {
            // By value: what was just written would be read back before it is there.
            let packet = Packet {
                tcp_seq: inner.tcp_seq,
                payload_bytes: inner.payload_bytes,
                dropped: report.dropped,
                ingress_ns: times.ingress_ns,
                egress_ns: times.egress_ns,
                rx_ns,
                node: index,
                port,
                position,
                first_position,
            };
            join(
                flow,
                &mut node.clock,
                (row, mark),
                packet,
                self.join_wait_ns,
            );
        }
    }
}

/// Reports that give no reason are taken for queue losses: v1 and v0.5
/// programs report nothing else.
#[inline]
fn is_queue_loss(table: int_report::drop_reason::DropTable, reason: Option<u8>) -> bool {
    reason.is_none_or(|code| {
        let class = describe(table, code).0;
        class.is_queue_loss() || class == DropClass::Unknown
    })
}
