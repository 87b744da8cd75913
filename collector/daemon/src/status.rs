// SPDX-License-Identifier: Apache-2.0
//! Parts of the answers that the daemon (`/status`) and an import (`--json`)
//! share.

use crate::engine::Snapshot;
use serde::Serialize;
use tidemark_pipeline::Stats;
use tidemark_proto::telemetry::ClockMapping;

/// Reports and what became of them.
#[derive(Debug, Serialize)]
pub struct ReportStatus {
    /// UDP datagrams received.
    pub datagrams: u64,
    /// Individual reports decoded.
    pub received: u64,
    /// Datagrams missing by sequence number.
    pub lost: u64,
    /// Datagrams whose exporter does not number them, so that their loss is unknown.
    pub unnumbered: u64,
    /// Received reports whose packet carries the metadata of its hops (INT-MD).
    pub of_hops: u64,
    /// Nodes seen only in this metadata, so that their drops are unknown.
    pub nodes_of_hops_alone: Vec<u32>,
    /// Datagrams that arrived after a datagram with a higher number.
    pub late: u64,
    /// Reports of datagrams seen before.
    pub duplicate: u64,
    /// Datagrams that could not be decoded to their end.
    pub malformed: u64,
    /// Reports of unknown nodes, from unknown exporters, and, of nodes with a key, reports without
    /// its tag or sent again.
    pub refused: u64,
    /// Datagrams dropped because the socket's buffer was full.
    pub kernel_drops: u64,
}

impl ReportStatus {
    /// Builds the status from an engine's counters.
    pub fn new(s: &Snapshot, kernel_drops: u64) -> Self {
        Self {
            datagrams: s.datagrams,
            received: s.stats.reports,
            lost: s.stats.reports_lost,
            unnumbered: s.stats.reports_unnumbered,
            of_hops: s.stats.reports_of_hops(),
            nodes_of_hops_alone: s.nodes_of_hops_alone.clone(),
            late: s.stats.reports_late,
            duplicate: s.stats.reports_duplicate,
            malformed: s.malformed_total(),
            refused: s.stats.reports_refused(),
            kernel_drops,
        }
    }
}

/// How many packets were matched with the state of their sender.
#[derive(Debug, Serialize)]
pub struct JoinStatus {
    /// Data packets of probed flows.
    pub candidates: u64,
    /// Candidates that were matched.
    pub matched: u64,
    /// Candidates matched by sequence number.
    pub by_sequence: u64,
    /// Candidates matched by time.
    pub by_time: u64,
    /// Fraction of the candidates that were matched; `None` without candidates.
    pub matched_fraction: Option<f64>,
    /// Packets that wait for their sample.
    pub waiting: u64,
}

impl JoinStatus {
    /// Builds the status from a pipeline's counters.
    pub fn new(s: &Stats, waiting: u64) -> Self {
        Self {
            candidates: s.join_candidates,
            matched: s.join_matched(),
            by_sequence: s.join_by_sequence,
            by_time: s.join_by_time,
            matched_fraction: s.matched_fraction(),
            waiting,
        }
    }
}

/// A clock mapping, also in numbers that need no formula.
#[derive(Clone, Debug, Serialize)]
pub struct ClockReport {
    /// The mapping as in `capture.json`.
    #[serde(flatten)]
    pub mapping: ClockMapping,
    /// Node clock minus host clock at the reference time.
    pub node_minus_host_s: f64,
    /// By how much the node's clock runs faster than the host's.
    pub node_drift_ppm: f64,
}

impl From<&ClockMapping> for ClockReport {
    fn from(c: &ClockMapping) -> Self {
        Self {
            mapping: c.clone(),
            node_minus_host_s: -(c.offset_ns as f64) / 1e9,
            node_drift_ppm: (1.0 / (1.0 + c.drift_ppb / 1e9) - 1.0) * 1e6,
        }
    }
}
