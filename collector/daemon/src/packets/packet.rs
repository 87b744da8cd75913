// SPDX-License-Identifier: Apache-2.0
//! The record kept of a packet.

use tidemark_pipeline::PostcardRow;

/// Record of one packet, which is small because there are millions.
#[derive(Clone, Copy)]
pub(super) struct Packet {
    pub ingress_ns: u64,
    /// Departure time; 0 if dropped.
    pub egress_ns: u64,
    /// Queue occupancy; all ones if unknown.
    pub occupancy_bytes: u64,
    pub flow_id: u64,
    /// Length of the IP packet, which always fits into 16 bits.
    pub ip_bytes: u16,
    pub ce_marked: bool,
    pub queue: u8,
    pub cwnd: u32,
    pub tcp_seq: u32,
}

const _: () = assert!(size_of::<Packet>() == 48);

impl From<&PostcardRow> for Packet {
    #[inline]
    fn from(row: &PostcardRow) -> Self {
        Self {
            ingress_ns: row.ingress_ns,
            egress_ns: if row.dropped { 0 } else { row.egress_ns.max(1) },
            occupancy_bytes: row.occupancy().unwrap_or(u64::MAX),
            flow_id: row.flow_id,
            ip_bytes: u16::try_from(row.ip_bytes).unwrap_or(u16::MAX),
            ce_marked: row.ce_marked,
            queue: row.queue,
            cwnd: row.cwnd,
            tcp_seq: row.tcp_seq,
        }
    }
}

impl Packet {
    pub(super) fn time_ns(&self) -> u64 {
        if self.dropped() {
            self.ingress_ns
        } else {
            self.egress_ns
        }
    }

    pub(super) fn dropped(&self) -> bool {
        self.egress_ns == 0
    }
}
