// SPDX-License-Identifier: Apache-2.0
//! The tables of the configuration file.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tcp_probe::perf::{Clock, Filter};

/// Storage of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CaptureConfig {
    /// Directory of the capture; none = nothing is stored.
    pub dir: Option<PathBuf>,
    /// Files are completed after this time: what a kill can lose at most.
    pub rotate_s: u32,
    /// Files are completed after so many rows of one table.
    pub rotate_rows: usize,
    /// Level of compression; higher is smaller and slower.
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
    /// Read them; needs tracefs and CAP_PERFMON.
    pub enabled: bool,
    /// Clock of the samples.
    pub clock: Clock,
    /// Name of this host in clock mappings and captures.
    pub host: String,
    /// Ring buffer per CPU.
    pub ring_bytes: usize,
    /// Read segments sent again, too.
    pub retransmits: bool,
    /// Read changes of the congestion state, too.
    pub cong_states: bool,
    /// Connections to read; all where it is empty.
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

/// tcp_probe of other hosts (`tidemark-collector agent`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsConfig {
    /// Take events of agents on the gRPC address: anyone who may call there can send.
    pub accept: bool,
}

/// Bounds and times of the pipeline; see [`tidemark_pipeline::Config`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PipelineConfig {
    /// Length of interval records.
    pub interval_ms: u32,
    /// How much later than younger ones a report may come.
    pub reorder_ms: u32,
    /// Interval records are handed on at least this much switch time at once.
    pub publish_ms: u32,
    /// Longest wait of a packet for its sample: exceed the RTTs.
    pub join_wait_ms: u32,
    /// Samples wait so long for the packets they acknowledge.
    pub probe_hold_ms: u32,
    /// Most flows remembered.
    pub max_flows: usize,
    /// Most memory for what all flows together remember of their segments.
    pub max_segment_memory_bytes: usize,
    /// Most packets waiting for their sample.
    pub max_pending: usize,
    /// A time further from the one before is believed once several agree.
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
