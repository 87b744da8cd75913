// SPDX-License-Identifier: Apache-2.0
//! Where the engine's results go.

use crate::hub::Hub;
use crate::packets::{PacketMemory, Remembered};
use crate::source::SourceCounters;
use int_report::DecodeError;
use std::sync::Arc;
use tidemark_capture::{CaptureWriter, WriterStats};
use tidemark_clickhouse::ClickHouseSink;
use tidemark_pipeline::{EventRow, PostcardRow, ProbeRow, Sink};
use tidemark_proto::telemetry::{CollectorStatus, Update};

/// Packets put into the packet memory at once: few enough to stay in the cache.
const GATHER: usize = 1024;

/// Where rows and updates go.
pub struct EngineSink {
    pub capture: Option<CaptureWriter>,
    pub clickhouse: Option<ClickHouseSink>,
    pub hub: Arc<Hub>,
    pub packets: Arc<PacketMemory>,
    pub counters: Arc<SourceCounters>,
    gathered: Vec<Remembered>,
    pub(super) datagrams: u64,
    pub(super) malformed: [u64; DecodeError::LABELS.len()],
}

impl EngineSink {
    pub fn new(
        capture: Option<CaptureWriter>,
        hub: Arc<Hub>,
        packets: Arc<PacketMemory>,
        counters: Arc<SourceCounters>,
    ) -> Self {
        Self {
            capture,
            clickhouse: None,
            hub,
            packets,
            counters,
            gathered: Vec::new(),
            datagrams: 0,
            malformed: [0; DecodeError::LABELS.len()],
        }
    }

    fn capture_stats(&self) -> Option<WriterStats> {
        self.capture.as_ref().map(CaptureWriter::stats)
    }

    /// Hands on what has gathered.
    pub fn flush(&mut self) {
        if !self.gathered.is_empty() {
            self.packets.add(&self.gathered);
            self.gathered.clear();
        }
        if let Some(c) = &mut self.capture {
            c.flush();
        }
        if let Some(c) = &mut self.clickhouse {
            c.flush();
        }
    }
}

impl Sink for EngineSink {
    fn postcard(&mut self, row: &PostcardRow) {
        self.gathered.push(row.into());
        if self.gathered.len() >= GATHER {
            self.packets.add(&self.gathered);
            self.gathered.clear();
        }
        if let Some(c) = &mut self.capture {
            c.postcard(row);
        }
        if let Some(c) = &mut self.clickhouse {
            c.postcard(row);
        }
    }

    fn probe(&mut self, row: &ProbeRow) {
        if let Some(c) = &mut self.capture {
            c.probe(row);
        }
        if let Some(c) = &mut self.clickhouse {
            c.probe(row);
        }
    }

    fn event(&mut self, row: &EventRow) {
        if let Some(c) = &mut self.capture {
            c.event(row);
        }
        if let Some(c) = &mut self.clickhouse {
            c.event(row);
        }
    }

    fn update(&mut self, update: Update) {
        self.hub.publish(&update);
    }

    fn status(&mut self, status: &mut CollectorStatus) {
        status.datagrams_received = self.datagrams;
        status.datagrams_malformed = self.malformed.iter().sum();
        status.kernel_drops = self.counters.kernel_drops();
        status.probe_lost = self.counters.probe_lost();
        if let Some(s) = self.capture_stats() {
            status.capture_rows = s.written();
            status.capture_rows_lost = s.lost();
        }
    }
}
