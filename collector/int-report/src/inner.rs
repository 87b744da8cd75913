// SPDX-License-Identifier: Apache-2.0
//! Reads the truncated original packet of a report.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::FlowKey;
use crate::bytes::{be16, be32};
use crate::error::{DecodeError, InnerError};
use crate::report::{Inner, InnerKind};
use tidemark_layers::{Ip, NoIp, ethernet, tunnel};

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;
const MAX_EXTENSIONS: usize = 8;
/// Maximum number of nested tunnels that are followed.
const MAX_TUNNELS: u8 = 4;
/// The smallest EtherType; smaller values are lengths.
const LEAST_ETHERTYPE: u16 = 0x600;

/// Fields of an inner packet's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerPacket {
    /// Source address.
    pub src: IpAddr,
    /// Destination address.
    pub dst: IpAddr,
    /// IP protocol number of the transport header.
    pub protocol: u8,
    /// Source port; 0 for protocols without ports and for fragments other than the first.
    pub src_port: u16,
    /// Destination port; 0 in the same cases.
    pub dst_port: u16,
    /// IP total length including the IP header.
    pub ip_bytes: u32,
    /// Bytes of the tunnel headers around the packet.
    pub beyond_bytes: u32,
    /// Payload of the transport protocol, from the IP length: independent of truncation and of
    /// Ethernet padding. For a fragment, the part of the payload in this fragment.
    pub payload_bytes: u32,
    /// TCP sequence number; 0 unless TCP.
    pub tcp_seq: u32,
    /// TCP acknowledgement number; 0 unless TCP.
    pub tcp_ack: u32,
    /// TCP flags: CWR ECE URG ACK PSH RST SYN FIN from the most significant bit.
    pub tcp_flags: u8,
    /// ECN field: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// Whether it is a fragment of an IP packet.
    pub fragment: bool,
}

impl InnerPacket {
    /// The five-tuple of the packet.
    #[must_use]
    #[inline]
    pub fn flow_key(&self) -> FlowKey {
        FlowKey {
            src: self.src,
            dst: self.dst,
            src_port: self.src_port,
            dst_port: self.dst_port,
            protocol: self.protocol,
        }
    }
}

/// Reads Ethernet (with VLAN tags, MPLS labels, PPPoE), IPv4 with options, IPv6 with extension
/// headers, TCP and UDP. For a packet in a tunnel (IP in IP, GRE, MPLS, VXLAN, Geneve, GTP-U),
/// returns flow and lengths of the inner packet with the ECN field of the outer packet, or only the
/// outer packet if the inner one cannot be read.
///
/// # Errors
/// If a header needed for the five-tuple, the lengths or the TCP numbers is cut or impossible.
#[inline]
pub fn parse_inner(inner: &Inner<'_>) -> Result<InnerPacket, InnerError> {
    let packet = match inner.kind {
        InnerKind::Ipv4 => parse_ipv4(inner.packet, 0)?,
        InnerKind::Ipv6 => parse_ipv6(inner.packet, 0)?,
        _ => parse_ip(inner.packet, network(inner)?, 0)?,
    };
    match inner.stack.bytes {
        0 => Ok(packet),
        _ => without_stack(packet, inner),
    }
}

/// Locates the IP packet of a report.
pub(crate) fn network(inner: &Inner<'_>) -> Result<Ip, InnerError> {
    match inner.kind {
        InnerKind::Ipv4 => Ok(Ip { at: 0, version: 4 }),
        InnerKind::Ipv6 => Ok(Ip { at: 0, version: 6 }),
        InnerKind::Ethernet => ethernet(inner.packet, 0).map_err(|e| match e {
            NoIp::Cut(layer) => InnerError::Short {
                layer,
                have_bytes: inner.packet.len(),
            },
            NoIp::Other(ethertype) => InnerError::NotIp { ethertype },
        }),
        InnerKind::None => Err(InnerError::NoPacket),
        InnerKind::Opaque => Err(InnerError::NotAPacket),
    }
}

/// Whether a packet begins as its report says. Headers that are cut off are not checked.
#[inline]
pub(crate) fn is_as_announced(inner: &Inner<'_>) -> bool {
    let begins = |packet: &[u8], version: u8| match packet.first() {
        Some(&first) if version == 4 => first >> 4 == 4 && first & 0xf >= 5,
        Some(&first) => first >> 4 == version,
        None => true,
    };
    match inner.kind {
        InnerKind::Ipv4 => begins(inner.packet, 4),
        InnerKind::Ipv6 => begins(inner.packet, 6),
        InnerKind::Ethernet => match network(inner) {
            Ok(ip) => begins(inner.packet.get(ip.at..).unwrap_or_default(), ip.version),
            Err(InnerError::NotIp { ethertype }) => {
                ethertype >= LEAST_ETHERTYPE || is_llc(inner.packet)
            }
            Err(_) => true,
        },
        InnerKind::None | InnerKind::Opaque => true,
    }
}

/// Whether a frame has a length and an LLC header: the service twice, unnumbered information.
fn is_llc(frame: &[u8]) -> bool {
    matches!(frame.get(14..17), Some(&[to, from, 3]) if to == from && to & 1 == 0 && to != 0)
}

/// Whether there is an IP packet with consistent lengths, perhaps cut.
#[cold]
pub(crate) fn is_ip(inner: &Inner<'_>) -> bool {
    let begins = network(inner).is_ok_and(|ip| inner.packet.len() > ip.at);
    begins && matches!(parse_inner(inner), Ok(_) | Err(InnerError::Short { .. }))
}

/// The error for a datagram of another protocol.
pub(crate) const OTHER_INNER: DecodeError = DecodeError::NotAReport {
    what: "its inner packet does not begin as its header says",
};

fn parse_ip(bytes: &[u8], ip: Ip, tunnels: u8) -> Result<InnerPacket, InnerError> {
    let packet = bytes.get(ip.at..).unwrap_or_default();
    match ip.version {
        6 => parse_ipv6(packet, tunnels),
        _ => parse_ipv4(packet, tunnels),
    }
}

/// Returns the packet as it was before hops' metadata was inserted.
#[cold]
fn without_stack(packet: InnerPacket, inner: &Inner<'_>) -> Result<InnerPacket, InnerError> {
    let stack = &inner.stack;
    if stack.is_of_tunnel
        && let Some(beyond_bytes) = packet.beyond_bytes.checked_sub(stack.bytes.into())
    {
        return Ok(InnerPacket {
            beyond_bytes,
            ..packet
        });
    }
    let mut put_in = u32::from(stack.bytes);
    let mut before = packet;
    if let Some((protocol, at)) = stack.original {
        // A UDP header was inserted in front as well.
        put_in += 8;
        before.protocol = protocol;
        before.payload_bytes = packet.payload_bytes.saturating_sub(u32::from(stack.bytes));
        let data = inner.packet.get(usize::from(at)..).unwrap_or_default();
        before = parse_transport(before, data, MAX_TUNNELS)?;
    } else {
        before.dst_port = stack.dst_port.unwrap_or(packet.dst_port);
        before.payload_bytes = packet.payload_bytes.saturating_sub(put_in);
    }
    before.ip_bytes = packet.ip_bytes.saturating_sub(put_in);
    Ok(before)
}

/// Returns the packet in a tunnel if this is one and can be read, otherwise `outer`.
#[cold]
#[inline(never)]
fn in_tunnel(outer: InnerPacket, data: &[u8], tunnels: u8) -> InnerPacket {
    let found = tunnel(data, outer.protocol, 0).filter(|_| tunnels < MAX_TUNNELS);
    match found {
        Some(Ok(ip)) => match parse_ip(data, ip, tunnels + 1) {
            Ok(inner) => InnerPacket {
                beyond_bytes: outer.ip_bytes.saturating_sub(inner.ip_bytes),
                ecn: outer.ecn,
                ..inner
            },
            Err(_) => outer,
        },
        _ => outer,
    }
}

#[inline]
fn parse_ipv4(packet: &[u8], tunnels: u8) -> Result<InnerPacket, InnerError> {
    let Some(header) = packet.first_chunk::<20>() else {
        return Err(InnerError::Short {
            layer: "IPv4",
            have_bytes: packet.len(),
        });
    };
    check_version(header[0], 4)?;
    let header_bytes = usize::from(header[0] & 0xf) * 4;
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header_bytes < 20 || total < header_bytes {
        return Err(InnerError::BadLength {
            layer: "IPv4",
            length_bytes: if header_bytes < 20 {
                header_bytes
            } else {
                total
            },
        });
    }
    let fragment_word = u16::from_be_bytes([header[6], header[7]]);
    let result = InnerPacket {
        src: IpAddr::V4(Ipv4Addr::new(
            header[12], header[13], header[14], header[15],
        )),
        dst: IpAddr::V4(Ipv4Addr::new(
            header[16], header[17], header[18], header[19],
        )),
        protocol: header[9],
        src_port: 0,
        dst_port: 0,
        ip_bytes: total as u32,
        beyond_bytes: 0,
        payload_bytes: (total - header_bytes) as u32,
        tcp_seq: 0,
        tcp_ack: 0,
        tcp_flags: 0,
        ecn: header[1] & 3,
        fragment: fragment_word & 0x3fff != 0,
    };
    if fragment_word & 0x1fff != 0 {
        return Ok(result);
    }
    parse_transport(
        result,
        packet.get(header_bytes..).unwrap_or_default(),
        tunnels,
    )
}

fn parse_ipv6(packet: &[u8], tunnels: u8) -> Result<InnerPacket, InnerError> {
    let Some(header) = packet.first_chunk::<40>() else {
        return Err(InnerError::Short {
            layer: "IPv6",
            have_bytes: packet.len(),
        });
    };
    check_version(header[0], 6)?;
    let payload = u32::from(u16::from_be_bytes([header[4], header[5]]));
    let address = |start: usize| {
        let bytes = header
            .get(start..)
            .and_then(|rest| rest.first_chunk::<16>());
        IpAddr::V6(Ipv6Addr::from(bytes.copied().unwrap_or_default()))
    };
    let mut result = InnerPacket {
        src: address(8),
        dst: address(24),
        protocol: header[6],
        src_port: 0,
        dst_port: 0,
        ip_bytes: payload + 40,
        beyond_bytes: 0,
        payload_bytes: payload,
        tcp_seq: 0,
        tcp_ack: 0,
        tcp_flags: 0,
        ecn: (header[1] >> 4) & 3,
        fragment: false,
    };
    let mut rest = packet.get(40..).unwrap_or_default();
    for _ in 0..=MAX_EXTENSIONS {
        let length = match result.protocol {
            0 | 43 | 60 | 135 => be16(rest, 0).map(|word| 8 + 8 * usize::from(word & 0xff)),
            51 => be16(rest, 0).map(|word| 8 + 4 * usize::from(word & 0xff)),
            44 => be32(rest, 0).map(|_| 8),
            _ => return parse_transport(result, rest, tunnels),
        };
        let length_bytes = length.ok_or(InnerError::Short {
            layer: "IPv6 extension",
            have_bytes: rest.len(),
        })?;
        result.payload_bytes = u32::try_from(length_bytes)
            .ok()
            .and_then(|length| result.payload_bytes.checked_sub(length))
            .ok_or(InnerError::BadLength {
                layer: "IPv6 extension",
                length_bytes,
            })?;
        if result.protocol == 44 {
            let offset_and_flags = be16(rest, 2).unwrap_or_default();
            // An "atomic" fragment (offset 0, last) is a whole packet.
            result.fragment = offset_and_flags & 0xfff9 != 0;
            if offset_and_flags & 0xfff8 != 0 {
                result.protocol = rest.first().copied().unwrap_or_default();
                return Ok(result);
            }
        }
        result.protocol = rest.first().copied().unwrap_or_default();
        rest = rest.get(length_bytes..).unwrap_or_default();
    }
    Err(InnerError::TooManyExtensions {
        max: MAX_EXTENSIONS,
    })
}

#[inline(always)]
fn check_version(first: u8, expected: u8) -> Result<(), InnerError> {
    match first >> 4 {
        version if version == expected => Ok(()),
        version => Err(InnerError::WrongVersion { version, expected }),
    }
}

#[inline(always)]
fn parse_transport(
    mut packet: InnerPacket,
    data: &[u8],
    tunnels: u8,
) -> Result<InnerPacket, InnerError> {
    match packet.protocol {
        TCP => {
            // Up to the flags; window, checksum and options are not needed.
            let Some(header) = data.first_chunk::<14>() else {
                return Err(InnerError::Short {
                    layer: "TCP",
                    have_bytes: data.len(),
                });
            };
            let header_bytes = u32::from(header[12] >> 4) * 4;
            // The options of a first fragment may lie in the next one.
            let payload = packet.payload_bytes.checked_sub(header_bytes);
            if header_bytes < 20 || (payload.is_none() && !packet.fragment) {
                return Err(InnerError::BadLength {
                    layer: "TCP",
                    length_bytes: header_bytes as usize,
                });
            }
            packet.src_port = u16::from_be_bytes([header[0], header[1]]);
            packet.dst_port = u16::from_be_bytes([header[2], header[3]]);
            packet.tcp_seq = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
            packet.tcp_ack = u32::from_be_bytes([header[8], header[9], header[10], header[11]]);
            packet.tcp_flags = header[13];
            packet.payload_bytes = payload.unwrap_or(0);
        }
        UDP => {
            let Some(header) = data.first_chunk::<4>() else {
                return Err(InnerError::Short {
                    layer: "UDP",
                    have_bytes: data.len(),
                });
            };
            packet.src_port = u16::from_be_bytes([header[0], header[1]]);
            packet.dst_port = u16::from_be_bytes([header[2], header[3]]);
            packet.payload_bytes =
                packet
                    .payload_bytes
                    .checked_sub(8)
                    .ok_or(InnerError::BadLength {
                        layer: "UDP",
                        length_bytes: packet.payload_bytes as usize,
                    })?;
            if matches!(packet.dst_port, 2152 | 4789 | 4790 | 6081 | 6635 | 8472) {
                packet = in_tunnel(packet, data, tunnels);
            }
        }
        4 | 41 | 47 | 137 => packet = in_tunnel(packet, data, tunnels),
        _ => {}
    }
    Ok(packet)
}
