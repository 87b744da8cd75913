// SPDX-License-Identifier: Apache-2.0
//! Tunnel headers: their lengths and the types of their payload.

use crate::be16;

pub(crate) const UDP: u8 = 17;
pub(crate) const GRE: u8 = 47;
pub(crate) const VXLAN_PORT: u16 = 4789;
pub(crate) const GPE_PORT: u16 = 4790;
pub(crate) const GENEVE_PORT: u16 = 6081;
pub(crate) const UDP_HEADER_BYTES: usize = 8;

pub(crate) fn byte(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

/// Returns the next protocol of a VXLAN-GPE header whose P bit is set.
pub(crate) fn gpe_next(bytes: &[u8], at: usize) -> Option<u8> {
    (byte(bytes, at)? & 4 != 0).then(|| byte(bytes, at + 3))?
}

/// Returns the end of a Geneve header.
pub(crate) fn geneve_end(bytes: &[u8], at: usize) -> Option<usize> {
    let first = byte(bytes, at)?;
    (first >> 6 == 0).then_some(at + 8 + 4 * usize::from(first & 0x3f))
}

/// Returns the EtherType and end of a GRE header; `None` with routing or a version other than 0.
pub(crate) fn gre_header(bytes: &[u8], at: usize) -> Option<(u16, usize)> {
    let flags = be16(bytes, at)?;
    let options = (flags & 0xb000).count_ones() as usize;
    (flags & 0x4007 == 0).then_some((be16(bytes, at + 2)?, at + 4 + 4 * options))
}
