// SPDX-License-Identifier: Apache-2.0
//! Finds the UDP datagram in a captured frame, through the tunnels around it.

use crate::unread::Reason;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;
use tidemark_layers::{Ip, NoIp, be16, be32, ethernet, payload, ppp, tunnel};

/// Link type of Ethernet.
pub const ETHERNET: u32 = 1;
/// Link type of IP packets without a frame.
pub const RAW: u32 = 101;
/// Link type of `tcpdump -i any`, version 1.
pub const LINUX_SLL: u32 = 113;
/// Link type of `tcpdump -i any`, version 2, written by tcpdump since 4.99.
pub const LINUX_SLL2: u32 = 276;
/// Link types of BSD loopback: the address family in four bytes.
const NULL: u32 = 0;
const LOOP: u32 = 108;
/// Link types of packets of only one IP version.
const IPV4: u32 = 228;
const IPV6: u32 = 229;
const PPP: u32 = 9;

const UDP: u8 = 17;
const UDP_HEADER_BYTES: usize = 8;
/// Most nested tunnels that are followed.
const MAX_TUNNELS: usize = 4;
const MAX_EXTENSIONS: usize = 8;

/// Returns whether frames of a link type are supported.
pub(crate) fn is_known(link: u32) -> bool {
    matches!(
        link,
        ETHERNET | RAW | LINUX_SLL | LINUX_SLL2 | NULL | LOOP | IPV4 | IPV6 | PPP
    )
}

/// A UDP datagram within a frame.
#[derive(Debug)]
pub(crate) struct UdpDatagram {
    /// Source address.
    pub src: IpAddr,
    /// Destination port.
    pub dst_port: u16,
    /// Range of the payload in the frame.
    pub payload: Range<usize>,
}

/// Identity of the packet to which a fragment belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Whole {
    pub src: IpAddr,
    pub dst: IpAddr,
    pub id: u32,
    pub protocol: u8,
}

/// A fragment of an IP packet.
#[derive(Debug)]
pub(crate) struct Fragment {
    pub whole: Whole,
    /// Offset in the payload of the IP packet.
    pub offset: usize,
    pub is_last: bool,
    /// Range of the fragment in the frame.
    pub bytes: Range<usize>,
}

/// The contents of a frame.
#[derive(Debug)]
pub(crate) enum Found {
    Datagram(UdpDatagram),
    Fragment(Fragment),
}

/// Finds the UDP datagram, or a fragment of it, in a frame of a supported link type.
///
/// # Errors
/// There is no UDP datagram, or not all of it.
pub(crate) fn find_udp(frame: &[u8], link: u32) -> Result<Found, Reason> {
    let ip = match link {
        ETHERNET => ethernet(frame, 0),
        LINUX_SLL => cooked(frame, 14, 16),
        LINUX_SLL2 => cooked(frame, 0, 20),
        NULL | LOOP => Ok(Ip {
            at: 4,
            version: version(frame, 4),
        }),
        PPP => match frame {
            // With address and control fields, as over a serial line.
            [0xff, 3, ..] => ppp(frame, 2),
            _ => ppp(frame, 0),
        },
        _ => Ok(Ip {
            at: 0,
            version: version(frame, 0),
        }),
    };
    in_ip(frame, ip.map_err(no_ip)?, 0)
}

fn version(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(4, |first| first >> 4)
}

fn cooked(frame: &[u8], ethertype_at: usize, at: usize) -> Result<Ip, NoIp> {
    let ethertype = be16(frame, ethertype_at).ok_or(NoIp::Cut("Linux cooked"))?;
    payload(frame, ethertype, at)
}

fn no_ip(e: NoIp) -> Reason {
    match e {
        NoIp::Cut(_) => Reason::Cut,
        NoIp::Other(_) => Reason::NotIp,
    }
}

/// Searches an IP packet. Its header gives the lengths, as frames have padding and trailers.
fn in_ip(bytes: &[u8], ip: Ip, tunnels: usize) -> Result<Found, Reason> {
    let header = bytes.get(ip.at..).unwrap_or_default();
    let (src, dst, mut protocol, mut at, end, mut fragment) = match (ip.version, version(header, 0))
    {
        (4, 4) => {
            let h = header.first_chunk::<20>().ok_or(Reason::Cut)?;
            let header_bytes = 4 * usize::from(h[0] & 15);
            // 0 means that the network card fills in the length.
            let total = match u16::from_be_bytes([h[2], h[3]]) {
                0 => header.len(),
                total => total.into(),
            };
            let flags = u16::from_be_bytes([h[6], h[7]]);
            if header_bytes < 20 || total < header_bytes {
                return Err(Reason::Broken);
            }
            let address = |n: usize| IpAddr::V4(Ipv4Addr::new(h[n], h[n + 1], h[n + 2], h[n + 3]));
            let piece = (
                u32::from(u16::from_be_bytes([h[4], h[5]])),
                8 * usize::from(flags & 0x1fff),
                flags & 0x2000 == 0,
            );
            let end = ip.at + total;
            let fragment = (flags & 0x3fff != 0).then_some(piece);
            (
                address(12),
                address(16),
                h[9],
                ip.at + header_bytes,
                end,
                fragment,
            )
        }
        (6, 6) => {
            let h = header.first_chunk::<40>().ok_or(Reason::Cut)?;
            let address = |n: usize| {
                let octets: Option<&[u8; 16]> = h.get(n..).and_then(|b| b.first_chunk());
                IpAddr::V6(Ipv6Addr::from(octets.copied().unwrap_or_default()))
            };
            let end = ip.at + 40 + usize::from(u16::from_be_bytes([h[4], h[5]]));
            (address(8), address(24), h[6], ip.at + 40, end, None)
        }
        _ if header.is_empty() => return Err(Reason::Cut),
        _ => return Err(Reason::Broken),
    };
    if ip.version == 6 {
        for _ in 0..MAX_EXTENSIONS {
            let length = match protocol {
                0 | 43 | 60 => 8 * (usize::from(*bytes.get(at + 1).ok_or(Reason::Cut)?) + 1),
                44 => {
                    let word = be16(bytes, at + 2).ok_or(Reason::Cut)?;
                    let id = be32(bytes, at + 4).ok_or(Reason::Cut)?;
                    if word & 0xfff9 != 0 {
                        fragment = Some((id, usize::from(word & 0xfff8), word & 1 == 0));
                    }
                    8
                }
                _ => break,
            };
            protocol = *bytes.get(at).ok_or(Reason::Cut)?;
            at += length;
        }
    }
    if let Some((id, offset, is_last)) = fragment {
        if end > bytes.len() {
            return Err(Reason::Cut);
        }
        return Ok(Found::Fragment(Fragment {
            whole: Whole {
                src,
                dst,
                id,
                protocol,
            },
            offset,
            is_last,
            bytes: at..end.max(at),
        }));
    }
    in_transport(bytes, protocol, src, at, tunnels)
}

/// Searches the bytes from a transport header on.
pub(crate) fn in_transport(
    bytes: &[u8],
    protocol: u8,
    src: IpAddr,
    at: usize,
    tunnels: usize,
) -> Result<Found, Reason> {
    if let Some(within) = tunnel(bytes, protocol, at) {
        return match within {
            Ok(ip) if tunnels < MAX_TUNNELS => in_ip(bytes, ip, tunnels + 1),
            Ok(_) => Err(Reason::NotUdp),
            Err(e) => Err(no_ip(e)),
        };
    }
    if protocol != UDP {
        return Err(Reason::NotUdp);
    }
    let (Some(dst_port), Some(length)) = (be16(bytes, at + 2), be16(bytes, at + 4)) else {
        return Err(Reason::Cut);
    };
    let end = at + usize::from(length);
    if usize::from(length) < UDP_HEADER_BYTES {
        return Err(Reason::Broken);
    }
    if end > bytes.len() {
        return Err(Reason::Cut);
    }
    Ok(Found::Datagram(UdpDatagram {
        src,
        dst_port,
        payload: at + UDP_HEADER_BYTES..end,
    }))
}
