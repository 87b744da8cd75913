// SPDX-License-Identifier: Apache-2.0
//! The outcome of an import.

use crate::status::{ClockReport, JoinStatus, ReportStatus};
use serde::Serialize;
use std::path::PathBuf;
use tidemark_pipeline::Stats;

/// The outcome; `--json` prints it.
#[derive(Debug, Serialize)]
pub struct ImportReport {
    pub out: PathBuf,
    pub reports: ReportStatus,
    pub tcp_probe: TraceReport,
    pub join: JoinStatus,
    pub clocks: Vec<ClockReport>,
    pub flows: u64,
    pub capture: CaptureReport,
    /// Every counter of the pipeline.
    pub pipeline: Stats,
}

#[derive(Debug, Default, Serialize)]
pub struct TraceReport {
    pub lines: u64,
    pub events: u64,
    pub samples: u64,
    pub malformed: u64,
    /// Events the trace says were overwritten before they were read.
    pub lost: u64,
}

#[derive(Debug, Serialize)]
pub struct CaptureReport {
    pub rows: u64,
    pub rows_lost: u64,
    /// Frames of the pcap that are no report datagrams.
    pub other_frames: u64,
    /// The pcap ends within a frame.
    pub pcap_truncated: bool,
}
