// SPDX-License-Identifier: Apache-2.0
//! Tunnels over IP: IP in IP, GRE, ERSPAN, MPLS, and over UDP VXLAN, Geneve, GTP-U.

use crate::headers::{
    GENEVE_PORT, GPE_PORT, GRE, UDP, UDP_HEADER_BYTES, VXLAN_PORT, byte, geneve_end, gpe_next,
    gre_header,
};
use crate::int::{behind_gpe, behind_gre};
use crate::link::{MPLS, ethernet, payload};
use crate::{Ip, NoIp, be16, by_version};

/// Transparent Ethernet bridging.
const ETHERNET: u16 = 0x6558;

/// Finds the packet inside a tunnel whose header of `protocol` starts at `at`; `None` if the
/// header is not of a known tunnel.
pub fn tunnel(bytes: &[u8], protocol: u8, at: usize) -> Option<Result<Ip, NoIp>> {
    match protocol {
        4 => Some(Ok(Ip { at, version: 4 })),
        41 => Some(Ok(Ip { at, version: 6 })),
        GRE => Some(gre(bytes, at)),
        137 => Some(payload(bytes, MPLS, at)),
        UDP => over_udp(bytes, be16(bytes, at + 2)?, at + UDP_HEADER_BYTES),
        _ => None,
    }
}

/// Recognises a tunnel by its UDP port and its header, because a port alone proves nothing.
#[inline]
fn over_udp(bytes: &[u8], port: u16, at: usize) -> Option<Result<Ip, NoIp>> {
    match port {
        // VXLAN, and the port that Linux used before one was assigned.
        VXLAN_PORT | 8472 => match byte(bytes, at)? {
            // The first bit marks a group policy.
            8 | 0x88 => Some(ethernet(bytes, at + 8)),
            // Some senders use this port for VXLAN-GPE, which sets one more bit.
            _ => gpe(bytes, at),
        },
        GPE_PORT => gpe(bytes, at),
        GENEVE_PORT => geneve(bytes, at),
        2152 => gtp_u(bytes, at),
        6635 => Some(payload(bytes, MPLS, at)),
        _ => None,
    }
}

fn gpe(bytes: &[u8], at: usize) -> Option<Result<Ip, NoIp>> {
    let (at, next) = behind_gpe(bytes, at + 8, gpe_next(bytes, at)?)?;
    match next {
        1 => Some(Ok(Ip { at, version: 4 })),
        2 => Some(Ok(Ip { at, version: 6 })),
        3 => Some(ethernet(bytes, at)),
        _ => None,
    }
}

fn geneve(bytes: &[u8], at: usize) -> Option<Result<Ip, NoIp>> {
    let end = geneve_end(bytes, at)?;
    Some(by_ethertype(bytes, be16(bytes, at + 2)?, end))
}

/// Finds the user packet of a mobile network; its version field says which IP it is.
fn gtp_u(bytes: &[u8], at: usize) -> Option<Result<Ip, NoIp>> {
    let flags = byte(bytes, at)?;
    if flags & 0xf0 != 0x30 || byte(bytes, at + 1)? != 0xff {
        return None;
    }
    let mut inner = at + 8;
    if flags & 7 != 0 {
        let mut next = byte(bytes, inner + 3)?;
        inner += 4;
        // Extension headers: each starts with its length in words and ends with the next type.
        while next != 0 {
            let length = 4 * usize::from(byte(bytes, inner)?);
            if flags & 4 == 0 || length == 0 {
                return None;
            }
            inner += length;
            next = byte(bytes, inner - 1)?;
        }
    }
    by_version(bytes, inner).map(Ok)
}

fn gre(bytes: &[u8], at: usize) -> Result<Ip, NoIp> {
    let ethertype = be16(bytes, at + 2).ok_or(NoIp::Cut("GRE"))?;
    let (_, inner) = gre_header(bytes, at).ok_or(NoIp::Other(ethertype))?;
    let has_sequence = byte(bytes, at).is_some_and(|flags| flags & 0x10 != 0);
    match ethertype {
        // ERSPAN: type I has neither a sequence number nor its own header.
        0x88be if !has_sequence => ethernet(bytes, inner),
        0x88be => ethernet(bytes, inner + 8),
        0x22eb => {
            let platform = byte(bytes, inner + 11).ok_or(NoIp::Cut("ERSPAN"))? & 1;
            ethernet(bytes, inner + 12 + 8 * usize::from(platform))
        }
        _ => by_ethertype(bytes, ethertype, inner).or_else(|other| {
            let behind = behind_gre(bytes, inner).ok_or(other)?;
            by_ethertype(bytes, behind.1, behind.0).map_err(|_| other)
        }),
    }
}

fn by_ethertype(bytes: &[u8], ethertype: u16, at: usize) -> Result<Ip, NoIp> {
    match ethertype {
        ETHERNET => ethernet(bytes, at),
        _ => payload(bytes, ethertype, at),
    }
}
