// SPDX-License-Identifier: Apache-2.0
//! The round trip of the handshake, from the SYN to the packet that answers
//! the SYN-ACK.

use super::segment_memory::SegmentMemory;
use super::state::Flow;
use super::syn::Syn;
use crate::accounting::{Packet, egress_queue};
use crate::tcp_flags::{ACK, SYN};

/// Processes a SYN, or a packet while the round trip of the handshake is unknown; returns whether
/// it has become known.
#[cold]
pub(super) fn handshake(flow: &mut Flow, memory: &mut SegmentMemory, packet: &Packet<'_>) -> bool {
    let Packet {
        node,
        ingress_ns,
        egress_ns,
        report,
        inner,
        ..
    } = *packet;
    if inner.tcp_flags & SYN == 0 {
        let Some(syn) = flow.syn else { return false };
        let rtt_ns = syn.answered_ns(
            node,
            inner.tcp_seq,
            report.dropped && inner.payload_bytes > 0,
            ingress_ns,
        );
        if let Some(rtt_ns) = rtt_ns {
            flow.handshake_rtt_ns = rtt_ns;
        }
        flow.set_syn(syn.followed_by(report.dropped, ingress_ns));
        return rtt_ns.is_some();
    }
    let seq = flow.unwrap(inner.tcp_seq);
    let index = flow.port_index(node, egress_queue(report), memory);
    if let Some(port) = flow.ports.get_mut(index) {
        port.arrival(seq, seq + 1, ingress_ns, memory);
        if !report.dropped {
            port.syn(egress_ns.saturating_sub(ingress_ns));
        }
    }
    if inner.tcp_flags & ACK == 0 {
        // The answer may be to a SYN that passed before, never to one that was
        // dropped here.
        let repeated = flow.syn.is_some_and(|s| s.repeated || !s.dropped);
        flow.set_syn(Syn {
            seq: inner.tcp_seq,
            egress_ns,
            node,
            repeated,
            dropped: report.dropped,
            first_drop_ns: u64::MAX,
        });
    }
    false
}
