// SPDX-License-Identifier: Apache-2.0
//! Lengths of intervals, and how long they stay open.

use crate::config::Config;

/// Memory of the intervals that are open at a node, bytes. Beyond it the oldest are
/// handed on before their time.
pub(super) const MAX_OPEN_BYTES: usize = 512 << 20;
/// It is looked at each time so many rows have come.
pub(super) const ROWS_PER_LOOK: u32 = 65_536;

/// Parameters of how rows become interval records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AggregateConfig {
    /// Length of an interval.
    pub interval_ns: u64,
    /// How much later than a younger row a row may come and still count in its
    /// own interval.
    pub reorder_ns: u64,
    /// Intervals are handed on when at least this much is complete.
    pub publish_ns: u64,
}

impl From<&Config> for AggregateConfig {
    fn from(c: &Config) -> Self {
        Self {
            interval_ns: u64::from(c.interval_ms.max(1)) * 1_000_000,
            reorder_ns: u64::from(c.reorder_ms) * 1_000_000,
            publish_ns: u64::from(c.publish_ms) * 1_000_000,
        }
    }
}
