// SPDX-License-Identifier: Apache-2.0
//! A sink for rows. A new sink needs a file in `store/` and one line where the daemon makes its
//! list (`run.rs`).

use tidemark_capture::Reception;
use tidemark_pipeline::{EventRow, PostcardRow, ProbeRow, Stats};
use tidemark_proto::telemetry::{ClockMapping, CollectorStatus};

/// Takes the rows of the engine. Rows come in batches: a call costs little compared with the work
/// on its rows.
pub trait RowSink: Send {
    /// Takes packets and samples, each in ascending `order`, and all with a higher `order` than
    /// earlier rows.
    fn rows(&mut self, postcards: &[PostcardRow], probes: &[ProbeRow]);

    /// Takes an event. All rows with a lower `order` have come before it.
    fn event(&mut self, _row: &EventRow) {}

    /// Passes on the buffered rows; called several times a second.
    fn flush(&mut self) {}

    /// Sets the offset of Unix time minus the clock of reception times, in ns.
    fn set_unix_offset(&mut self, _unix_minus_rx_ns: i64) {}

    /// Takes the facts about the capture as a whole; called every few seconds and at the end.
    fn standing(&mut self, _standing: &Standing) {}

    /// Adds the sink's counters to the status that subscribers see.
    fn status(&self, _status: &mut CollectorStatus) {}

    /// Completes all output.
    ///
    /// # Errors
    /// If the output could not be completed.
    fn finish(self: Box<Self>) -> anyhow::Result<()> {
        Ok(())
    }
}

/// Facts about a capture as a whole.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// Clock mappings as last computed.
    pub clocks: Vec<ClockMapping>,
    /// Totals of the pipeline.
    pub stats: Stats,
    /// Nodes whose drops are unknown.
    pub nodes_of_hops_alone: Vec<u32>,
    /// Counts of reception, before the pipeline.
    pub reception: Reception,
}

/// Completes every sink, even after one has failed.
///
/// # Errors
/// The first of the sinks' errors.
pub(crate) fn finish_all(sinks: Vec<Box<dyn RowSink>>) -> anyhow::Result<()> {
    let mut result = Ok(());
    for sink in sinks {
        let finished = sink.finish();
        if result.is_ok() {
            result = finished;
        }
    }
    result
}
