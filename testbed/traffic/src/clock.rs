// SPDX-License-Identifier: Apache-2.0
//! Clocks of the truth.

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// A moment on two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// `CLOCK_MONOTONIC_RAW`, the clock of tcp_probe samples, ns.
    pub mono_raw_ns: u64,
    /// Unix time, ns.
    pub unix_ns: u64,
}

impl Moment {
    /// Returns the current time. Both clocks exist on every Linux; a failure reads as 0.
    pub fn now() -> Self {
        Self {
            mono_raw_ns: read(ClockId::CLOCK_MONOTONIC_RAW),
            unix_ns: read(ClockId::CLOCK_REALTIME),
        }
    }
}

fn read(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |t| {
        u64::try_from(t.tv_sec()).unwrap_or(0) * 1_000_000_000
            + u64::try_from(t.tv_nsec()).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_go_forward() {
        let first = Moment::now();
        let second = Moment::now();
        assert!(first.mono_raw_ns > 0 && first.unix_ns > 1_500_000_000_000_000_000);
        assert!(second.mono_raw_ns >= first.mono_raw_ns);
    }
}
