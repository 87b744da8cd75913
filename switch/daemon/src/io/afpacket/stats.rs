// SPDX-License-Identifier: Apache-2.0
//! Counters of an interface.

use traffic_manager::super_frame::Refusal;

/// Counters of an interface since it was opened.
#[derive(Debug, Default, Clone, Copy)]
pub struct IoStats {
    /// Frames received; a super-frame counts as its segments.
    pub rx_packets: u64,
    /// Bytes received, with the headers of each segment.
    pub rx_bytes: u64,
    /// Super-frames received and cut.
    pub rx_super_frames: u64,
    /// Frames that the kernel dropped because ring or socket buffer were full.
    pub rx_dropped: u64,
    /// Frames longer than the interface's MTU and not to be segmented.
    pub rx_oversize: u64,
    /// Super-frames that could not be cut, by reason in the order of [`Refusal::ALL`].
    pub rx_refused: [u64; Refusal::ALL.len()],
    /// Frames sent; a super-frame counts as its segments.
    pub tx_packets: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Super-frames sent.
    pub tx_super_frames: u64,
    /// Frames that the interface did not take.
    pub tx_errors: u64,
}

impl IoStats {
    /// Returns the count of super-frames that could not be cut for one reason.
    pub fn refused(&mut self, why: Refusal) -> &mut u64 {
        let at = Refusal::ALL.iter().position(|r| *r == why).unwrap_or(0);
        &mut self.rx_refused[at]
    }
}
