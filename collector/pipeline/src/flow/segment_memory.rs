// SPDX-License-Identifier: Apache-2.0
//! The memory of what flows remember of their packets.
//!
//! A ring of segments keeps the size that its flow once needed, and a sender of made-up
//! reports needs one report for each entry: each ring is bounded, and so are all together.

/// Bytes taken for the segments, gaps and waiting packets of all flows.
///
/// Counted where such a list is made larger or let go, which is rare: a packet costs nothing
/// here.
#[derive(Debug)]
pub(crate) struct SegmentMemory {
    pub taken_bytes: usize,
    max_bytes: usize,
}

impl SegmentMemory {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            taken_bytes: 0,
            max_bytes,
        }
    }

    /// Notes that a list was made larger.
    pub(super) fn take(&mut self, bytes: usize) {
        self.taken_bytes += bytes;
    }

    /// Notes that lists were let go.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.taken_bytes = self.taken_bytes.saturating_sub(bytes);
    }

    /// Somebody has to forget something.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.taken_bytes > self.max_bytes
    }
}
