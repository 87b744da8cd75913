// SPDX-License-Identifier: Apache-2.0
//! Telemetry as columns of equal length.

use serde::{Deserialize, Serialize};
use tidemark_estimators::OccupancyDistribution;

/// Occupancy, delay, loss and utilisation over time. A step of which nothing is known
/// has null in every column of packets: no record came of it, or the switch reported
/// nothing at all, by any port. Of a link that was idle there are zeros.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Series {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null where reports do not tell it.
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
    /// Its 99th percentile, bytes.
    pub occupancy_p99_bytes: Vec<Option<f64>>,
    /// The largest, bytes.
    pub occupancy_max_bytes: Vec<Option<u64>>,
    /// Median queueing delay, ms.
    pub delay_p50_ms: Vec<Option<f64>>,
    /// Its 99th percentile, ms.
    pub delay_p99_ms: Vec<Option<f64>>,
    /// The largest, ms.
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
    /// Limit in force, bytes; null when unlimited or not reported.
    pub limit_bytes: Vec<Option<u64>>,
    /// Reports lost on the way to the collector.
    pub reports_lost: Vec<u64>,
}

/// Occupancy met by arrivals at one limit, as bins that hold at least one
/// arrival. A bin is `[low, high)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Distribution {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null where reports do not tell it.
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
    /// Egress port; null where reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Start of the span asked for.
    pub from_ns: u64,
    /// End of the span asked for, exclusive.
    pub to_ns: u64,
    /// Arrival at the switch.
    pub ingress_ns: Vec<u64>,
    /// Departure; 0 for a packet dropped.
    pub egress_ns: Vec<u64>,
    /// Occupancy that it met, bytes; null where its report does not tell it.
    pub occupancy_bytes: Vec<Option<u64>>,
    /// Flow id given by the collector.
    pub flow_id: Vec<u64>,
    /// Whether it was dropped.
    pub dropped: Vec<bool>,
    /// Length of the IP packet.
    pub ip_bytes: Vec<u32>,
    /// The sender's congestion window, segments; 0 where not known.
    pub cwnd: Vec<u32>,
    /// First TCP sequence number of the segment; 0 where it is not TCP.
    pub tcp_seq: Vec<u32>,
    /// Whether the switch marked it CE.
    pub ce_marked: Vec<bool>,
    /// The span holds more packets than were asked for.
    pub truncated: bool,
    /// Arrival of the oldest packet that the collector remembers of the port; null
    /// when it remembers none, or does not say.
    pub oldest_ns: Option<u64>,
}

/// Windows of the flows of a link over time, as columns of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Windows {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null where reports do not tell it.
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
    /// Sum of the congestion windows of the probed flows, segments: of each the last
    /// one known, for up to 2 s. Null where none is known.
    pub cwnd_sum_pkts: Vec<Option<f64>>,
    /// W(t): the sum of what these flows have in flight, bytes as the queue counts them:
    /// the payload that is not acknowledged or the window, the smaller one, with the
    /// headers that packets have here; of a flow without an acknowledgement for its
    /// round-trip time, nothing.
    pub in_flight_sum_bytes: Vec<Option<f64>>,
    /// Flows in these sums.
    pub probed_flows: Vec<u32>,
    /// Flows that sent data within 2 s, probed or not.
    pub data_flows: Vec<u32>,
    /// The flows asked for.
    pub flows: Vec<FlowWindows>,
}

/// The window of one flow over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FlowWindows {
    /// Flow id given by the collector.
    pub flow: u64,
    /// Congestion window at the end of the step, segments; null without a sample in it.
    pub cwnd_pkts: Vec<Option<u32>>,
    /// In flight at the end of the step, bytes as the queue counts them.
    pub in_flight_bytes: Vec<Option<f64>>,
    /// Packets of it dropped here; null where no report can tell of one.
    pub drops: Vec<Option<u32>>,
    /// Packets of it marked CE here.
    pub ce_marked: Vec<u32>,
}

/// An estimate over time, as columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EstimateColumns {
    /// The estimate; null where nothing was known.
    pub value: Vec<Option<f32>>,
    /// Lower end of its range.
    pub low: Vec<Option<f32>>,
    /// Upper end of its range.
    pub high: Vec<Option<f32>>,
}

/// The estimates of a link since the controller knows it: every second of the last
/// hour, every tenth of a day; of more than 16 links, less far back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct EstimateHistory {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port; null where reports do not tell it.
    #[serde(with = "tidemark_proto::answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// End of the window that each estimate is over.
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
    /// Limit in force, bytes; null when unlimited or not known.
    pub limit_bytes: Vec<Option<u64>>,
}
