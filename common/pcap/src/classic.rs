// SPDX-License-Identifier: Apache-2.0
//! The classic format: a header with the link type, then frames.

use crate::MAX_FRAME_BYTES;
use crate::step::{Broken, Place, Step};
use pcap_parser::{parse_pcap_frame, parse_pcap_frame_be, parse_pcap_header};

/// Size of the file header.
pub(crate) const HEADER_BYTES: usize = 24;
/// Size of the header of each frame.
const FRAME_HEADER_BYTES: usize = 16;
/// Mask of the link type; the upper bits say whether frames end with a checksum.
const LINK_MASK: u32 = 0xffff;

/// Properties from the file header.
#[derive(Debug)]
pub(crate) struct Classic {
    pub link: u32,
    big_endian: bool,
    /// Nanoseconds per unit of the fraction of a second.
    fraction_ns: u64,
}

impl Classic {
    /// Parses a file header; `None` if it is not the classic format.
    pub(crate) fn new(header: &[u8]) -> Option<Self> {
        let (_, header) = parse_pcap_header(header).ok()?;
        if header.is_modified_format() {
            return None;
        }
        Some(Self {
            link: header.network.0 as u32 & LINK_MASK,
            big_endian: header.is_bigendian(),
            fraction_ns: if header.is_nanosecond_precision() {
                1
            } else {
                1000
            },
        })
    }

    /// Parses the record at the start of `bytes`.
    ///
    /// # Errors
    /// The frame is too long.
    pub(crate) fn step(&self, bytes: &[u8]) -> Result<Step, Broken> {
        let Some(length) = bytes.get(8..).and_then(|b| b.first_chunk::<4>()) else {
            return Ok(Step::Incomplete);
        };
        // Check the length before waiting for the bytes.
        let length = if self.big_endian {
            u32::from_be_bytes(*length)
        } else {
            u32::from_le_bytes(*length)
        };
        if length > MAX_FRAME_BYTES {
            return Err(Broken::Length(length));
        }
        let frame = if self.big_endian {
            parse_pcap_frame_be(bytes)
        } else {
            parse_pcap_frame(bytes)
        };
        let Ok((_, frame)) = frame else {
            return Ok(Step::Incomplete);
        };
        let end = FRAME_HEADER_BYTES + frame.data.len();
        Ok(Step::Frame(Place {
            time_ns: u64::from(frame.ts_sec) * 1_000_000_000
                + u64::from(frame.ts_usec) * self.fraction_ns,
            link: self.link,
            wire_bytes: frame.origlen,
            data: FRAME_HEADER_BYTES..end,
            bytes: end,
        }))
    }
}
