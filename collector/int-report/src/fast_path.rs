// SPDX-License-Identifier: Apache-2.0
//! The fast path: reads the report of a forwarded TCP packet over IPv4, as Tidemark's programs send
//! it. Such a report is alone in its datagram, has all metadata of that layout and no IP options,
//! so every field is at a known offset. The plain form is [`crate::decode`], which reads everything
//! else; the property test `agrees_with_the_decoder` below checks that the two agree. Justified by
//! the benchmark row "decode, flow, join, intervals; 1000 flows" of `make bench-collector`.

use crate::DS_TIDEMARK;
use crate::bytes::{Words, port_pair, queue_word};
use crate::domain;
use crate::header::LENGTH_TO_END;
use crate::inner::InnerPacket;
use crate::layout::flag;
use crate::layout::forwarded::{self, DOMAIN, DOMAIN_BITS, INNER};
use crate::report::{Inner, InnerKind, Report};
use crate::v2::available;
use std::net::{IpAddr, Ipv4Addr};

const TCP: usize = INNER + 20;
/// Number of bytes read: up to the TCP flags.
const READ: usize = TCP + 14;

/// A report that the fast path reads.
#[derive(Clone, Copy, Debug)]
pub struct FastPath<'a> {
    bytes: &'a [u8; READ],
    packet: &'a [u8],
}

/// Reads a payload as one report of the fast path; returns `None` if [`crate::decode`] must read
/// it.
#[must_use]
#[inline(always)]
pub fn fast_path(payload: &[u8]) -> Option<FastPath<'_>> {
    let bytes = payload.first_chunk::<READ>()?;
    // RepType 1 with InType 4; length apart; metadata; D clear.
    let types = u64::from_be_bytes(at(bytes, 8)) & 0xff00_ff80_ffff_ffff;
    let expected = u64::from_be_bytes([
        0x14,
        0,
        forwarded::WORDS,
        0,
        (forwarded::BITS >> 8) as u8,
        forwarded::BITS as u8,
        (DS_TIDEMARK >> 8) as u8,
        DS_TIDEMARK as u8,
    ]);
    // Bits of other domain words are ignored by the decoder too.
    let domain_bits = u16::from_be_bytes(at(bytes, 16)) & DOMAIN_BITS;
    let behind = (payload.len() - 12).wrapping_sub(4 * usize::from(bytes[9]));
    let is_alone = behind < 4 || bytes[9] == LENGTH_TO_END;
    let fragment = u16::from_be_bytes(at(bytes, INNER + 6)) & 0x3fff;
    let lengths = u32::from(u16::from_be_bytes(at(bytes, INNER + 2)));
    let tcp_bytes = u32::from(bytes[TCP + 12] >> 4) * 4;
    let is_fast = bytes[0] >> 4 == 2
        && types == expected
        && domain_bits == DOMAIN_BITS
        && is_alone
        && bytes[INNER] == 0x45
        && bytes[INNER + 9] == 6
        && fragment == 0
        && tcp_bytes >= 20
        && lengths >= 20 + tcp_bytes;
    is_fast.then_some(FastPath {
        bytes,
        packet: &payload[INNER..],
    })
}

/// Returns `N` bytes from an offset on. The offsets are known at compile time.
#[inline(always)]
fn at<const N: usize>(bytes: &[u8; READ], start: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[start + i])
}

impl<'a> FastPath<'a> {
    #[inline(always)]
    fn word(&self, start: usize) -> u32 {
        u32::from_be_bytes(at(self.bytes, start))
    }

    #[inline(always)]
    fn half(&self, start: usize) -> u16 {
        u16::from_be_bytes(at(self.bytes, start))
    }

    /// Source and destination address.
    #[must_use]
    #[inline(always)]
    pub fn addresses(&self) -> u64 {
        u64::from_be_bytes(at(self.bytes, INNER + 12))
    }

    /// Source and destination port.
    #[must_use]
    #[inline(always)]
    pub fn ports(&self) -> u32 {
        self.word(TCP)
    }

    /// Returns the report as [`crate::decode`] does.
    #[must_use]
    #[inline(always)]
    pub fn report(&self) -> Report<'a> {
        let number = self.word(0);
        let flags = self.bytes[11];
        let (ingress_port, egress_port) = port_pair(self.word(forwarded::INGRESS_PORT));
        let (queue_id, queue_occupancy) = queue_word(self.word(forwarded::QUEUE_ID));
        let mut report = Report {
            version: 2,
            node_id: self.word(4),
            hw_id: ((number >> 22) & 0x3f) as u8,
            sequence: number & 0x3f_ffff,
            sequence_bits: 22,
            dropped: false,
            congested: flags & flag::CONGESTED != 0,
            tracked: flags & flag::TRACKED != 0,
            ingress_port,
            egress_port,
            queue_id,
            queue_occupancy,
            ingress_ts: available(u64::from_be_bytes(at(self.bytes, forwarded::INGRESS_NS))),
            egress_ts: available(u64::from_be_bytes(at(self.bytes, forwarded::EGRESS_NS))),
            inner: Inner::new(self.packet, InnerKind::Ipv4),
            first_in_datagram: true,
            ..Report::default()
        };
        // They fit: the layout has all of them.
        let _ = domain::read(&mut report, &mut Words(&self.bytes[DOMAIN..]), DOMAIN_BITS);
        report
    }

    /// Returns the inner packet as [`crate::parse_inner`] does.
    #[must_use]
    #[inline(always)]
    pub fn inner(&self) -> InnerPacket {
        let total = u32::from(self.half(INNER + 2));
        let tcp_bytes = u32::from(self.bytes[TCP + 12] >> 4) * 4;
        InnerPacket {
            src: IpAddr::V4(Ipv4Addr::from_bits(self.word(INNER + 12))),
            dst: IpAddr::V4(Ipv4Addr::from_bits(self.word(INNER + 16))),
            protocol: 6,
            src_port: self.half(TCP),
            dst_port: self.half(TCP + 2),
            ip_bytes: total,
            beyond_bytes: 0,
            payload_bytes: total - 20 - tcp_bytes,
            tcp_seq: self.word(TCP + 4),
            tcp_ack: self.word(TCP + 8),
            tcp_flags: self.bytes[TCP + 13],
            ecn: self.bytes[INNER + 1] & 3,
            fragment: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{encode, postcard};
    use crate::{decode, parse_inner};
    use proptest::prelude::*;

    fn payload() -> Vec<u8> {
        let inner = [
            0x45, 1, 5, 0xdc, 0, 0, 0x40, 0, 0x3f, 6, 0, 0, 10, 0, 0, 1, 10, 1, 0, 2, 0x9c, 0x40,
            0x13, 0x89, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, 0x18, 0x20, 0, 0, 0, 0, 0,
        ];
        encode(&[postcard(10, 77, (2, 1), &inner)]).unwrap()
    }

    #[test]
    fn it_is_recognised() {
        let bytes = payload();
        assert!(fast_path(&bytes).is_some());
        assert!(
            fast_path(&bytes[..READ]).is_none(),
            "it says that it is longer"
        );
        let two = [&bytes[..], &bytes[8..]].concat();
        assert!(fast_path(&two).is_none());
    }

    /// Offsets of the bits that decide whether the fast path takes a payload.
    fn deciding() -> impl Strategy<Value = usize> {
        prop_oneof![0usize..20, INNER..INNER + 12, TCP + 10..TCP + 14, 20..INNER]
    }

    proptest! {
        #[test]
        fn agrees_with_the_decoder(
            changes in prop::collection::vec((deciding(), any::<u8>()), 0..3),
            flips in prop::collection::vec((0usize..92, 0u8..8), 0..4),
            ones in prop::option::of(20usize..44),
            cut in prop::option::of(80usize..92),
            more in prop::collection::vec(any::<u8>(), 0..6),
        ) {
            let mut bytes = payload();
            for (place, value) in changes {
                bytes[place] = value;
            }
            for (place, bit) in flips {
                bytes[place] ^= 1 << bit;
            }
            if let Some(place) = ones {
                bytes[place..place + 8].fill(0xff);
            }
            if let Some(length) = cut {
                bytes.truncate(length);
            }
            bytes.extend(more);
            if let Some(u) = fast_path(&bytes) {
                let mut all = Vec::new();
                prop_assert_eq!(decode(&bytes, |r| all.push(*r)), Ok(1));
                prop_assert_eq!(&all, &[u.report()]);
                let inner = parse_inner(&all[0].inner).unwrap();
                prop_assert_eq!(inner, u.inner());
                prop_assert_eq!(inner.src.to_string(), Ipv4Addr::from_bits((u.addresses() >> 32) as u32).to_string());
                prop_assert_eq!((inner.src_port, inner.dst_port), ((u.ports() >> 16) as u16, u.ports() as u16));
            }
        }
    }
}
