// SPDX-License-Identifier: Apache-2.0
//! The ClickHouse sink in `/metrics` and `/status`.

use daemon_kit::metrics;
use serde::Serialize;
use tidemark_clickhouse::{Loss, SinkStats};

/// The ClickHouse sink in `/status`.
#[derive(Debug, Serialize)]
pub struct ClickHouseStatus {
    /// Rows handed to the sink.
    pub rows: u64,
    /// Rows that ClickHouse has taken, those spooled by former starts included.
    pub rows_inserted: u64,
    /// Rows that will not reach ClickHouse.
    pub rows_lost: u64,
    /// Batches waiting on disk.
    pub spool_batches: u64,
    /// Of them, bytes.
    pub spool_bytes: u64,
    /// Rows waiting on disk that a power cut may take.
    pub unsynced_rows: u64,
    /// What keeps rows from being inserted now, if anything does.
    pub failure: Option<String>,
}

impl From<&SinkStats> for ClickHouseStatus {
    fn from(s: &SinkStats) -> Self {
        Self {
            rows: s.taken(),
            rows_inserted: s.inserted(),
            rows_lost: s.lost_total(),
            spool_batches: s.spool_batches(),
            spool_bytes: s.spool_bytes(),
            unsynced_rows: s.unsynced_rows(),
            failure: s.failure(),
        }
    }
}

metrics! {
    /// The ClickHouse sink in `/metrics`.
    #[derive(Debug)]
    pub struct ClickHouseMetrics {
        /// Rows handed to the ClickHouse sink.
        counter clickhouse_rows: u64,
        /// Rows that ClickHouse has taken, those spooled by former starts included.
        counter clickhouse_rows_inserted: u64,
        /// Rows that will not reach ClickHouse.
        counter clickhouse_rows_lost: [u64; Loss::LABELS.len()] => "reason" in Loss::LABELS,
        /// Rows that ClickHouse holds more than once.
        counter clickhouse_rows_doubled: u64,
        /// Batches that ClickHouse has taken.
        counter clickhouse_batches: u64,
        /// Batches that a repeated attempt found stored already.
        counter clickhouse_batches_found: u64,
        /// Failed attempts to insert a batch.
        counter clickhouse_retries: u64,
        /// Bytes of batches sent, every attempt.
        counter clickhouse_sent_bytes: u64,
        /// Bytes of batches waiting on disk.
        gauge clickhouse_spool_bytes: u64,
        /// Batches waiting on disk.
        gauge clickhouse_spool_batches: u64,
        /// Rows waiting on disk that a power cut may take: their batches' names could not be synced.
        gauge clickhouse_unsynced_rows: u64,
        /// 1 while ClickHouse cannot be reached or refuses.
        gauge clickhouse_failing: bool,
    }
}

impl From<&SinkStats> for ClickHouseMetrics {
    fn from(s: &SinkStats) -> Self {
        Self {
            clickhouse_rows: s.taken(),
            clickhouse_rows_inserted: s.inserted(),
            clickhouse_rows_lost: s.lost_by_reason(),
            clickhouse_rows_doubled: s.doubled(),
            clickhouse_batches: s.batches(),
            clickhouse_batches_found: s.found(),
            clickhouse_retries: s.retries(),
            clickhouse_sent_bytes: s.sent_bytes(),
            clickhouse_spool_bytes: s.spool_bytes(),
            clickhouse_spool_batches: s.spool_batches(),
            clickhouse_unsynced_rows: s.unsynced_rows(),
            clickhouse_failing: s.failure().is_some(),
        }
    }
}
