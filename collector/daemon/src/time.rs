// SPDX-License-Identifier: Apache-2.0
//! Unix time.

use tcp_probe::perf::Clock;

pub(crate) fn unix_ns() -> i64 {
    Clock::Real.now_ns() as i64
}

pub(crate) fn unix_s() -> u64 {
    Clock::Real.now_ns() / 1_000_000_000
}
