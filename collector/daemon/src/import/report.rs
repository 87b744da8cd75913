// SPDX-License-Identifier: Apache-2.0
//! The outcome of an import.

use crate::account::{FrameAccount, RowAccount};
use crate::status::{ClockReport, JoinStatus, ReportStatus};
use serde::Serialize;
use std::path::PathBuf;
use tidemark_pipeline::Stats;

/// The outcome; `--json` prints it.
#[derive(Debug, Serialize)]
pub struct ImportReport {
    /// Directory of the capture.
    pub out: PathBuf,
    /// Frames of the pcap and what became of them.
    pub frames: FrameAccount,
    /// Reports and what became of them.
    pub reports: ReportStatus,
    /// Rows of packets, and why a report has none.
    pub packets: RowAccount,
    /// The text trace.
    pub tcp_probe: TraceReport,
    /// Packets matched with the state of their sender.
    pub join: JoinStatus,
    /// Clocks of nodes and of the trace.
    pub clocks: Vec<ClockReport>,
    /// Flows seen in reports.
    pub flows: u64,
    /// What was stored.
    pub capture: CaptureReport,
    /// Every counter of the pipeline.
    pub pipeline: Stats,
}

/// What a text trace held.
#[derive(Debug, Default, Serialize)]
pub struct TraceReport {
    /// Lines read.
    pub lines: u64,
    /// Events among them.
    pub events: u64,
    /// Of the events, samples of tcp_probe.
    pub samples: u64,
    /// Lines that could not be read.
    pub malformed: u64,
    /// Events the trace says were overwritten before they were read.
    pub lost: u64,
}

/// What an import stored.
#[derive(Debug, Serialize)]
pub struct CaptureReport {
    /// Rows in complete files on disk.
    pub rows: u64,
    /// Rows that could not be written.
    pub rows_lost: u64,
    /// The pcap ends within a frame.
    pub pcap_truncated: bool,
}
