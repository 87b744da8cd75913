// SPDX-License-Identifier: Apache-2.0
//! The ClickHouse sink in `/status`.

use serde::Serialize;
use tidemark_clickhouse::SinkStats;

/// The ClickHouse sink in `/status`.
#[derive(Debug, Serialize)]
pub struct ClickHouseStatus {
    /// Rows handed to the sink.
    pub rows: u64,
    /// Rows inserted into ClickHouse, including rows spooled by earlier runs.
    pub rows_inserted: u64,
    /// Rows that will not reach ClickHouse.
    pub rows_lost: u64,
    /// Batches waiting on disk.
    pub spool_batches: u64,
    /// Size of these batches, in bytes.
    pub spool_bytes: u64,
    /// Rows waiting on disk that a power failure may lose.
    pub unsynced_rows: u64,
    /// Reason why rows cannot be inserted now, if any.
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
