// SPDX-License-Identifier: Apache-2.0
//! Result of one parsing step of either format.

use std::ops::Range;

/// Result of parsing the start of the unparsed bytes.
#[derive(Debug)]
pub(crate) enum Step {
    /// A frame.
    Frame(Place),
    /// A block without a frame, of this length.
    Other(usize),
    /// The frame or block is not complete yet.
    Incomplete,
}

/// Properties and position of a frame.
#[derive(Debug)]
pub(crate) struct Place {
    pub time_ns: u64,
    pub link: u32,
    /// Length of the frame on the wire, in bytes.
    pub wire_bytes: u32,
    /// Range of the frame in the parsed bytes.
    pub data: Range<usize>,
    /// Length of the frame with its headers and padding.
    pub bytes: usize,
}

/// Error for invalid bytes.
#[derive(Debug)]
pub(crate) enum Broken {
    /// An impossible length.
    Length(u32),
    /// Any other error.
    Block(&'static str),
}
