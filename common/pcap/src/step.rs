// SPDX-License-Identifier: Apache-2.0
//! Result of one parsing step, in either format.

use std::ops::Range;

/// Result of parsing the start of the bytes.
#[derive(Debug)]
pub(crate) enum Step {
    /// A frame.
    Frame(Place),
    /// Something without a frame, of so many bytes.
    Other(usize),
    /// Not all of it is there yet.
    Incomplete,
}

/// A frame, and where it lies.
#[derive(Debug)]
pub(crate) struct Place {
    pub time_ns: u64,
    pub link: u32,
    /// Bytes that it had on the wire.
    pub wire_bytes: u32,
    /// Of the frame, among the bytes looked at.
    pub data: Range<usize>,
    /// Of all that belongs to it, from the start.
    pub bytes: usize,
}

/// Why the bytes cannot be.
#[derive(Debug)]
pub(crate) enum Broken {
    /// A length that is none.
    Length(u32),
    /// Anything else.
    Block(&'static str),
}
