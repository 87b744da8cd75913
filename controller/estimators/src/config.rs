// SPDX-License-Identifier: Apache-2.0
//! Bounds and thresholds of the estimator.

use serde::{Deserialize, Serialize};

/// Limits on what is kept, and thresholds of the classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EstimatorConfig {
    /// Interval records, drops and events older than this are dropped, s.
    pub retention_s: f64,
    /// How far before the window a flow's records can affect its class, s.
    pub history_s: f64,
    /// Age at which a reduction counts 1/e of a fresh one for the class, s.
    pub memory_s: f64,
    /// Link intervals kept per link.
    pub max_link_intervals: usize,
    /// Flow intervals kept over all flows of a link.
    pub max_flow_intervals: usize,
    /// Link intervals kept over all links.
    pub max_all_link_intervals: usize,
    /// Flow intervals kept over all flows of all links.
    pub max_all_flow_intervals: usize,
    /// Drops kept per link.
    pub max_drops: usize,
    /// Flows kept over all links. Beyond that, short flows that have been silent longest go first.
    pub max_flows: usize,
    /// Flows listed in an estimate; counts include all flows.
    pub max_listed_flows: usize,
    /// Events (retransmissions, state changes) kept over all flows.
    pub max_events: usize,
    /// A flow of at most this many packets in total is SHORT.
    pub short_packets: u64,
    /// A fall of the window or rate to this part of its recent level is a significant reduction.
    pub reduction_ratio: f64,
    /// RTT assumed for a flow whose RTT is unknown, ms.
    pub default_rtt_ms: f64,
}

impl Default for EstimatorConfig {
    fn default() -> Self {
        Self {
            retention_s: 120.0,
            history_s: 60.0,
            memory_s: 30.0,
            max_link_intervals: 200_000,
            max_flow_intervals: 500_000,
            max_all_link_intervals: 2_000_000,
            max_all_flow_intervals: 5_000_000,
            max_drops: 500_000,
            max_flows: 65_536,
            max_listed_flows: 10_000,
            max_events: 500_000,
            short_packets: 100,
            reduction_ratio: 0.8,
            default_rtt_ms: 100.0,
        }
    }
}
