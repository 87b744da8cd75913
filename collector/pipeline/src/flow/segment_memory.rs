// SPDX-License-Identifier: Apache-2.0
//! Accounts for the memory in which flows remember their packets.
//!
//! A ring of segments keeps the largest size that its flow needed, and a sender of forged reports
//! needs one report for each entry: each ring is bounded, and so is their total.

/// Bytes taken for the segments, gaps and waiting packets of all flows.
///
/// Updated only when such a list is enlarged or freed, which is rare: a packet costs nothing here.
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

    /// Notes that a list was enlarged.
    pub(super) fn take(&mut self, bytes: usize) {
        self.taken_bytes += bytes;
    }

    /// Notes that lists were freed.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.taken_bytes = self.taken_bytes.saturating_sub(bytes);
    }

    /// Whether some flow has to forget something.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        self.taken_bytes > self.max_bytes
    }
}
