// SPDX-License-Identifier: Apache-2.0
//! Updates the state of flows from their packets.

use super::handshake::handshake;
use super::table::FlowTable;
use crate::accounting::Packet;
use crate::stats::Stats;
use crate::tcp_flags::{FIN, RST, SYN, TCP};

impl FlowTable {
    /// Finds or creates the flow of a packet, and updates it. Returns its slot, and whether there
    /// is a change to announce.
    #[inline(always)]
    pub(crate) fn packet(&mut self, packet: &Packet<'_>, stats: &mut Stats) -> (u32, bool) {
        let inner = packet.inner;
        let ingress_ns = packet.ingress_ns;
        let is_tcp = inner.protocol == TCP && !inner.fragment;
        let is_syn = is_tcp && inner.tcp_flags & SYN != 0;
        let mut changed = false;
        let confirmed = self.confirm(packet.hint);
        let slot = match confirmed.or_else(|| self.find(&inner.flow_key())) {
            Some(slot) => {
                let ended = is_syn
                    && self.get(slot).is_some_and(|f| {
                        f.fin || f.has_data || f.syn.is_some_and(|syn| syn.seq != inner.tcp_seq)
                    });
                if ended {
                    self.renew(slot, packet.rx_ns, packet.node, ingress_ns);
                    stats.flows += 1;
                    changed = true;
                }
                slot
            }
            None => {
                changed = true;
                stats.flows += 1;
                let key = inner.flow_key();
                self.insert(key, packet.rx_ns, packet.node, ingress_ns)
            }
        };
        if let Some((flow, memory)) = self.with_memory(slot) {
            flow.last_rx_ns = flow.last_rx_ns.max(packet.rx_ns);
            if is_tcp {
                if inner.tcp_flags & (FIN | RST) != 0 {
                    flow.fin = true;
                }
                if is_syn || flow.awaits_answer {
                    // A copy, so that the packet itself need not be in memory.
                    changed |= handshake(flow, memory, &{ *packet });
                }
                if inner.payload_bytes > 0 && !is_syn {
                    flow.has_data = true;
                    if inner.payload_bytes > flow.mss_bytes {
                        flow.mss_bytes = inner.payload_bytes;
                        changed = true;
                    }
                }
            }
        }
        (slot, changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use int_report::{InnerPacket, Report};

    fn packet(table: &mut FlowTable, stats: &mut Stats, flags: u8, seq: u32, payload: u32) -> bool {
        let key = crate::testing::key(1);
        let inner = InnerPacket {
            src: key.src,
            dst: key.dst,
            protocol: TCP,
            src_port: key.src_port,
            dst_port: key.dst_port,
            beyond_bytes: 0,
            ip_bytes: 40 + payload,
            payload_bytes: payload,
            tcp_seq: seq,
            tcp_ack: 0,
            tcp_flags: flags,
            ecn: 0,
            fragment: false,
        };
        let report = Report::default();
        let packet = Packet {
            node: 0,
            rx_ns: 1,
            ingress_ns: 1,
            egress_ns: 2,
            absent: tidemark_rows::Absent::NOTHING,
            report: &report,
            inner: &inner,
            hint: None,
        };
        table.packet(&packet, stats).1
    }

    #[test]
    fn a_syn_after_the_end_begins_another_flow() {
        let (mut table, mut stats) = (
            FlowTable::new(16, usize::MAX, crate::FlowIds::default()),
            Stats::default(),
        );
        assert!(packet(&mut table, &mut stats, SYN, 10, 0), "new");
        assert!(!packet(&mut table, &mut stats, SYN, 10, 0), "the same SYN");
        assert!(packet(&mut table, &mut stats, 0, 11, 500), "larger MSS");
        assert!(!packet(&mut table, &mut stats, FIN, 511, 500));
        assert!(packet(&mut table, &mut stats, SYN, 900, 0), "again");
        assert_eq!((stats.flows, table.active()), (2, 1));
        let slot = table.find(&crate::testing::key(1)).unwrap();
        let flow = table.get(slot).unwrap();
        assert_eq!((flow.id, flow.mss_bytes, flow.fin), (2, 0, false));
    }
}
