// SPDX-License-Identifier: Apache-2.0
//! Clocks of the data plane.

use nix::time::{ClockId, clock_gettime};

/// Logical time: ns since the start, on the monotonic clock.
#[derive(Clone, Copy)]
pub(super) struct Clock {
    start_ns: u64,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self {
            start_ns: read(ClockId::CLOCK_MONOTONIC),
        }
    }

    pub(super) fn now_ns(self) -> u64 {
        read(ClockId::CLOCK_MONOTONIC).saturating_sub(self.start_ns)
    }
}

/// Returns the time of a kernel clock, in ns.
pub(super) fn read(id: ClockId) -> u64 {
    clock_gettime(id).map_or(0, |t| {
        t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64
    })
}
