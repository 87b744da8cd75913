// SPDX-License-Identifier: Apache-2.0
//! Finds the datagram in an IP packet of the ring. No I/O.

use super::received::Message;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const UDP_HEADER_BYTES: usize = 8;
const IPV6_HEADER_BYTES: usize = 40;

/// A packet as the kernel hands it over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet<'a> {
    /// The packet from its IP header on, with any bytes that the link has added at the end.
    pub ip: &'a [u8],
    /// Payload of each datagram, in bytes, if the packet holds several.
    pub segment_bytes: Option<usize>,
    /// Whether the kernel has verified the checksum, or will compute it itself.
    pub is_checked: bool,
}

/// Why a packet has no datagram to pass on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoDatagram {
    /// The packet is longer than the ring takes: the socket receives the datagram.
    OfSocket,
    /// The packet's lengths or its checksum are wrong.
    Damaged,
}

impl<'a> Packet<'a> {
    /// Returns the packet's datagrams, if each fits into a packet of `longest_bytes`.
    ///
    /// # Errors
    /// Why there are no datagrams.
    #[inline]
    pub(super) fn message(&self, longest_bytes: usize) -> Result<Message<'a>, NoDatagram> {
        let ip = self.ip;
        let (exporter, at, length) = source(ip).ok_or(NoDatagram::Damaged)?;
        let whole = ip
            .get(at..length.min(ip.len()))
            .ok_or(NoDatagram::Damaged)?;
        let (header, rest) = whole
            .split_at_checked(UDP_HEADER_BYTES)
            .ok_or(NoDatagram::Damaged)?;
        let &[p0, p1, _, _, l0, l1, c0, c1] = header else {
            return Err(NoDatagram::Damaged);
        };
        let told = usize::from(u16::from_be_bytes([l0, l1]));
        // If a packet holds several datagrams, only the packet's own length counts.
        let bytes = match self.segment_bytes {
            Some(_) => rest,
            None => told
                .checked_sub(UDP_HEADER_BYTES)
                .and_then(|n| rest.get(..n))
                .ok_or(NoDatagram::Damaged)?,
        };
        let segment_bytes = self.segment_bytes.unwrap_or(bytes.len());
        if at + UDP_HEADER_BYTES + segment_bytes > longest_bytes {
            return Err(NoDatagram::OfSocket);
        }
        let has_checksum = exporter.is_ipv6() || (c0, c1) != (0, 0);
        if !self.is_checked && has_checksum && !is_sum_right(ip, whole.get(..told)) {
            return Err(NoDatagram::Damaged);
        }
        Ok(Message {
            exporter,
            source_port: u16::from_be_bytes([p0, p1]),
            bytes,
            segment_bytes,
        })
    }
}

/// Returns the source address, and the offsets of the UDP header and of the packet's end.
#[inline]
fn source(ip: &[u8]) -> Option<(IpAddr, usize, usize)> {
    let be16 = |at: usize| {
        Some(usize::from(u16::from_be_bytes(
            *ip.get(at..)?.first_chunk()?,
        )))
    };
    match ip.first()? >> 4 {
        4 => {
            let address: [u8; 4] = *ip.get(12..)?.first_chunk()?;
            let header = usize::from(ip.first()? & 0xf) * 4;
            Some((Ipv4Addr::from(address).into(), header, be16(2)?))
        }
        6 => {
            let address: [u8; 16] = *ip.get(8..)?.first_chunk()?;
            let address = IpAddr::V6(Ipv6Addr::from(address)).to_canonical();
            Some((address, IPV6_HEADER_BYTES, IPV6_HEADER_BYTES + be16(4)?))
        }
        _ => None,
    }
}

/// Checks the checksum of a datagram, which includes the pseudo header (RFC 768).
#[cold]
fn is_sum_right(ip: &[u8], datagram: Option<&[u8]>) -> bool {
    let addresses = match ip.first().map(|b| b >> 4) {
        Some(4) => ip.get(12..20),
        _ => ip.get(8..40),
    };
    let (Some(addresses), Some(datagram)) = (addresses, datagram) else {
        return false;
    };
    let words = |bytes: &[u8]| {
        let (pairs, last) = bytes.as_chunks::<2>();
        let pairs = pairs
            .iter()
            .map(|pair| u64::from(u16::from_be_bytes(*pair)));
        pairs.sum::<u64>() + last.first().map_or(0, |b| u64::from(*b) << 8)
    };
    let mut sum = words(addresses) + 17 + datagram.len() as u64 + words(datagram);
    while sum >> 16 > 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Another implementation of the checksum, byte by byte as in RFC 1071.
    fn checksum(source: [u8; 4], to: [u8; 4], datagram: &[u8]) -> u16 {
        let mut all = [&source[..], &to, &[0, 17]].concat();
        all.extend((datagram.len() as u16).to_be_bytes());
        all.extend(datagram);
        all.push(0);
        let mut sum = 0u32;
        for pair in all.chunks_exact(2) {
            sum += u32::from(pair[0]) * 256 + u32::from(pair[1]);
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn packet(payload: &[u8], options: usize, sum: impl FnOnce(u16) -> u16) -> Vec<u8> {
        let (source, to) = ([192, 0, 2, 1], [192, 0, 2, 9]);
        let mut udp = vec![0x80, 0x01, 0x7f, 0xfe];
        udp.extend((8 + payload.len() as u16).to_be_bytes());
        udp.extend([0, 0]);
        udp.extend(payload);
        let right = checksum(source, to, &udp);
        udp[6..8].copy_from_slice(&sum(right).to_be_bytes());
        let header = 20 + 4 * options;
        let mut ip = vec![0u8; header];
        ip[0] = 0x40 | (header / 4) as u8;
        ip[2..4].copy_from_slice(&((header + udp.len()) as u16).to_be_bytes());
        ip[9] = 17;
        ip[12..16].copy_from_slice(&source);
        ip[16..20].copy_from_slice(&to);
        ip.extend(udp);
        ip
    }

    fn read(ip: &[u8], is_checked: bool) -> Result<Message<'_>, NoDatagram> {
        let segment_bytes = None;
        Packet {
            ip,
            segment_bytes,
            is_checked,
        }
        .message(1500)
    }

    proptest! {
        #[test]
        fn a_datagram_is_what_was_sent(payload in prop::collection::vec(any::<u8>(), 0..300), options in 0usize..10, padding in 0usize..20) {
            let mut ip = packet(&payload, options, |sum| sum);
            ip.resize(ip.len() + padding, 0xee);
            for is_checked in [false, true] {
                let message = read(&ip, is_checked).unwrap();
                prop_assert_eq!(message.bytes, &payload[..]);
                prop_assert_eq!((message.exporter, message.source_port), ([192, 0, 2, 1].into(), 0x8001));
            }
        }

        #[test]
        fn any_bytes_are_survived(mut ip in prop::collection::vec(any::<u8>(), 0..80), version in 4u8..7, segment in prop::option::of(0usize..100)) {
            if let Some(first) = ip.first_mut() {
                *first = version << 4 | *first & 0xf;
            }
            for is_checked in [false, true] {
                let _ = Packet { ip: &ip, segment_bytes: segment, is_checked }.message(1500);
            }
        }

        #[test]
        fn a_flipped_bit_is_damage(payload in prop::collection::vec(any::<u8>(), 1..100), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let mut ip = packet(&payload, 0, |sum| sum);
            // Only in the payload: past the UDP header, with its length and checksum.
            let at = 28 + at.index(ip.len() - 28);
            ip[at] ^= 1 << bit;
            prop_assert_eq!(read(&ip, false).unwrap_err(), NoDatagram::Damaged);
            prop_assert!(read(&ip, true).is_ok());
        }
    }

    #[test]
    fn no_checksum_is_none_that_is_wrong() {
        assert!(read(&packet(b"report", 0, |_| 0), false).is_ok());
        let wrong = packet(b"report", 0, |sum| sum ^ 1);
        assert_eq!(read(&wrong, false).unwrap_err(), NoDatagram::Damaged);
    }

    #[test]
    fn what_came_in_pieces_is_the_sockets() {
        let long = packet(&[7; 1473], 0, |sum| sum);
        assert_eq!(read(&long, true).unwrap_err(), NoDatagram::OfSocket);
        assert!(read(&packet(&[7; 1472], 0, |sum| sum), true).is_ok());
        let of = |segment| Packet {
            ip: &long,
            segment_bytes: Some(segment),
            is_checked: true,
        };
        assert_eq!(of(100).message(1500).unwrap().count(), 15);
        assert_eq!(of(1473).message(1500).unwrap_err(), NoDatagram::OfSocket);
    }
}
