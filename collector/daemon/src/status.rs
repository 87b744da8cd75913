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
    /// Datagrams whose exporter does not number them: their loss cannot be told.
    pub unnumbered: u64,
    /// Of those received, reports whose packet carries the metadata of its hops (INT-MD).
    pub of_hops: u64,
    /// Nodes seen in this metadata alone: nobody knows their drops.
    pub nodes_of_hops_alone: Vec<u32>,
    /// Datagrams that came after a higher number.
    pub late: u64,
    /// Reports of datagrams seen before.
    pub duplicate: u64,
    /// Datagrams that could not be decoded to their end.
    pub malformed: u64,
    /// Reports of unknown nodes, from unknown exporters, and of nodes with a key
    /// those without its tag, or sent again.
    pub refused: u64,
    /// Datagrams that found the socket's buffer full.
    pub kernel_drops: u64,
}

impl ReportStatus {
    /// From the counters of an engine.
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
    /// Of them, matched.
    pub matched: u64,
    /// Of them, by sequence number.
    pub by_sequence: u64,
    /// Of them, by time.
    pub by_time: u64,
    /// Matched part of the candidates; none where there are none.
    pub matched_fraction: Option<f64>,
    /// Packets that wait for their sample.
    pub waiting: u64,
}

impl JoinStatus {
    /// From the counters of a pipeline.
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

/// A clock mapping, also in words that need no formula.
#[derive(Clone, Debug, Serialize)]
pub struct ClockReport {
    /// As `capture.json` has it.
    #[serde(flatten)]
    pub mapping: ClockMapping,
    /// Node clock less host clock at the reference time.
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
