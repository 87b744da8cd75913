// SPDX-License-Identifier: Apache-2.0
//! The current time, and the times at which work is due.

/// A running collector reads its clock more often than this. Otherwise it was stalled: stopped,
/// swapped out, moved to another machine, or waiting for a disk.
const STOOD_STILL_NS: u64 = 200_000_000;
/// Reports that waited during a stall begin to come within the length of the stall, and within
/// this.
const MAX_AWAKENING_NS: u64 = 2_000_000_000;

/// Times given to the pipeline, and when work is due next.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Latest time of the collector's clock.
    pub now_rx_ns: u64,
    /// Last hand-over; 0 if hand-overs are not reported.
    pub handed_over_ns: u64,
    /// Until this time a node's silence means nothing: the collector was stalled, and the node's
    /// reports wait in the socket.
    pub deaf_until_ns: u64,
    pub unix_minus_rx_ns: i64,
    pub next_clock_ns: u64,
    pub next_publish_ns: u64,
}

impl Timers {
    /// Takes a reading of the collector's clock. Only a caller that reports hand-overs calls so
    /// often that a long gap shows a stall.
    pub(super) fn tell(&mut self, now_ns: u64) {
        let still_ns = now_ns.saturating_sub(self.handed_over_ns.max(self.now_rx_ns));
        if self.handed_over_ns > 0 && still_ns >= STOOD_STILL_NS {
            self.deaf_until_ns = now_ns.saturating_add(still_ns.min(MAX_AWAKENING_NS));
        }
    }
}
