// SPDX-License-Identifier: Apache-2.0
//! Headers of tunnels: their lengths and what they say of what follows.

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

/// The next protocol of a VXLAN-GPE header that says it has one.
pub(crate) fn gpe_next(bytes: &[u8], at: usize) -> Option<u8> {
    (byte(bytes, at)? & 4 != 0).then(|| byte(bytes, at + 3))?
}

/// The end of a Geneve header.
pub(crate) fn geneve_end(bytes: &[u8], at: usize) -> Option<usize> {
    let first = byte(bytes, at)?;
    (first >> 6 == 0).then_some(at + 8 + 4 * usize::from(first & 0x3f))
}

/// EtherType and end of a GRE header; none with routing, or of any version but 0.
pub(crate) fn gre_header(bytes: &[u8], at: usize) -> Option<(u16, usize)> {
    let flags = be16(bytes, at)?;
    let options = (flags & 0xb000).count_ones() as usize;
    (flags & 0x4007 == 0).then_some((be16(bytes, at + 2)?, at + 4 + 4 * options))
}
