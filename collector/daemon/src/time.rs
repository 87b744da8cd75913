// SPDX-License-Identifier: Apache-2.0
//! Unix time and the clock of the tracepoints, side by side.

use tcp_probe::perf::Clock;

/// `clock - unix`, from the tightest of a few pairs of readings.
pub(crate) fn clock_minus_unix_ns(clock: Clock) -> i64 {
    let mut best = (u64::MAX, 0);
    for _ in 0..4 {
        let before = Clock::Real.now_ns();
        let other = clock.now_ns();
        let after = Clock::Real.now_ns();
        let width = after.saturating_sub(before);
        if width < best.0 {
            let middle = before.saturating_add(width / 2);
            best = (width, other.wrapping_sub(middle) as i64);
        }
    }
    best.1
}

/// Unix time, ns.
pub(crate) fn unix_ns() -> i64 {
    Clock::Real.now_ns() as i64
}

/// Unix time, s.
pub(crate) fn unix_s() -> u64 {
    Clock::Real.now_ns() / 1_000_000_000
}
