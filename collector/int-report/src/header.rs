// SPDX-License-Identifier: Apache-2.0
//! The header that numbers a datagram, readable even when the rest is malformed: a malformed
//! datagram has arrived and is not a lost one.

use crate::bytes::be32;

/// Length of the group header of version 2.
pub(crate) const GROUP_HEADER_BYTES: usize = 8;
/// Length field of an individual report of version 2 that extends to the end of its datagram.
pub(crate) const LENGTH_TO_END: u8 = 0xff;

/// The stream of reports that a datagram belongs to, and its number in the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamHeader {
    /// Version of the reports.
    pub version: u8,
    /// The reporting node; 0 in a v0.5 report that names none.
    pub node_id: u32,
    /// Part of the node that sent the datagram; each part numbers its own datagrams.
    pub hw_id: u8,
    /// Number of the datagram in its stream.
    pub sequence: u32,
    /// Width of that number on the wire, in bits.
    pub sequence_bits: u8,
}

/// Reads the stream and number of a datagram without decoding its reports. Returns `None` if the
/// datagram is too short or of an unknown version.
#[must_use]
pub fn peek_header(payload: &[u8]) -> Option<StreamHeader> {
    let word = be32(payload, 0)?;
    let version = (word >> 28) as u8;
    match version {
        2 => Some(StreamHeader {
            version,
            node_id: be32(payload, 4)?,
            hw_id: ((word >> 22) & 0x3f) as u8,
            sequence: word & 0x3f_ffff,
            sequence_bits: 22,
        }),
        1 => Some(StreamHeader {
            version,
            node_id: be32(payload, 4)?,
            hw_id: (word & 0x3f) as u8,
            sequence: be32(payload, 8)?,
            sequence_bits: 32,
        }),
        0 => Some(StreamHeader {
            version,
            node_id: match (word >> 24) & 0xf {
                1 | 2 | 4 => be32(payload, 12)?,
                3 => be32(payload, 16)?,
                _ => 0,
            },
            hw_id: (word & 0x3f) as u8,
            sequence: be32(payload, 4)?,
            sequence_bits: 32,
        }),
        _ => None,
    }
}
