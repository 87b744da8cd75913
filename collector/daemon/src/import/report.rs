// SPDX-License-Identifier: Apache-2.0
//! The outcome of an import.

use crate::account::{FrameAccount, RowAccount, SampleAccount};
use crate::status::{ClockReport, JoinStatus, ReportStatus};
use daemon_kit::cli::NothingRead;
use serde::Serialize;
use std::fmt;
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
    /// The text traces.
    pub tcp_probe: TraceReport,
    /// Samples in them, and why one has no row.
    pub samples: SampleAccount,
    /// Packets matched with the state of their sender.
    pub join: JoinStatus,
    /// Clocks of nodes and of the trace.
    pub clocks: Vec<ClockReport>,
    /// Flows seen in reports.
    pub flows: u64,
    /// Rows stored.
    pub capture: CaptureReport,
    /// Every counter of the pipeline.
    pub pipeline: Stats,
}

impl ImportReport {
    /// `Err` where an input gave nothing at all.
    ///
    /// # Errors
    /// With its account.
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
    /// Events among them.
    pub events: u64,
    /// Of the events, samples of tcp_probe.
    pub samples: u64,
    /// Lines that could not be read.
    pub malformed: u64,
    /// Lines of other events, comments and the like.
    pub other: u64,
    /// Events the trace says were overwritten before they were read; at least.
    pub lost: u64,
    /// Events that stood after a later one; they were put in order.
    pub out_of_order: u64,
    /// Of each host.
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
    /// Its name.
    pub host: String,
    /// Its samples.
    pub samples: u64,
    /// By how much its clock was ahead of the pcap's when the two were put side by side, s;
    /// null where no sample fits a report.
    pub ahead_s: Option<f64>,
}

/// Rows that an import stored.
#[derive(Debug, Serialize)]
pub struct CaptureReport {
    /// Rows in complete files on disk.
    pub rows: u64,
    /// Rows that could not be written.
    pub rows_lost: u64,
    /// The pcap ends within a frame.
    pub pcap_truncated: bool,
}
