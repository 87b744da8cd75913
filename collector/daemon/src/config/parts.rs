// SPDX-License-Identifier: Apache-2.0
//! The tables of the configuration file.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tcp_probe::perf::{Clock, Filter};

/// Storage of rows in files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaptureConfig {
    /// Directory of the capture; if unset, nothing is stored.
    pub dir: Option<PathBuf>,
    /// Time after which files are completed, in seconds: the most that a kill can lose.
    pub rotate_s: u32,
    /// Number of rows of one table after which files are completed.
    pub rotate_rows: usize,
    /// Compression level (Zstandard); higher is smaller and slower.
    pub zstd_level: i32,
}

impl Default for CaptureConfig {
    fn default() -> Self {
        Self {
            dir: None,
            rotate_s: 5,
            rotate_rows: 4_000_000,
            zstd_level: 3,
        }
    }
}

/// The reader of this machine's TCP tracepoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProbeConfig {
    /// Whether to read the tracepoints; needs tracefs and CAP_PERFMON.
    pub enabled: bool,
    /// Clock of the samples.
    pub clock: Clock,
    /// Name of this host in clock mappings and captures.
    pub host: String,
    /// Size of the ring buffer per CPU, in bytes.
    pub ring_bytes: usize,
    /// Whether to also read retransmissions.
    pub retransmits: bool,
    /// Whether to also read changes of the congestion state.
    pub cong_states: bool,
    /// Connections to read; all if empty.
    pub filter: Filter,
}

impl Default for ProbeConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            clock: Clock::MonoRaw,
            host: "local".to_owned(),
            ring_bytes: 4 << 20,
            retransmits: true,
            cong_states: true,
            filter: Filter::default(),
        }
    }
}

/// Samples from agents on other hosts (`tidemark-collector agent`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsConfig {
    /// Whether to take agents' events on the gRPC address, from anyone who may call it.
    pub accept: bool,
}

/// Limits and times of the pipeline; see [`tidemark_pipeline::Config`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PipelineConfig {
    /// Length of interval records, in ms.
    pub interval_ms: u32,
    /// How much later than newer reports a report may arrive, in ms.
    pub reorder_ms: u32,
    /// Minimum switch time that interval records cover when they are published, in ms.
    pub publish_ms: u32,
    /// Longest wait of a packet for its sample, in ms; must exceed the RTTs.
    pub join_wait_ms: u32,
    /// How long a sample waits for the packets that it acknowledges, in ms.
    pub probe_hold_ms: u32,
    /// Maximum number of flows remembered.
    pub max_flows: usize,
    /// Maximum memory for the segments of all flows together, in bytes.
    pub max_segment_memory_bytes: usize,
    /// Maximum number of packets waiting for their sample.
    pub max_pending: usize,
    /// Clock step, in ms, beyond which a report's time is accepted only once several agree.
    pub max_clock_step_ms: u32,
}

impl Default for PipelineConfig {
    fn default() -> Self {
        let p = tidemark_pipeline::Config::default();
        Self {
            interval_ms: p.interval_ms,
            reorder_ms: p.reorder_ms,
            publish_ms: p.publish_ms,
            join_wait_ms: p.join_wait_ms,
            probe_hold_ms: p.probe_hold_ms,
            max_flows: p.max_flows,
            max_segment_memory_bytes: p.max_segment_memory_bytes,
            max_pending: p.max_pending,
            max_clock_step_ms: p.max_clock_step_ms,
        }
    }
}
