// SPDX-License-Identifier: Apache-2.0
//! Telemetry as columns of equal length.

use serde::{Deserialize, Serialize};
use tidemark_estimators::OccupancyDistribution;

/// Occupancy, delay, loss and utilisation over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Series {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Length of a step.
    pub step_ns: u64,
    /// Start of each step.
    pub time_ns: Vec<u64>,
    /// Median occupancy met by arrivals, bytes.
    pub occupancy_p50_bytes: Vec<f64>,
    /// Its 99th percentile, bytes.
    pub occupancy_p99_bytes: Vec<f64>,
    /// The largest, bytes.
    pub occupancy_max_bytes: Vec<u64>,
    /// Median queueing delay, ms.
    pub delay_p50_ms: Vec<f64>,
    /// Its 99th percentile, ms.
    pub delay_p99_ms: Vec<f64>,
    /// The largest, ms.
    pub delay_max_ms: Vec<f64>,
    /// Bytes that left over capacity; null without a capacity.
    pub utilisation: Vec<Option<f64>>,
    /// Packets that left.
    pub packets: Vec<u64>,
    /// Packets that arrived.
    pub arrivals: Vec<u64>,
    /// Packets dropped.
    pub drops: Vec<u64>,
    /// Packets marked CE.
    pub ce_marked: Vec<u64>,
    /// Limit in force, bytes; null when unlimited or not reported.
    pub limit_bytes: Vec<Option<u64>>,
    /// Reports lost on the way to the collector.
    pub reports_lost: Vec<u64>,
}

/// Occupancy met by arrivals at one limit, as bins that hold at least one
/// arrival. A bin is `[low, high)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// The distribution.
    #[serde(flatten)]
    pub occupancy: OccupancyDistribution,
}

/// Single packets from the collector's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Packets {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Start of the span asked for.
    pub from_ns: u64,
    /// End of the span asked for, exclusive.
    pub to_ns: u64,
    /// Arrival at the switch.
    pub ingress_ns: Vec<u64>,
    /// Departure; 0 for a packet dropped.
    pub egress_ns: Vec<u64>,
    /// Occupancy that it met, bytes.
    pub occupancy_bytes: Vec<u64>,
    /// Flow id given by the collector.
    pub flow_id: Vec<u64>,
    /// Whether it was dropped.
    pub dropped: Vec<bool>,
    /// Length of the IP packet.
    pub ip_bytes: Vec<u32>,
    /// The sender's congestion window, segments; 0 where not known.
    pub cwnd: Vec<u32>,
    /// The span holds more packets than were asked for.
    pub truncated: bool,
}
