// SPDX-License-Identifier: Apache-2.0
//! The round trip of the handshake, from the SYN to the packet that answers
//! the SYN-ACK.

use super::state::Flow;
use crate::accounting::Packet;
use crate::tcp_flags::{ACK, SYN};

/// First packet of a TCP connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syn {
    pub seq: u32,
    pub egress_ns: u64,
    pub node: u16,
    /// Another passed before.
    pub repeated: bool,
    pub dropped: bool,
    /// Arrival of the first packet after it that was dropped. Drops are reported
    /// at once, the acknowledgement of the SYN-ACK only when it leaves.
    pub first_drop_ns: u64,
}

impl Syn {
    /// The round trip, ns, when the packet at hand is the first after the SYN:
    /// it came one base RTT after the SYN left. A dropped data packet is never
    /// taken for the first, because it may be a retransmission.
    pub fn answered_ns(self, node: u16, seq: u32, lost_data: bool, ingress_ns: u64) -> Option<u64> {
        (!self.repeated
            && !self.dropped
            && !lost_data
            && self.node == node
            && seq == self.seq.wrapping_add(1)
            && ingress_ns <= self.first_drop_ns)
            .then(|| ingress_ns.saturating_sub(self.egress_ns))
            .filter(|&rtt| rtt > 0)
    }

    /// The state after a further packet: nothing is left to learn, unless the
    /// packet is one of those whose drops are reported ahead of the first.
    pub fn followed_by(self, dropped: bool, ingress_ns: u64) -> Self {
        Self {
            repeated: self.repeated || !dropped,
            first_drop_ns: if dropped {
                self.first_drop_ns.min(ingress_ns)
            } else {
                self.first_drop_ns
            },
            ..self
        }
    }
}

/// A SYN, or a packet while the round trip of the handshake is not known; true
/// when it is known now.
#[cold]
pub(super) fn handshake(flow: &mut Flow, packet: &Packet<'_>) -> bool {
    let Packet {
        node,
        times,
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
            times.ingress_ns,
        );
        if let Some(rtt_ns) = rtt_ns {
            flow.handshake_rtt_ns = rtt_ns;
        }
        flow.set_syn(syn.followed_by(report.dropped, times.ingress_ns));
        return rtt_ns.is_some();
    }
    let seq = flow.unwrap(inner.tcp_seq);
    let index = flow.port_index(node, report.egress_port.unwrap_or(0));
    if let Some(port) = flow.ports.get_mut(index) {
        port.arrival(seq, seq + 1, times.ingress_ns);
        if !report.dropped {
            port.syn(times.egress_ns.saturating_sub(times.ingress_ns));
        }
    }
    if inner.tcp_flags & ACK == 0 {
        // The answer may be to a SYN that passed before, never to one that was
        // dropped here.
        let repeated = flow.syn.is_some_and(|s| s.repeated || !s.dropped);
        flow.set_syn(Syn {
            seq: inner.tcp_seq,
            egress_ns: times.egress_ns,
            node,
            repeated,
            dropped: report.dropped,
            first_drop_ns: u64::MAX,
        });
    }
    false
}
