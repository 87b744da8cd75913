// SPDX-License-Identifier: Apache-2.0
//! Rows that the pipeline hands to a store: joined packets, aligned samples, events. Pushed through
//! [`crate::Aggregator`] in ascending `order`, the rows give the same interval records.

use tidemark_proto::telemetry::{CollectorStatus, Update};

pub use tidemark_rows::{
    Absent, Event, EventRow, FlowRow, HostMoment, Join, PostcardRow, ProbeRow,
};

/// Receives the output of the pipeline, in ascending `order` over all rows.
pub trait Sink {
    /// Takes a reported packet.
    fn postcard(&mut self, row: &PostcardRow);
    /// Takes a tcp_probe sample.
    fn probe(&mut self, row: &ProbeRow);
    /// Takes an event.
    fn event(&mut self, row: &EventRow);
    /// Takes interval records and the status.
    fn update(&mut self, update: Update);
    /// Adds values that only the sink's owner knows (datagrams, kernel drops, ...).
    fn status(&mut self, _status: &mut CollectorStatus) {}
}

/// A sink that collects everything; for tests and small imports.
#[derive(Debug, Default)]
pub struct VecSink {
    /// Reported packets.
    pub postcards: Vec<PostcardRow>,
    /// tcp_probe samples.
    pub probes: Vec<ProbeRow>,
    /// Events.
    pub events: Vec<EventRow>,
    /// Interval records and status.
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
