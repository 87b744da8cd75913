// SPDX-License-Identifier: Apache-2.0
//! `capture.json`: the configuration and program with which the rows were made.

use crate::error::CaptureError;
use durable_fs::Disk;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::Path;
use tidemark_pipeline::{Config, Stats, proto_nodes};
use tidemark_proto::telemetry::{ClockMapping, CollectorInfo};

/// Version of the format, raised when rows or files change their meaning.
pub const FORMAT: u32 = 1;
/// Name of the file in the capture's directory.
pub(crate) const FILE: &str = "capture.json";

/// The contents of `capture.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaptureMeta {
    /// [`FORMAT`] of the program that wrote it.
    pub format: u32,
    /// Version of the program that wrote it.
    pub tidemark_version: String,
    /// Random identifier of the start of the program.
    pub instance: String,
    /// `uname` output of the machine.
    pub kernel: String,
    /// Start of the capture, Unix time.
    pub started_unix_ns: i64,
    /// End of the capture, Unix time; absent while it is being written or if the writer was killed.
    pub ended_unix_ns: Option<i64>,
    /// The pipeline's configuration: nodes, units, intervals.
    pub config: Config,
    /// Last known mappings between clocks.
    pub clocks: Vec<ClockMapping>,
    /// Counters of the pipeline at its end; absent while the capture is being written.
    pub stats: Option<Stats>,
    /// Nodes seen only in the metadata of packets (INT-MD), so that their drops are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_of_hops_alone: Vec<u32>,
    /// Counts of the stages before the pipeline; absent if they were not counted, and in
    /// captures older than this field.
    #[serde(default)]
    pub reception: Option<Reception>,
    /// Rows that the writer could not take in time or could not write.
    pub rows_lost: u64,
    /// Whether rows of nodes that are not in `config` were left out.
    #[serde(default)]
    pub known_nodes_only: bool,
}

/// A collector's counts of the stages before its pipeline.
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
    /// Returns the telemetry contract's description of the collector.
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
    /// The directory holds no capture, or a capture of another format.
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

    /// Replaces the file atomically, so that it is never half written.
    ///
    /// # Errors
    /// The directory cannot be written.
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
