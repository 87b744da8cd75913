// SPDX-License-Identifier: Apache-2.0
//! Cards that the programs of *Updating the Theory of Buffer Sizing*
//! (`brucespang/ifip21-buffer-sizing`) send: 43 bytes of UDP payload, a header of 31 bytes and 12
//! bytes of padding. They are not telemetry reports: they have no version, sequence number or
//! packet length, and the timestamp is always 0.
//!
//! ```text
//! bits  1 mirrored, 3 drop control, 2 unused, 9 egress port, 9 ingress port
//! bytes 4 source, 4 destination, 2 source port, 2 destination port,
//!       4 sequence number, 4 acknowledgement, 4 depth (cells of 80 B on leaving),
//!       4 timestamp
//! ```
//!
//! The paper's own readers mask the low bit of the ingress port, so that they read odd ports as
//! even; this reader keeps the whole field.

use crate::bytes::{be16, be32};
use crate::report::{Inner, InnerKind, Report};
use std::net::Ipv4Addr;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 31;

/// One card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// Whether the packet was dropped.
    pub dropped: bool,
    /// Port that the packet left by, or would have left by.
    pub egress_port: u16,
    /// Port that the packet came in by.
    pub ingress_port: u16,
    /// Source address.
    pub src: Ipv4Addr,
    /// Destination address.
    pub dst: Ipv4Addr,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number.
    pub tcp_seq: u32,
    /// Acknowledgement number.
    pub tcp_ack: u32,
    /// Queue depth when the packet left, in cells of 80 bytes.
    pub depth_cells: u32,
}

/// Reads a card, ignoring padding and anything else after it. Returns `None` if the payload is too
/// short, or lacks the first bit, which every card has set.
#[must_use]
pub fn decode(payload: &[u8]) -> Option<Card> {
    let header = payload.first_chunk::<HEADER_BYTES>()?;
    if header[0] & 0x80 == 0 {
        return None;
    }
    let bits = u32::from_be_bytes([0, header[0], header[1], header[2]]);
    Some(Card {
        dropped: (bits >> 20) & 7 != 0,
        egress_port: ((bits >> 9) & 0x1ff) as u16,
        ingress_port: (bits & 0x1ff) as u16,
        src: Ipv4Addr::from_bits(be32(header, 3)?),
        dst: Ipv4Addr::from_bits(be32(header, 7)?),
        src_port: be16(header, 11)?,
        dst_port: be16(header, 13)?,
        tcp_seq: be32(header, 15)?,
        tcp_ack: be32(header, 19)?,
        depth_cells: be32(header, 23)?,
    })
}

impl Card {
    /// Returns the headers of the packet that the card reports, as far as the card has them.
    /// `ip_bytes` is the length that the experiment sent (9000 B frames in the paper).
    #[must_use]
    pub fn packet(&self, ip_bytes: u16) -> [u8; 40] {
        let mut b = [0u8; 40];
        b[0] = 0x45;
        b[2..4].copy_from_slice(&ip_bytes.to_be_bytes());
        b[6] = 0x40;
        b[8] = 64;
        b[9] = 6;
        b[12..16].copy_from_slice(&self.src.octets());
        b[16..20].copy_from_slice(&self.dst.octets());
        b[20..22].copy_from_slice(&self.src_port.to_be_bytes());
        b[22..24].copy_from_slice(&self.dst_port.to_be_bytes());
        b[24..28].copy_from_slice(&self.tcp_seq.to_be_bytes());
        b[28..32].copy_from_slice(&self.tcp_ack.to_be_bytes());
        b[32] = 0x50;
        b[33] = 0x10;
        b
    }

    /// Converts the card to a report of node `node_id`; `time_ns` stands in for the missing
    /// timestamps, and `packet` comes from [`Card::packet`]. There is no number to account for:
    /// `first_in_datagram` is false.
    #[must_use]
    pub fn report<'a>(&self, node_id: u32, time_ns: u64, packet: &'a [u8]) -> Report<'a> {
        Report {
            node_id,
            dropped: self.dropped,
            tracked: true,
            ingress_port: Some(self.ingress_port.into()),
            egress_port: Some(self.egress_port.into()),
            queue_id: Some(0),
            queue_occupancy: Some(self.depth_cells),
            ingress_ts: Some(time_ns),
            egress_ts: (!self.dropped).then_some(time_ns),
            inner: Inner::new(packet, InnerKind::Ipv4),
            first_in_datagram: false,
            ..Report::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_inner;

    /// Drop control 1, egress port 0x0b5 (181), ingress port 0x0bd (189).
    fn payload() -> Vec<u8> {
        let mut p = vec![0b1001_0001, 0b0110_1010, 0b1011_1101];
        p.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        p.extend([0x9c, 0x40, 0x13, 0x89]);
        p.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        p.extend([0, 0, 0x3a, 0x98]);
        p.extend([0; 4 + 12]);
        p
    }

    #[test]
    fn a_card_is_read() {
        let p = payload();
        assert_eq!(p.len(), 43);
        let card = decode(&p).unwrap();
        assert_eq!(
            card,
            Card {
                dropped: true,
                egress_port: 181,
                ingress_port: 189,
                src: [10, 0, 0, 1].into(),
                dst: [10, 0, 0, 2].into(),
                src_port: 40_000,
                dst_port: 5001,
                tcp_seq: 0x0102_0304,
                tcp_ack: 0x0506_0708,
                depth_cells: 15_000,
            }
        );
    }

    #[test]
    fn odd_ports_stay_odd() {
        for port in [0u16, 1, 2, 255, 256, 511] {
            let mut p = payload();
            p[1] = (p[1] & 0xfe) | (port >> 8) as u8;
            p[2] = port as u8;
            assert_eq!(decode(&p).unwrap().ingress_port, port);
            let mut p = payload();
            p[0] = (p[0] & 0xfc) | (port >> 7) as u8;
            p[1] = (p[1] & 1) | (port << 1) as u8;
            assert_eq!(decode(&p).unwrap().egress_port, port);
        }
    }

    #[test]
    fn it_becomes_a_report() {
        let mut p = payload();
        p[0] &= 0x8f;
        let card = decode(&p).unwrap();
        let packet = card.packet(9000);
        let report = card.report(7, 55, &packet);
        assert_eq!((report.egress_ts, report.dropped), (Some(55), false));
        let inner = parse_inner(&report.inner).unwrap();
        assert_eq!((inner.payload_bytes, inner.tcp_seq), (8960, 0x0102_0304));
    }

    #[test]
    fn other_payloads_are_refused() {
        assert_eq!(decode(&[0x80; 30]), None);
        assert_eq!(decode(&[0; 43]), None);
    }
}
