// SPDX-License-Identifier: Apache-2.0
//! The clocks of the host. Nothing else in the core reads them.

use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tidemark_control::Timestamp;

/// Source of a [`Core`](super::Core)'s time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns the Unix time, s.
pub fn unix_s() -> u64 {
    now().unix_ms / 1000
}

/// Returns the current time.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let unix_ms = since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX));
    let monotonic_ns = i64::try_from(EPOCH.elapsed().as_nanos()).unwrap_or(i64::MAX);
    Timestamp {
        monotonic_ns,
        unix_ms,
    }
}
