// SPDX-License-Identifier: Apache-2.0
//! Finds the headers of a TCP or UDP packet.

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_VLAN: u16 = 0x8100;
const ETHERTYPE_QINQ: u16 = 0x88a8;
const ETHERNET_BYTES: usize = 14;
const TAG_BYTES: usize = 4;
/// Most VLAN tags of a frame that is parsed.
const MAX_TAGS: usize = 2;
const IPV6_BYTES: usize = 40;
const UDP_BYTES: usize = 8;
const TCP_MIN_BYTES: usize = 20;
/// Mask of the fragment bits in bytes 6 and 7 of an IPv4 header: More Fragments and the offset.
const FRAGMENT: u16 = 0x3fff;

/// Version of IP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// Transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Transport {
    /// All transport protocols, in order.
    pub const ALL: [Self; 2] = [Self::Tcp, Self::Udp];

    /// Returns the protocol number in the IP header.
    pub const fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }

    /// Returns the offset of the checksum in the header.
    pub const fn checksum_offset(self) -> usize {
        match self {
            Self::Tcp => 16,
            Self::Udp => 6,
        }
    }

    fn of(number: u8) -> Option<Self> {
        match number {
            6 => Some(Self::Tcp),
            17 => Some(Self::Udp),
            _ => None,
        }
    }
}

/// Header offsets from the start of an Ethernet frame, each within the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    /// Version of IP.
    pub network: Network,
    /// Start of the IP header.
    pub network_at: usize,
    /// Transport protocol.
    pub transport: Transport,
    /// Start of the TCP or UDP header.
    pub transport_at: usize,
    /// Start of the payload.
    pub payload_at: usize,
}

impl Headers {
    /// Finds the headers of a frame with up to two VLAN tags. `None`: not TCP or UDP over IP,
    /// a fragment, truncated headers, or a tunnel. The lengths in the headers are not
    /// checked.
    pub fn of(frame: &[u8]) -> Option<Self> {
        let mut network_at = ETHERNET_BYTES;
        let mut kind = be16(frame, ETHERNET_BYTES - 2)?;
        for _ in 0..MAX_TAGS {
            if kind == ETHERTYPE_VLAN || kind == ETHERTYPE_QINQ {
                kind = be16(frame, network_at + 2)?;
                network_at += TAG_BYTES;
            }
        }
        let (network, transport, transport_at) = match kind {
            ETHERTYPE_IPV4 => {
                let (transport, at) = ipv4(frame, network_at)?;
                (Network::V4, transport, at)
            }
            ETHERTYPE_IPV6 => {
                let (transport, at) = ipv6(frame, network_at)?;
                (Network::V6, transport, at)
            }
            _ => return None,
        };
        let payload_at = transport_at
            + match transport {
                Transport::Udp => UDP_BYTES,
                Transport::Tcp => usize::from(frame.get(transport_at + 12)? >> 4) * 4,
            };
        let sane = transport == Transport::Udp || payload_at >= transport_at + TCP_MIN_BYTES;
        (sane && payload_at <= frame.len()).then_some(Self {
            network,
            network_at,
            transport,
            transport_at,
            payload_at,
        })
    }

    /// Returns the end of the packet by its IP header, without a short frame's padding. `None`:
    /// beyond the frame, before the payload, or not stated.
    pub fn packet_end(&self, frame: &[u8]) -> Option<usize> {
        let end = match self.network {
            Network::V4 => self.network_at + usize::from(be16(frame, self.network_at + 2)?),
            Network::V6 => {
                self.network_at + IPV6_BYTES + usize::from(be16(frame, self.network_at + 4)?)
            }
        };
        (end >= self.payload_at && end <= frame.len()).then_some(end)
    }

    /// Returns the source and destination addresses.
    pub(crate) fn addresses<'a>(&self, frame: &'a [u8]) -> &'a [u8] {
        let (from, bytes) = match self.network {
            Network::V4 => (self.network_at + 12, 8),
            Network::V6 => (self.network_at + 8, 32),
        };
        frame.get(from..from + bytes).unwrap_or_default()
    }
}

fn ipv4(frame: &[u8], at: usize) -> Option<(Transport, usize)> {
    let first = *frame.get(at)?;
    let header_bytes = usize::from(first & 15) * 4;
    if first >> 4 != 4 || header_bytes < 20 || be16(frame, at + 6)? & FRAGMENT != 0 {
        return None;
    }
    Some((Transport::of(*frame.get(at + 9)?)?, at + header_bytes))
}

/// Skips the extension headers that may precede the transport header of an unfragmented
/// packet: hop-by-hop and destination options, routing.
fn ipv6(frame: &[u8], at: usize) -> Option<(Transport, usize)> {
    if *frame.get(at)? >> 4 != 6 {
        return None;
    }
    let mut next = *frame.get(at + 6)?;
    let mut here = at + IPV6_BYTES;
    while matches!(next, 0 | 43 | 60) {
        next = *frame.get(here)?;
        here += (usize::from(*frame.get(here + 1)?) + 1) * 8;
    }
    Some((Transport::of(next)?, here))
}

/// Reads the 16 bits at `at`.
pub(crate) fn be16(frame: &[u8], at: usize) -> Option<u16> {
    match frame.get(at..at + 2)? {
        [a, b] => Some(u16::from_be_bytes([*a, *b])),
        _ => None,
    }
}

/// Reads the 32 bits at `at`.
pub(crate) fn be32(frame: &[u8], at: usize) -> Option<u32> {
    match frame.get(at..at + 4)? {
        [a, b, c, d] => Some(u32::from_be_bytes([*a, *b, *c, *d])),
        _ => None,
    }
}

/// Writes `bytes` at `at`; does nothing if there is no room.
pub(crate) fn put(frame: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(out) = frame.get_mut(at..at + bytes.len()) {
        out.copy_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ethernet(tags: &[u16], kind: u16) -> Vec<u8> {
        let mut f = vec![0; 12];
        for t in tags {
            f.extend(t.to_be_bytes());
            f.extend([0, 7]);
        }
        f.extend(kind.to_be_bytes());
        f
    }

    #[test]
    fn tcp_behind_options_tags_and_extensions() {
        let mut f = ethernet(&[0x88a8, 0x8100], ETHERTYPE_IPV4);
        f.extend([0x46, 0, 0, 48, 0, 0, 0x40, 0, 64, 6]);
        f.extend([0; 14]);
        f.extend([0; 12]);
        f.push(0x60);
        f.extend([0; 11]);
        let h = Headers::of(&f).unwrap();
        assert_eq!((h.network_at, h.transport_at, h.payload_at), (22, 46, 70));
        assert_eq!(h.packet_end(&f), Some(70));
        f[28] = 0x20;
        assert_eq!(Headers::of(&f), None, "a fragment");

        let mut f = ethernet(&[], ETHERTYPE_IPV6);
        f.extend([0x60, 0, 0, 0, 0, 24, 0, 64]);
        f.extend([0; 32]);
        f.extend([60, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0]);
        f.extend([0; 8]);
        let h = Headers::of(&f).unwrap();
        assert_eq!((h.transport_at, h.transport), (70, Transport::Udp));
        assert_eq!(h.packet_end(&f), Some(78));
        f[19] = 25;
        assert_eq!(h.packet_end(&f), None);
    }

    #[test]
    fn no_prefix_of_a_packet_panics() {
        let mut f = ethernet(&[], ETHERTYPE_IPV4);
        f.extend([0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6]);
        f.extend([0; 22]);
        f.push(0x50);
        f.extend([0; 7]);
        assert!(Headers::of(&f).is_some());
        for n in 0..f.len() {
            assert_eq!(Headers::of(&f[..n]), None, "{n}");
        }
        f[46] = 0x40;
        assert_eq!(Headers::of(&f), None, "a TCP header of 16 bytes");
    }
}
