// SPDX-License-Identifier: Apache-2.0
//! Counters of the sink, readable from other threads.

use crate::spool::Spooled;
use daemon_kit::metrics;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Reason why rows were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Loss {
    /// The writer did not keep up.
    QueueFull = 0,
    /// The server was away until the spool was full.
    SpoolFull = 1,
    /// The spool's disk failed, so the rows are not in the spool.
    SpoolError = 2,
    /// The server refused the batch for good; it is kept in `rejected/`.
    Rejected = 3,
}

impl Loss {
    /// Names of the reasons, in the order of the counters.
    pub const LABELS: [&'static str; 4] = ["queue_full", "spool_full", "spool_error", "rejected"];
}

metrics! {
    /// The sink's counters and gauges, as `/metrics` shows them.
    #[derive(Debug, Default)]
    pub struct SinkMetrics {
        /// Rows handed to the ClickHouse sink.
        counter taken: AtomicU64 = "clickhouse_rows",
        /// Rows that ClickHouse has stored, including those spooled by earlier starts.
        counter inserted: AtomicU64 = "clickhouse_rows_inserted",
        /// Rows that will not reach ClickHouse.
        counter lost: [AtomicU64; Loss::LABELS.len()] = "clickhouse_rows_lost"
            => "reason" in Loss::LABELS,
        /// Rows that ClickHouse holds more than once.
        counter doubled: AtomicU64 = "clickhouse_rows_doubled",
        /// Batches that ClickHouse has stored.
        counter batches: AtomicU64 = "clickhouse_batches",
        /// Batches that a repeated attempt found already stored.
        counter found: AtomicU64 = "clickhouse_batches_found",
        /// Failed attempts to insert a batch.
        counter retries: AtomicU64 = "clickhouse_retries",
        /// Bytes of batches sent, counting every attempt.
        counter sent_bytes: AtomicU64 = "clickhouse_sent_bytes",
        /// Bytes of batches waiting on disk.
        gauge spool_bytes: AtomicU64 = "clickhouse_spool_bytes",
        /// Batches waiting on disk.
        gauge spool_batches: AtomicU64 = "clickhouse_spool_batches",
        /// Rows waiting on disk that a power cut may lose: their batches' names were not synced.
        gauge unsynced_rows: AtomicU64 = "clickhouse_unsynced_rows",
        /// 1 while ClickHouse cannot be reached or refuses inserts.
        gauge failing: AtomicBool = "clickhouse_failing",
    }
}

#[derive(Debug, Default)]
struct Shared {
    metrics: SinkMetrics,
    failure: Mutex<Option<String>>,
    spool_failure: Mutex<Option<String>>,
}

/// Handle to the counters; clones share them.
#[derive(Clone, Debug, Default)]
pub struct SinkStats(Arc<Shared>);

macro_rules! counters {
    ($($name:ident $($add:ident)?;)*) => {$(
        #[doc = concat!("[`SinkMetrics::", stringify!($name), "`], its current value.")]
        pub fn $name(&self) -> u64 {
            self.0.metrics.$name.load(Ordering::Relaxed)
        }
        $(pub(crate) fn $add(&self, n: u64) {
            self.0.metrics.$name.fetch_add(n, Ordering::Relaxed);
        })?
    )*};
}

impl SinkStats {
    counters! {
        taken add_taken;
        inserted add_inserted;
        batches add_batches;
        retries add_retries;
        found add_found;
        doubled add_doubled;
        sent_bytes add_sent_bytes;
        spool_bytes;
        spool_batches;
        unsynced_rows;
    }

    /// All counters and gauges, for `/metrics`.
    pub fn metrics(&self) -> &SinkMetrics {
        &self.0.metrics
    }

    /// Counts a batch that was put into the spool.
    pub(crate) fn spooled(&self, batch: &Spooled) {
        let m = self.metrics();
        m.spool_bytes.fetch_add(batch.bytes, Ordering::Relaxed);
        m.spool_batches.fetch_add(1, Ordering::Relaxed);
        m.unsynced_rows
            .fetch_add(batch.unsynced_rows(), Ordering::Relaxed);
    }

    /// Counts a batch that left the spool.
    pub(crate) fn left_spool(&self, batch: &Spooled) {
        let m = self.metrics();
        m.spool_bytes.fetch_sub(batch.bytes, Ordering::Relaxed);
        m.spool_batches.fetch_sub(1, Ordering::Relaxed);
        m.unsynced_rows
            .fetch_sub(batch.unsynced_rows(), Ordering::Relaxed);
    }

    /// Number of rows lost for one reason.
    pub fn lost(&self, why: Loss) -> u64 {
        self.0.metrics.lost[why as usize].load(Ordering::Relaxed)
    }

    /// Number of rows lost for each reason, in the order of [`Loss::LABELS`].
    pub fn lost_by_reason(&self) -> [u64; Loss::LABELS.len()] {
        std::array::from_fn(|i| self.0.metrics.lost[i].load(Ordering::Relaxed))
    }

    /// Total number of rows lost.
    pub fn lost_total(&self) -> u64 {
        self.lost_by_reason().iter().sum()
    }

    pub(crate) fn lose(&self, why: Loss, rows: u64) {
        self.0.metrics.lost[why as usize].fetch_add(rows, Ordering::Relaxed);
    }

    /// Returns why rows cannot be inserted now, if so.
    pub fn failure(&self) -> Option<String> {
        self.0.failure.lock().clone()
    }

    /// Returns why the last rows were not put into the spool or not synced there, if so.
    pub fn spool_failure(&self) -> Option<String> {
        self.0.spool_failure.lock().clone()
    }

    pub(crate) fn set_spool_failure(&self, failure: Option<String>) {
        *self.0.spool_failure.lock() = failure;
    }

    /// Sets the failure; returns whether inserting began or ceased to fail.
    pub(crate) fn set_failure(&self, failure: Option<String>) -> bool {
        let mut held = self.0.failure.lock();
        let failing = &self.0.metrics.failing;
        failing.store(failure.is_some(), Ordering::Relaxed);
        let before = std::mem::replace(&mut *held, failure);
        before.is_some() != held.is_some()
    }
}
