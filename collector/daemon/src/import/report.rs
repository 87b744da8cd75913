// SPDX-License-Identifier: Apache-2.0
//! What an import tells.

use crate::http::{JoinStatus, ReportStatus};
use serde::Serialize;
use std::path::PathBuf;
use tidemark_pipeline::Stats;
use tidemark_proto::telemetry::ClockMapping;

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

/// A clock mapping, as `ClockMapping` and in words that need no formula.
#[derive(Clone, Debug, Serialize)]
pub struct ClockReport {
    pub node_id: u32,
    pub host: String,
    /// `host = node + offset + (node - reference) * drift`.
    pub offset_ns: i64,
    pub drift_ppb: f64,
    pub reference_ns: u64,
    pub matched_pairs: u64,
    /// Node clock less host clock at the reference time.
    pub node_minus_host_s: f64,
    /// By how much the node's clock runs faster than the host's.
    pub node_drift_ppm: f64,
}

impl From<&ClockMapping> for ClockReport {
    fn from(c: &ClockMapping) -> Self {
        Self {
            node_id: c.node_id,
            host: c.host.clone(),
            offset_ns: c.offset_ns,
            drift_ppb: c.drift_ppb,
            reference_ns: c.reference_ns,
            matched_pairs: c.matched_pairs,
            node_minus_host_s: -(c.offset_ns as f64) / 1e9,
            node_drift_ppm: (1.0 / (1.0 + c.drift_ppb / 1e9) - 1.0) * 1e6,
        }
    }
}
