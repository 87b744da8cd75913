// SPDX-License-Identifier: Apache-2.0
//! The ClickHouse sink in `/metrics` and `/status`.

use super::encode::{counter, gauge, labelled};
use prometheus_client::encoding::DescriptorEncoder;
use serde::Serialize;
use std::fmt;
use tidemark_clickhouse::{Loss, SinkStats};

#[derive(Debug, Serialize)]
pub struct ClickHouseStatus {
    pub rows: u64,
    pub rows_inserted: u64,
    pub rows_lost: u64,
    pub spool_batches: u64,
    pub spool_bytes: u64,
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
            failure: s.failure(),
        }
    }
}

pub fn encode(e: &mut DescriptorEncoder<'_>, s: &SinkStats) -> Result<(), fmt::Error> {
    counter(
        e,
        "clickhouse_rows",
        "Rows handed to the ClickHouse sink",
        s.taken(),
    )?;
    counter(
        e,
        "clickhouse_rows_inserted",
        "Rows that ClickHouse has taken, those spooled by former starts included",
        s.inserted(),
    )?;
    labelled(
        e,
        "clickhouse_rows_lost",
        "Rows that will not reach ClickHouse",
        Loss::LABELS.into_iter().zip(s.lost_by_reason()),
    )?;
    counter(
        e,
        "clickhouse_rows_doubled",
        "Rows that ClickHouse holds more than once",
        s.doubled(),
    )?;
    counter(
        e,
        "clickhouse_batches",
        "Batches that ClickHouse has taken",
        s.batches(),
    )?;
    counter(
        e,
        "clickhouse_batches_found",
        "Batches that a repeated attempt found stored already",
        s.found(),
    )?;
    counter(
        e,
        "clickhouse_retries",
        "Failed attempts to insert a batch",
        s.retries(),
    )?;
    counter(
        e,
        "clickhouse_sent_bytes",
        "Bytes of batches sent, every attempt",
        s.sent_bytes(),
    )?;
    gauge(
        e,
        "clickhouse_spool_bytes",
        "Bytes of batches waiting on disk",
        s.spool_bytes() as f64,
    )?;
    gauge(
        e,
        "clickhouse_spool_batches",
        "Batches waiting on disk",
        s.spool_batches() as f64,
    )?;
    gauge(
        e,
        "clickhouse_failing",
        "1 while ClickHouse cannot be reached or refuses",
        f64::from(u8::from(s.failure().is_some())),
    )
}
