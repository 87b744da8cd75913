// SPDX-License-Identifier: Apache-2.0
//! The time, and what is due.

/// A collector at work is told the time more often than this. One that was not stood still:
/// stopped, swapped out, moved to another machine, or waiting for a disk.
const STOOD_STILL_NS: u64 = 200_000_000;
/// Reports that waited meanwhile begin to come within the time that they waited, and
/// within this.
const MAX_AWAKENING_NS: u64 = 2_000_000_000;

/// Time as the pipeline was told it, and what is due next.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Latest time of the collector's clock.
    pub now_rx_ns: u64,
    /// When what is pushed now was handed over; 0 when nobody says so.
    pub handed_over_ns: u64,
    /// Until then silence says nothing of a node: the collector stood still, and what the
    /// node said waits in the socket.
    pub deaf_until_ns: u64,
    pub unix_minus_rx_ns: i64,
    pub next_clock_ns: u64,
    pub next_publish_ns: u64,
}

impl Timers {
    /// Takes a reading of the collector's clock. Only who says when he hands over comes so
    /// often that a long time without him was his own.
    pub(super) fn tell(&mut self, now_ns: u64) {
        let still_ns = now_ns.saturating_sub(self.handed_over_ns.max(self.now_rx_ns));
        if self.handed_over_ns > 0 && still_ns >= STOOD_STILL_NS {
            self.deaf_until_ns = now_ns.saturating_add(still_ns.min(MAX_AWAKENING_NS));
        }
    }
}
