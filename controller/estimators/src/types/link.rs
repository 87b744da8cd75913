// SPDX-License-Identifier: Apache-2.0
//! A link over one window, and its identifier.

use super::estimate::Estimates;
use super::flow::FlowEstimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tidemark_proto::{ShownPort, answered_port, known_port};
use tidemark_rules::{Batches, Occupancy};

/// A link: an egress queue on a port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LinkId {
    /// Node, as configured at the switch.
    pub node_id: u32,
    /// Egress port of the node; null in JSON if the reports do not include it.
    #[serde(with = "answered_port")]
    pub port: u32,
    /// Queue of the port; 0 if left out, as in older files.
    #[serde(default)]
    pub queue: u32,
}

impl LinkId {
    /// The link at a queue of an egress port of a node.
    pub const fn new(node_id: u32, port: u32, queue: u32) -> Self {
        Self {
            node_id,
            port,
            queue,
        }
    }

    /// The port; `None` if the reports do not include it.
    pub fn known_port(self) -> Option<u32> {
        known_port(self.port)
    }
}

/// `node:port` for queue 0, `node:port:queue` for other queues.
impl std::fmt::Display for LinkId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.node_id, ShownPort(self.port))?;
        match self.queue {
            0 => Ok(()),
            queue => write!(f, ":{queue}"),
        }
    }
}

/// Configuration of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkInfo {
    /// Name of the node; empty if it has none.
    pub node_name: String,
    /// Name of the egress port; empty if it has none.
    pub port_name: String,
    /// Capacity in bits/s; 0 if not known.
    pub capacity_bps: u64,
    /// Bytes per packet on the wire in addition to its IP length.
    pub wire_overhead_bytes: u32,
    /// Bytes per packet in the queue in addition to its IP length.
    pub queue_overhead_bytes: u32,
}

impl Default for LinkInfo {
    fn default() -> Self {
        Self {
            node_name: String::new(),
            port_name: String::new(),
            capacity_bps: 0,
            wire_overhead_bytes: 38,
            queue_overhead_bytes: 14,
        }
    }
}

/// Utilisation of the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Utilisation {
    /// Bytes that left over capacity; `None` without a capacity.
    pub mean: Option<f64>,
    /// Half of the 90 % interval of `mean` if only some packets are reported; left out if all are
    /// reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_error: Option<f64>,
    /// Fraction of packets that arrived at a non-empty queue.
    pub non_empty: Option<f64>,
    /// 1st percentile over windows of 10 RTT.
    pub p01: Option<f64>,
    /// Number of these windows.
    pub windows: u64,
}

/// Quantiles of a distribution; `None` without observations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Quantiles {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest value.
    pub max: Option<f64>,
}

/// Flows per class in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClassCounts {
    /// Locally bottlenecked persistent.
    pub lbp: u64,
    /// Remotely bottlenecked persistent.
    pub rbp: u64,
    /// Window-limited persistent.
    pub wl: u64,
    /// Short.
    pub short: u64,
    /// Not TCP, or acknowledgements only.
    pub other: u64,
}

impl ClassCounts {
    /// Flows of all classes.
    pub fn total(&self) -> u64 {
        self.lbp + self.rbp + self.wl + self.short + self.other
    }
}

/// One link over one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkEstimate {
    /// Node of the link.
    pub node: u32,
    /// Egress port of the node; null if the reports do not include it.
    #[serde(with = "answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Name of the node; empty if it has none.
    pub node_name: String,
    /// Name of the port; empty if it has none.
    pub port_name: String,
    /// Start of the first interval within the requested window, node's clock.
    pub from_ns: u64,
    /// End of the last interval within the requested window.
    pub to_ns: u64,
    /// Capacity in bits/s, measured if it is not configured; 0 if neither is known.
    pub capacity_bps: u64,
    /// Whether other queues took a part of the port's capacity in the window: `capacity_bps` is
    /// then the rate at which this queue was served while packets waited, 0 if too few waited.
    #[serde(default)]
    pub shares_port: bool,
    /// Whether two clocks report as this node, one perhaps a recording: no advice is given then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_clocks: bool,
    /// Drain rate of the queue in bytes as the queue counts them, bits/s.
    pub queue_drain_bps: f64,
    /// Segment size of the LBP flows as the queue counts it, bytes; 0 if no data packet was seen.
    pub segment_bytes: f64,
    /// Limit in force at the end of the window; `None` if not reported or unlimited.
    pub limit_bytes: Option<u64>,
    /// Utilisation of the link.
    pub utilisation: Utilisation,
    /// Drops over arrivals; `None` without arrivals, or if no report can show a drop.
    pub loss_rate: Option<f64>,
    /// Packets that arrived at the queue, including drops, scaled up for sampling.
    pub arrivals: u64,
    /// Packets dropped; null if no report can show a drop (INT-MD).
    pub drops: Option<u64>,
    /// Packets that this switch marked CE.
    pub ce_marked: u64,
    /// Queueing delay, ms.
    pub delay_ms: Quantiles,
    /// Occupancy seen by arriving packets, bytes.
    pub occupancy_bytes: Quantiles,
    /// Distribution of the occupancy seen by arriving packets; `None` if the limit changed in the
    /// window, or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// Parts of the window, which give the sampling errors of loss and utilisation.
    #[serde(default, skip_serializing_if = "Batches::is_empty")]
    pub batches: Batches,
    /// Reports that did not reach the collector.
    pub reports_lost: u64,
    /// Time within the window for which the collector sent no record, s: the connection was cut, or
    /// updates were missed. 0 for a port that is not configured, which has no records while it is
    /// idle.
    #[serde(default)]
    pub unrecorded_s: f64,
    /// Groups of drops closer than T_e to one another (BSCL §III-C).
    pub loss_events: u64,
    /// Part of `drops` from LBP flows that lost half of their window or more at once.
    #[serde(default)]
    pub overshoot_drops: u64,
    /// Estimates that decide the buffer.
    pub estimates: Estimates,
    /// Flows per class.
    pub classes: ClassCounts,
    /// Flows of the window, largest rates first. If there are too many to list, short flows are
    /// left out first; `classes` counts all.
    pub flows: Vec<FlowEstimate>,
    /// Limitations of the estimate: missing capacity, lost reports, sampling, …
    pub caveats: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_proto::UNKNOWN_PORT;

    #[test]
    fn a_port_that_is_not_known_has_no_number() {
        let link = LinkId::new(7, UNKNOWN_PORT, 0);
        assert_eq!(link.to_string(), "7:unknown");
        let json = serde_json::to_string(&link).unwrap();
        assert_eq!(json, r#"{"node_id":7,"port":null,"queue":0}"#);
        assert_eq!(serde_json::from_str::<LinkId>(&json).unwrap(), link);
    }

    #[test]
    fn a_link_without_a_queue_is_that_of_queue_0() {
        let link: LinkId = serde_json::from_str(r#"{"node_id":7,"port":2}"#).unwrap();
        assert_eq!(link, LinkId::new(7, 2, 0));
        let texts = [0, 3].map(|queue| LinkId::new(7, 2, queue).to_string());
        assert_eq!(texts, ["7:2", "7:2:3"]);
    }
}
