// SPDX-License-Identifier: Apache-2.0
//! Finds the IP packet inside a frame or a tunnel. Positions are offsets into the given
//! bytes; nothing is copied, and no input causes a panic.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod headers;
mod int;
mod link;
mod tunnel;

pub use int::{Int, int_md};
pub use link::{ethernet, payload, ppp};
pub use tunnel::tunnel;

use thiserror::Error;

/// EtherTypes of IP.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

/// The position of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Offset of the IP header; beyond the end if the bytes were cut off.
    pub at: usize,
    /// 4 or 6, according to the enclosing header.
    pub version: u8,
}

/// Reason why no IP packet was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoIp {
    /// The bytes end within a header.
    #[error("cut within its {0} header")]
    Cut(&'static str),
    /// The frame carries another protocol.
    #[error("EtherType 0x{0:04x} is not IP")]
    Other(u16),
}

/// Reads two bytes in network order; `None` beyond the end.
#[inline(always)]
pub fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*two))
}

/// Reads four bytes in network order; `None` beyond the end.
#[inline(always)]
pub fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*four))
}

/// Recognises an IP packet by its version field.
fn by_version(bytes: &[u8], at: usize) -> Option<Ip> {
    match bytes.get(at)? >> 4 {
        version @ (4 | 6) => Some(Ip { at, version }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
