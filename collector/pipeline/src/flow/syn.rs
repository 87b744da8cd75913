// SPDX-License-Identifier: Apache-2.0
//! The first packet of a connection, and the round trip that later packets show.

/// First packet of a TCP connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Syn {
    pub seq: u32,
    pub egress_ns: u64,
    pub node: u16,
    /// Whether another packet has passed: then nothing is left to learn.
    pub repeated: bool,
    pub dropped: bool,
    /// Arrival time of the first packet after it that was dropped. Drops are reported at once, the
    /// acknowledgement of the SYN-ACK only when it leaves.
    pub first_drop_ns: u64,
}

impl Syn {
    /// Returns the round trip, ns, if the packet is the first after the SYN: it came one base RTT
    /// after the SYN left. A dropped data packet is never taken for the first, because it may be a
    /// retransmission.
    pub(crate) fn answered_ns(
        self,
        node: u16,
        seq: u32,
        lost_data: bool,
        ingress_ns: u64,
    ) -> Option<u64> {
        (!self.repeated
            && !self.dropped
            && !lost_data
            && self.node == node
            && seq == self.seq.wrapping_add(1)
            && ingress_ns <= self.first_drop_ns)
            .then(|| ingress_ns.saturating_sub(self.egress_ns))
            .filter(|&rtt| rtt > 0)
    }

    /// Returns the state after a further packet: nothing is left to learn, unless the packet is a
    /// drop, which may be reported ahead of the first packet.
    pub(crate) fn followed_by(self, dropped: bool, ingress_ns: u64) -> Self {
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
