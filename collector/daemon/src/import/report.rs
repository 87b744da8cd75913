// SPDX-License-Identifier: Apache-2.0
//! The outcome of an import.

use crate::account::{FrameAccount, RowAccount, SampleAccount};
use crate::status::{ClockReport, JoinStatus, ReportStatus};
use daemon_kit::cli::NothingRead;
use serde::Serialize;
use std::fmt;
use std::path::PathBuf;
use tidemark_pipeline::Stats;

/// Outcome of an import, which `--json` prints.
#[derive(Debug, Serialize)]
pub struct ImportReport {
    /// Directory of the capture.
    pub out: PathBuf,
    /// Frames of the pcap and what became of them.
    pub frames: FrameAccount,
    /// Reports and what became of them.
    pub reports: ReportStatus,
    /// Rows of packets, and why reports have no row.
    pub packets: RowAccount,
    /// Contents of the text traces.
    pub tcp_probe: TraceReport,
    /// Samples of the traces, and why samples have no row.
    pub samples: SampleAccount,
    /// Packets matched with the state of their sender.
    pub join: JoinStatus,
    /// Clocks of nodes and of the traces.
    pub clocks: Vec<ClockReport>,
    /// Flows seen in reports.
    pub flows: u64,
    /// Rows stored.
    pub capture: CaptureReport,
    /// Every counter of the pipeline.
    pub pipeline: Stats,
}

impl ImportReport {
    /// Checks that every input gave something.
    ///
    /// # Errors
    /// An input gave nothing; the message has its account.
    pub fn something(&self) -> Result<(), NothingRead> {
        self.frames.something()?;
        let t = &self.tcp_probe;
        if !t.hosts.is_empty() && t.samples == 0 {
            return Err(NothingRead::new(format!("no sample was read: {t}")));
        }
        Ok(())
    }
}

/// Contents of the text traces.
#[derive(Debug, Default, Serialize)]
pub struct TraceReport {
    /// Lines read.
    pub lines: u64,
    /// Events among the lines.
    pub events: u64,
    /// Events that are samples of tcp_probe.
    pub samples: u64,
    /// Lines that could not be read.
    pub malformed: u64,
    /// Other lines, such as other events and comments.
    pub other: u64,
    /// Minimum number of events overwritten before they were read, according to the trace.
    pub lost: u64,
    /// Events that stood after an event with a later time, and were sorted.
    pub out_of_order: u64,
    /// Samples and clock of each host.
    pub hosts: Vec<HostReport>,
}

impl TraceReport {
    pub(super) fn add(&mut self, part: &Self) {
        self.lines += part.lines;
        self.events += part.events;
        self.samples += part.samples;
        self.malformed += part.malformed;
        self.other += part.other;
        self.lost += part.lost;
        self.out_of_order += part.out_of_order;
    }
}

impl fmt::Display for TraceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = self.events.saturating_sub(self.samples);
        write!(f, "{} lines: {} samples", self.lines, self.samples)?;
        let parts = [
            (others, "other events of TCP"),
            (self.malformed, "malformed"),
            (self.other, "of anything else"),
        ];
        let parts = parts.iter().filter(|(n, _)| *n > 0);
        let parts: Vec<String> = parts.map(|(n, words)| format!("{n} {words}")).collect();
        match parts.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", parts.join(", ")),
        }
    }
}

/// One host's trace.
#[derive(Debug, Serialize)]
pub struct HostReport {
    /// Name of the host.
    pub host: String,
    /// Samples of the host.
    pub samples: u64,
    /// Estimate of how far the host's clock is ahead of the pcap's, in seconds; null if no sample
    /// matches a report.
    pub ahead_s: Option<f64>,
}

/// Rows that an import stored.
#[derive(Debug, Serialize)]
pub struct CaptureReport {
    /// Rows in complete files on disk.
    pub rows: u64,
    /// Rows that could not be written.
    pub rows_lost: u64,
    /// Whether the pcap ends within a frame.
    pub pcap_truncated: bool,
}
