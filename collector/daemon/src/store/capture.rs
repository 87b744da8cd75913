// SPDX-License-Identifier: Apache-2.0
//! Sink that writes rows to a Parquet capture.

use crate::engine::{RowSink, Standing};
use crate::time::unix_ns;
use anyhow::Context;
use tidemark_capture::CaptureWriter;
use tidemark_pipeline::{EventRow, PostcardRow, ProbeRow};
use tidemark_proto::telemetry::CollectorStatus;

/// Writes a capture and keeps its `capture.json` current.
pub struct CaptureSink(pub CaptureWriter);

impl RowSink for CaptureSink {
    fn rows(&mut self, postcards: &[PostcardRow], probes: &[ProbeRow]) {
        postcards.iter().for_each(|row| self.0.postcard(row));
        probes.iter().for_each(|row| self.0.probe(row));
    }

    fn event(&mut self, row: &EventRow) {
        self.0.event(row);
    }

    fn flush(&mut self) {
        self.0.flush();
    }

    fn standing(&mut self, standing: &Standing) {
        let lost = self.0.stats().lost();
        let meta = self.0.meta_mut();
        meta.clocks = standing.clocks.clone();
        meta.stats = Some(standing.stats.clone());
        meta.nodes_of_hops_alone
            .clone_from(&standing.nodes_of_hops_alone);
        meta.reception = Some(standing.reception);
        meta.rows_lost = lost;
        self.0.write_meta();
    }

    fn status(&self, status: &mut CollectorStatus) {
        let stats = self.0.stats();
        status.capture_rows = stats.written();
        status.capture_rows_lost = stats.lost();
    }

    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        self.0.finish(unix_ns()).context("capture")?;
        Ok(())
    }
}
