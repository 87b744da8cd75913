// SPDX-License-Identifier: Apache-2.0
//! Clocks. The kernel stamps tracepoints only with the two clocks that can be read in any context.
//! The others differ from `CLOCK_MONOTONIC` by an offset that changes only when the clock is set;
//! it is added on reading.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kernel's clock that stamps the events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// `CLOCK_MONOTONIC_RAW`: steady, never slewed; the default.
    #[default]
    MonoRaw,
    /// `CLOCK_MONOTONIC`: steady, slewed by NTP.
    Mono,
    /// `CLOCK_TAI`: comparable between hosts that run PTP.
    Tai,
    /// `CLOCK_BOOTTIME`: like `mono`, but includes suspension.
    Boot,
    /// `CLOCK_REALTIME`: Unix time; may jump.
    Real,
}

impl Clock {
    /// Returns the kernel's number of this clock.
    #[must_use]
    pub fn id(self) -> libc::clockid_t {
        match self {
            Self::MonoRaw => libc::CLOCK_MONOTONIC_RAW,
            Self::Mono => libc::CLOCK_MONOTONIC,
            Self::Tai => libc::CLOCK_TAI,
            Self::Boot => libc::CLOCK_BOOTTIME,
            Self::Real => libc::CLOCK_REALTIME,
        }
    }

    /// Returns the clock that the kernel is asked to stamp with.
    pub(super) fn stamped(self) -> Self {
        match self {
            Self::MonoRaw => Self::MonoRaw,
            _ => Self::Mono,
        }
    }

    /// Reads the clock, ns.
    #[must_use]
    pub fn now_ns(self) -> u64 {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the structure outlives the call. These clocks exist on every
        // Linux that has the tracepoint, so the call cannot fail.
        unsafe { libc::clock_gettime(self.id(), &raw mut time) };
        (time.tv_sec as u64)
            .saturating_mul(1_000_000_000)
            .saturating_add(time.tv_nsec as u64)
    }

    /// Returns this clock minus another, ns, from the tightest of a few pairs of readings, and the
    /// duration of that pair, ns.
    #[must_use]
    pub fn minus(self, other: Self) -> (i64, u64) {
        let mut best = (0, u64::MAX);
        for _ in 0..4 {
            let before = other.now_ns();
            let own = self.now_ns();
            let after = other.now_ns();
            let width = after.saturating_sub(before);
            if width < best.1 {
                let middle = before.saturating_add(width / 2);
                best = (own.wrapping_sub(middle) as i64, width);
            }
        }
        best
    }
}

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MonoRaw => "mono_raw",
            Self::Mono => "mono",
            Self::Tai => "tai",
            Self::Boot => "boot",
            Self::Real => "real",
        })
    }
}

/// Offset between the wanted clock and the clock of the stamps.
#[derive(Debug)]
pub(super) struct Offset {
    clock: Clock,
    ns: i64,
}

/// Two readings that differ by less are readings of the same offset.
const READING_NOISE_NS: u64 = 1_000;

impl Offset {
    pub(super) fn new(clock: Clock) -> Self {
        let mut offset = Self { clock, ns: 0 };
        offset.refresh();
        offset
    }

    /// Checks whether the clock was set since.
    pub(super) fn refresh(&mut self) {
        let stamped = self.clock.stamped();
        if self.clock == stamped {
            return;
        }
        let (ns, width_ns) = self.clock.minus(stamped);
        if ns.abs_diff(self.ns) > READING_NOISE_NS.max(width_ns) {
            self.ns = ns;
        }
    }

    #[inline]
    pub(super) fn apply(&self, stamp_ns: u64) -> u64 {
        stamp_ns.saturating_add_signed(self.ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_become_the_wanted_clock() {
        for clock in [
            Clock::MonoRaw,
            Clock::Mono,
            Clock::Tai,
            Clock::Boot,
            Clock::Real,
        ] {
            let offset = Offset::new(clock);
            let before = clock.now_ns();
            let converted = offset.apply(clock.stamped().now_ns());
            let after = clock.now_ns();
            // The offset itself is known to about the time of reading a clock.
            let slack = 100_000;
            assert!(
                (before - slack..=after + slack).contains(&converted),
                "{clock}"
            );
        }
    }
}
