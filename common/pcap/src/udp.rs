// SPDX-License-Identifier: Apache-2.0
//! Finds the UDP datagram in a captured frame.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Link type of Ethernet.
pub const ETHERNET: u32 = 1;
/// Link type of IP packets without a frame.
pub const RAW: u32 = 101;
/// Link type of `tcpdump -i any`, first version.
pub const LINUX_SLL: u32 = 113;

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)
        .and_then(|b| b.first_chunk::<2>())
        .map(|b| u16::from_be_bytes(*b))
}

/// A UDP datagram within a frame.
#[derive(Debug)]
pub(crate) struct UdpDatagram {
    /// Source address.
    pub src: IpAddr,
    /// Destination port.
    pub dst_port: u16,
    /// Place of the payload in the frame.
    pub payload: Range<usize>,
}

/// Finds the UDP datagram in a frame of one of the link types above. `None` when
/// there is none, or not a whole one.
pub(crate) fn find_udp(frame: &[u8], link: u32) -> Option<UdpDatagram> {
    let (mut ethertype, mut at) = match link {
        ETHERNET => (be16(frame, 12)?, 14),
        LINUX_SLL => (be16(frame, 14)?, 16),
        _ => (
            if frame.first()? >> 4 == 6 {
                0x86dd
            } else {
                0x0800
            },
            0,
        ),
    };
    while matches!(ethertype, 0x8100 | 0x88a8) {
        ethertype = be16(frame, at + 2)?;
        at += 4;
    }
    let (src, udp_at) = match ethertype {
        0x0800 => {
            let header = frame.get(at..)?.first_chunk::<20>()?;
            let fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff;
            if header[0] >> 4 != 4 || header[9] != 17 || fragment != 0 {
                return None;
            }
            let src = Ipv4Addr::new(header[12], header[13], header[14], header[15]);
            (IpAddr::V4(src), at + usize::from(header[0] & 15) * 4)
        }
        0x86dd => {
            let header = frame.get(at..)?.first_chunk::<40>()?;
            if header[6] != 17 {
                return None;
            }
            let src: [u8; 16] = header[8..24].try_into().ok()?;
            (IpAddr::V6(Ipv6Addr::from(src)), at + 40)
        }
        _ => return None,
    };
    let dst_port = be16(frame, udp_at + 2)?;
    // The UDP length, not the frame's: frames have padding and trailers.
    let length = usize::from(be16(frame, udp_at + 4)?);
    let end = udp_at + length;
    (length >= 8 && end <= frame.len()).then_some(UdpDatagram {
        src,
        dst_port,
        payload: udp_at + 8..end,
    })
}
