// SPDX-License-Identifier: Apache-2.0
//! Lengths of intervals, and how long they stay open.

use crate::config::Config;

/// Maximum memory of a node's open intervals, bytes. Beyond it, the oldest intervals are handed on
/// early.
pub(super) const MAX_OPEN_BYTES: usize = 512 << 20;
/// Number of rows after which that memory is checked.
pub(super) const ROWS_PER_LOOK: u32 = 65_536;

/// Parameters of the aggregation of rows into interval records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AggregateConfig {
    /// Length of an interval.
    pub interval_ns: u64,
    /// How much later than a newer row a row may come and still count in its own interval.
    pub reorder_ns: u64,
    /// Intervals are handed on when at least this much time is complete.
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
