// SPDX-License-Identifier: Apache-2.0
//! Telemetry as columns of equal length.

use serde::{Deserialize, Serialize};
use tidemark_estimators::OccupancyDistribution;

/// Occupancy, delay, loss and utilisation over time. A step of which nothing is known has null in
/// every column of packets: there is no record of it, or the switch reported nothing at all, from
/// any port. An idle link has zeros.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Series {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Length of a step.
    pub step_ns: u64,
    /// Start of each step.
    pub time_ns: Vec<u64>,
    /// Median occupancy met by arrivals, bytes.
    pub occupancy_p50_bytes: Vec<Option<f64>>,
    /// 99th percentile of the occupancy, bytes.
    pub occupancy_p99_bytes: Vec<Option<f64>>,
    /// Largest occupancy, bytes.
    pub occupancy_max_bytes: Vec<Option<u64>>,
    /// Median queueing delay, ms.
    pub delay_p50_ms: Vec<Option<f64>>,
    /// 99th percentile of the queueing delay, ms.
    pub delay_p99_ms: Vec<Option<f64>>,
    /// Largest queueing delay, ms.
    pub delay_max_ms: Vec<Option<f64>>,
    /// Bytes that left over capacity; null without a capacity.
    pub utilisation: Vec<Option<f64>>,
    /// Packets that left.
    pub packets: Vec<Option<u64>>,
    /// Packets that arrived.
    pub arrivals: Vec<Option<u64>>,
    /// Packets dropped.
    pub drops: Vec<Option<u64>>,
    /// Packets marked CE.
    pub ce_marked: Vec<Option<u64>>,
    /// Limit in force, bytes; null if unlimited or not reported.
    pub limit_bytes: Vec<Option<u64>>,
    /// Reports lost on the way to the collector.
    pub reports_lost: Vec<u64>,
}

/// Occupancy met by arrivals at one limit, as bins with at least one arrival each. A bin is `[low,
/// high)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Distribution {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// The distribution.
    #[serde(flatten)]
    pub occupancy: OccupancyDistribution,
}

/// Single packets from the collector's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Packets {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Start of the requested span.
    pub from_ns: u64,
    /// End of the requested span, exclusive.
    pub to_ns: u64,
    /// Arrival at the switch.
    pub ingress_ns: Vec<u64>,
    /// Departure; 0 for a dropped packet.
    pub egress_ns: Vec<u64>,
    /// Occupancy that the packet met, bytes; null if its report does not tell it.
    pub occupancy_bytes: Vec<Option<u64>>,
    /// Flow id given by the collector.
    pub flow_id: Vec<u64>,
    /// Whether the packet was dropped.
    pub dropped: Vec<bool>,
    /// Length of the IP packet.
    pub ip_bytes: Vec<u32>,
    /// The sender's congestion window, segments; 0 if unknown.
    pub cwnd: Vec<u32>,
    /// First TCP sequence number of the segment; 0 if it is not TCP.
    pub tcp_seq: Vec<u32>,
    /// Whether the switch marked the packet CE.
    pub ce_marked: Vec<bool>,
    /// Whether the span holds more packets than were asked for.
    pub truncated: bool,
    /// Arrival of the oldest packet of the port that the collector remembers; null if it remembers
    /// none, or does not say.
    pub oldest_ns: Option<u64>,
}

/// Congestion windows of the flows of a link over time, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Windows {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Length of a step.
    pub step_ns: u64,
    /// Start of each step.
    pub time_ns: Vec<u64>,
    /// Sum of the congestion windows of the probed flows, segments: the last known window of each,
    /// for up to 2 s. Null if none is known.
    pub cwnd_sum_pkts: Vec<Option<f64>>,
    /// W(t): the sum of what these flows have in flight, bytes as the queue counts them: the
    /// smaller of unacknowledged payload and window, with the headers that packets have here;
    /// nothing for a flow without an acknowledgement for its round-trip time.
    pub in_flight_sum_bytes: Vec<Option<f64>>,
    /// Number of flows in these sums.
    pub probed_flows: Vec<u32>,
    /// Number of flows that sent data within 2 s, probed or not.
    pub data_flows: Vec<u32>,
    /// The requested flows.
    pub flows: Vec<FlowWindows>,
}

/// The congestion window of one flow over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FlowWindows {
    /// Flow id given by the collector.
    pub flow: u64,
    /// Congestion window at the end of the step, segments; null without a sample in it.
    pub cwnd_pkts: Vec<Option<u32>>,
    /// Data in flight at the end of the step, bytes as the queue counts them.
    pub in_flight_bytes: Vec<Option<f64>>,
    /// Packets of the flow dropped here; null if no report can show a drop.
    pub drops: Vec<Option<u32>>,
    /// Packets of the flow marked CE here.
    pub ce_marked: Vec<u32>,
}

/// An estimate over time, as columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EstimateColumns {
    /// The estimate; null if nothing was known.
    pub value: Vec<Option<f32>>,
    /// Lower end of its range.
    pub low: Vec<Option<f32>>,
    /// Upper end of its range.
    pub high: Vec<Option<f32>>,
}

/// The estimates of a link since the controller has known it: one per second for the last hour, one
/// per ten seconds for a day; less far back if there are more than 16 links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EstimateHistory {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null if reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// End of the window of each estimate.
    pub time_ns: Vec<u64>,
    /// Flows bottlenecked here.
    pub n_b: EstimateColumns,
    /// Drops of a loss event per bottlenecked flow.
    pub alpha: EstimateColumns,
    /// Spread of the windows around BDP/n.
    pub delta: EstimateColumns,
    /// Effective RTT, ms.
    pub t_e_ms: EstimateColumns,
    /// Share of capacity that bottlenecked flows carry.
    pub c_e_share: EstimateColumns,
    /// Advised limit, bytes.
    pub advised_bytes: Vec<Option<u64>>,
    /// Limit in force, bytes; null if unlimited or not known.
    pub limit_bytes: Vec<Option<u64>>,
}
