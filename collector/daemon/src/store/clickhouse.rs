// SPDX-License-Identifier: Apache-2.0
//! Sink that sends rows to ClickHouse.

use crate::engine::RowSink;
use tidemark_clickhouse::ClickHouseSink;
use tidemark_pipeline::{EventRow, PostcardRow, ProbeRow};

impl RowSink for ClickHouseSink {
    fn rows(&mut self, postcards: &[PostcardRow], probes: &[ProbeRow]) {
        postcards.iter().for_each(|row| self.postcard(row));
        probes.iter().for_each(|row| self.probe(row));
    }

    fn event(&mut self, row: &EventRow) {
        ClickHouseSink::event(self, row);
    }

    fn flush(&mut self) {
        ClickHouseSink::flush(self);
    }

    fn set_unix_offset(&mut self, unix_minus_rx_ns: i64) {
        ClickHouseSink::set_unix_offset(self, unix_minus_rx_ns);
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        // Batches that the server has not taken stay in the spool for the next start.
        ClickHouseSink::finish(*self);
        Ok(())
    }
}
