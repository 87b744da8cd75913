// SPDX-License-Identifier: Apache-2.0
//! From a frame or a tunnel to the IP packet in it. Places are offsets into the bytes
//! given; nothing is copied, and nothing panics on what they hold.

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

/// An IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Place of its header; may lie beyond the bytes where they are cut.
    pub at: usize,
    /// 4 or 6, as said by what is around it.
    pub version: u8,
}

/// Why there is no IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NoIp {
    /// The bytes end within a header.
    #[error("cut within its {0} header")]
    Cut(&'static str),
    /// Something else is carried.
    #[error("EtherType 0x{0:04x} is not IP")]
    Other(u16),
}

/// Two bytes in network order; `None` beyond the end.
#[inline(always)]
pub fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*two))
}

/// Four bytes in network order; `None` beyond the end.
#[inline(always)]
pub fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*four))
}

/// An IP packet by its own first four bits.
fn by_version(bytes: &[u8], at: usize) -> Option<Ip> {
    match bytes.get(at)? >> 4 {
        version @ (4 | 6) => Some(Ip { at, version }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
