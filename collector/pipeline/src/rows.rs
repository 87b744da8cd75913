// SPDX-License-Identifier: Apache-2.0
//! What the pipeline hands to a store: joined packets, aligned samples,
//! events. Pushed through [`crate::Aggregator`] in ascending `order`, the rows
//! give the interval records again.

use tidemark_proto::telemetry::{CollectorStatus, Update};

pub use tidemark_rows::{Event, EventRow, FlowRow, Join, PostcardRow, ProbeRow};

/// Takes what the pipeline produces.
pub trait Sink {
    fn postcard(&mut self, row: &PostcardRow);
    fn probe(&mut self, row: &ProbeRow);
    fn event(&mut self, row: &EventRow);
    fn update(&mut self, update: Update);
    /// Adds what only the sink's owner knows (datagrams, kernel drops, ...).
    fn status(&mut self, _status: &mut CollectorStatus) {}
}

/// Collects everything; for tests and small imports.
#[derive(Debug, Default)]
pub struct VecSink {
    pub postcards: Vec<PostcardRow>,
    pub probes: Vec<ProbeRow>,
    pub events: Vec<EventRow>,
    pub updates: Vec<Update>,
}

impl Sink for VecSink {
    fn postcard(&mut self, row: &PostcardRow) {
        self.postcards.push(*row);
    }
    fn probe(&mut self, row: &ProbeRow) {
        self.probes.push(*row);
    }
    fn event(&mut self, row: &EventRow) {
        self.events.push(row.clone());
    }
    fn update(&mut self, update: Update) {
        self.updates.push(update);
    }
}
