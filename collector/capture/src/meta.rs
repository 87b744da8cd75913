// SPDX-License-Identifier: Apache-2.0
//! `capture.json`: what the rows were made with.

use crate::error::CaptureError;
use durable_fs::Disk;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::Path;
use tidemark_pipeline::{Config, Stats, proto_nodes};
use tidemark_proto::telemetry::{ClockMapping, CollectorInfo};

/// Raised when rows or files change their meaning.
pub const FORMAT: u32 = 1;
/// Its name in the directory.
pub(crate) const FILE: &str = "capture.json";

/// The contents of `capture.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaptureMeta {
    /// [`FORMAT`] of the program that wrote it.
    pub format: u32,
    /// Version of the program that wrote it.
    pub tidemark_version: String,
    /// Random per start of the program.
    pub instance: String,
    /// `uname` of the machine.
    pub kernel: String,
    /// Start of the capture, Unix time.
    pub started_unix_ns: i64,
    /// Absent while it is being written, and when the writer was killed.
    pub ended_unix_ns: Option<i64>,
    /// The pipeline's configuration: nodes, units, intervals.
    pub config: Config,
    /// Mappings between clocks, as last known.
    pub clocks: Vec<ClockMapping>,
    /// Counters of the pipeline at its end; absent while it is being written.
    pub stats: Option<Stats>,
    /// Nodes seen in the metadata of packets alone (INT-MD): their drops are not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_of_hops_alone: Vec<u32>,
    /// Counts from before the pipeline; absent where nobody counted, and in captures of
    /// before they were kept.
    #[serde(default)]
    pub reception: Option<Reception>,
    /// Rows that the writer could not take in time, or not write.
    pub rows_lost: u64,
    /// Rows of other nodes than those of `config` were left out.
    #[serde(default)]
    pub known_nodes_only: bool,
}

/// Counts of a collector from before its pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reception {
    /// Datagrams received.
    pub datagrams: u64,
    /// Datagrams that are not valid reports.
    pub malformed: u64,
    /// Datagrams that the kernel dropped because the socket was full.
    pub kernel_drops: u64,
    /// tcp_probe samples lost.
    pub probe_lost: u64,
}

impl CaptureMeta {
    /// As the telemetry contract describes a collector.
    pub fn info(&self, dir: &Path) -> CollectorInfo {
        CollectorInfo {
            version: self.tidemark_version.clone(),
            instance: self.instance.clone(),
            interval_ms: self.config.interval_ms,
            nodes: proto_nodes(&self.config.nodes),
            capture_dir: dir.display().to_string(),
        }
    }

    /// # Errors
    /// When the directory holds no capture, or one of another format.
    pub fn read(dir: &Path) -> Result<Self, CaptureError> {
        let path = dir.join(FILE);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(CaptureError::NoCapture {
                    path: dir.to_path_buf(),
                    below: Vec::new(),
                });
            }
            Err(e) => return Err(CaptureError::io(path)(e)),
        };
        let json = |source| CaptureError::Json {
            path: path.clone(),
            source,
        };
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(json)?;
        let found = value["format"].as_u64().unwrap_or(0) as u32;
        if found != FORMAT {
            return Err(CaptureError::Format {
                path,
                found,
                known: FORMAT,
            });
        }
        serde_json::from_value(value).map_err(json)
    }

    /// Replaces the file at once, so that it is never half written.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn write_on(&self, disk: &dyn Disk, dir: &Path) -> Result<(), CaptureError> {
        let path = dir.join(FILE);
        let temporary = dir.join(".capture.json.open");
        let mut text = serde_json::to_vec_pretty(self).map_err(|source| CaptureError::Json {
            path: path.clone(),
            source,
        })?;
        text.push(b'\n');
        let io = || CaptureError::io(&temporary);
        let mut file = disk.create(&temporary).map_err(io())?;
        file.write_all(&text).map_err(io())?;
        file.sync().map_err(io())?;
        disk.rename(&temporary, &path)
            .map_err(CaptureError::io(path))?;
        disk.sync_directory(dir).map_err(CaptureError::io(dir))
    }
}
