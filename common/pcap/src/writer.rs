// SPDX-License-Identifier: Apache-2.0
//! Writes pcap files.

use crate::MAX_FRAME_BYTES;
use std::io::{self, Write};

const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Version 2.4, as two 16-bit halves.
const VERSION: u32 = 0x0004_0002;

/// Writes the classic format with nanosecond times, little-endian.
pub struct Writer<W: Write>(W);

impl<W: Write> Writer<W> {
    /// Starts a file for frames of one link type, as numbered by pcap.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(mut output: W, link: u32) -> io::Result<Self> {
        for word in [NANOSECONDS, VERSION, 0, 0, MAX_FRAME_BYTES, link] {
            output.write_all(&word.to_le_bytes())?;
        }
        Ok(Self(output))
    }

    /// Appends a frame; `time_ns` is Unix time.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, time_ns: u64, frame: &[u8]) -> io::Result<()> {
        let length = frame.len() as u32;
        let (s, ns) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
        for word in [s as u32, ns as u32, length, length] {
            self.0.write_all(&word.to_le_bytes())?;
        }
        self.0.write_all(frame)
    }

    /// Writes all buffered data.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    /// Writes all buffered data and returns the output.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.0.flush()?;
        Ok(self.0)
    }
}
