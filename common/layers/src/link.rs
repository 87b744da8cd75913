// SPDX-License-Identifier: Apache-2.0
//! Link layers: Ethernet, VLAN tags, MPLS labels, PPPoE.

use crate::{IPV4, IPV6, Ip, NoIp, be16, by_version};

/// Most nested tags or labels that are skipped.
const MAX_TAGS: usize = 16;
pub(crate) const MPLS: u16 = 0x8847;
/// EtherType of PPPoE session packets.
const PPPOE: u16 = 0x8864;
/// Smallest EtherType; smaller values are lengths of frames with an LLC header.
const LEAST_ETHERTYPE: u16 = 0x600;

/// Finds the IP packet in an Ethernet frame that starts at `at`.
///
/// # Errors
/// The bytes end too early, or the frame carries no IP.
pub fn ethernet(bytes: &[u8], at: usize) -> Result<Ip, NoIp> {
    let ethertype = be16(bytes, at + 12).ok_or(NoIp::Cut("Ethernet"))?;
    payload(bytes, ethertype, at + 14)
}

/// Finds the IP packet in the payload at `at` of an EtherType.
///
/// # Errors
/// Same as [`ethernet`].
pub fn payload(bytes: &[u8], mut ethertype: u16, mut at: usize) -> Result<Ip, NoIp> {
    for _ in 0..MAX_TAGS {
        match ethertype {
            IPV4 => return Ok(Ip { at, version: 4 }),
            IPV6 => return Ok(Ip { at, version: 6 }),
            0x8100 | 0x88a8 | 0x9100 => {
                ethertype = be16(bytes, at + 2).ok_or(NoIp::Cut("VLAN"))?;
                at += 4;
            }
            MPLS | 0x8848 => return mpls(bytes, ethertype, at),
            PPPOE => return ppp(bytes, at + 6),
            length if length < LEAST_ETHERTYPE => {
                // LLC with SNAP, whose last two bytes are an EtherType.
                match bytes.get(at..).and_then(|b| b.first_chunk::<6>()) {
                    Some([0xaa, 0xaa, 3, 0, 0, 0]) => {
                        ethertype = be16(bytes, at + 6).ok_or(NoIp::Cut("LLC"))?;
                        at += 8;
                    }
                    _ => return Err(NoIp::Other(length)),
                }
            }
            other => return Err(NoIp::Other(other)),
        }
    }
    Err(NoIp::Other(ethertype))
}

/// Finds the IP packet after a PPP protocol number, which may be one byte long.
///
/// # Errors
/// Same as [`ethernet`].
pub fn ppp(bytes: &[u8], at: usize) -> Result<Ip, NoIp> {
    let first = bytes.get(at).copied().ok_or(NoIp::Cut("PPP"))?;
    let (protocol, length) = match first & 1 {
        1 => (u16::from(first), 1),
        _ => (be16(bytes, at).ok_or(NoIp::Cut("PPP"))?, 2),
    };
    let at = at + length;
    match protocol {
        0x21 => Ok(Ip { at, version: 4 }),
        0x57 => Ok(Ip { at, version: 6 }),
        0x281 | 0x283 => mpls(bytes, MPLS, at),
        // PPP protocol numbers are not EtherTypes.
        _ => Err(NoIp::Other(PPPOE)),
    }
}

/// Skips MPLS labels, which do not name their payload: its first four bits decide.
fn mpls(bytes: &[u8], ethertype: u16, mut at: usize) -> Result<Ip, NoIp> {
    for _ in 0..MAX_TAGS {
        let is_last = bytes.get(at + 2).ok_or(NoIp::Cut("MPLS"))? & 1 != 0;
        at += 4;
        if !is_last {
            continue;
        }
        let first = bytes.get(at).copied().ok_or(NoIp::Cut("MPLS"))?;
        if let Some(ip) = by_version(bytes, at) {
            return Ok(ip);
        }
        // The Ethernet frame of a pseudowire, with or without a control word.
        let behind_word = ethernet(bytes, at + 4).ok().filter(|_| first >> 4 == 0);
        return match behind_word.or_else(|| ethernet(bytes, at).ok()) {
            Some(ip) => Ok(ip),
            None => Err(NoIp::Other(ethertype)),
        };
    }
    Err(NoIp::Other(ethertype))
}
