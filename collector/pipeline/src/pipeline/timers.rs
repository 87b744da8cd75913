// SPDX-License-Identifier: Apache-2.0
//! The time, and what is due.

/// Time as the pipeline was told it, and what is due next.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Latest time of the collector's clock.
    pub now_rx_ns: u64,
    /// When what is pushed now was handed over; 0 when nobody says so.
    pub handed_over_ns: u64,
    pub unix_minus_rx_ns: i64,
    pub next_clock_ns: u64,
    pub next_publish_ns: u64,
}
