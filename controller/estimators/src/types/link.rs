// SPDX-License-Identifier: Apache-2.0
//! A link over one window, and what names it.

use super::estimate::Estimates;
use super::flow::FlowEstimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tidemark_proto::{ShownPort, answered_port, known_port};
use tidemark_rules::{Batches, Occupancy};

/// A link: an egress queue of a port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LinkId {
    /// Node, as configured at the switch.
    pub node_id: u32,
    /// Egress port of the node; null in JSON where reports do not tell it.
    #[serde(with = "answered_port")]
    pub port: u32,
    /// Queue of the port; 0 where it is left out: older files have none.
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

    /// The port; `None` where reports do not tell it.
    pub fn known_port(self) -> Option<u32> {
        known_port(self.port)
    }
}

/// `node:port` of queue 0, `node:port:queue` of another.
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
    /// Name of the node; empty where it has none.
    pub node_name: String,
    /// Name of the egress port; empty where it has none.
    pub port_name: String,
    /// Capacity in bits/s; 0 = not known.
    pub capacity_bps: u64,
    /// Bytes beyond the IP length on the wire.
    pub wire_overhead_bytes: u32,
    /// Bytes beyond the IP length in the queue.
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
    /// Half of the 90 % interval of `mean`, where one packet of several is reported; left
    /// out where all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling_error: Option<f64>,
    /// Fraction of packets that met a non-empty queue.
    pub non_empty: Option<f64>,
    /// 1st percentile over windows of 10 RTT.
    pub p01: Option<f64>,
    /// Number of these windows.
    pub windows: u64,
}

/// Quantiles of a distribution; `None` when nothing was seen.
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
    /// Egress port of the node; null where reports do not tell it.
    #[serde(with = "answered_port")]
    #[schemars(with = "Option<u32>")]
    pub port: u32,
    /// Queue of the port.
    #[serde(default)]
    pub queue: u32,
    /// Name of the node; empty where it has none.
    pub node_name: String,
    /// Name of the port; empty where it has none.
    pub port_name: String,
    /// Start of the first interval within the window asked for, node's clock.
    pub from_ns: u64,
    /// End of the last interval within it.
    pub to_ns: u64,
    /// Capacity in bits/s; measured where it is not configured; 0 when neither
    /// is known.
    pub capacity_bps: u64,
    /// Other queues took a part of the port's capacity in the window: `capacity_bps` is the
    /// rate at which this queue was served while packets waited, 0 where too few did.
    #[serde(default)]
    pub shares_port: bool,
    /// Two clocks speak as its node, of which one may be a recording: no advice rests on it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_clocks: bool,
    /// Drain rate in bytes as the queue counts them, bits/s.
    pub queue_drain_bps: f64,
    /// Segment of the LBP flows as the queue counts it, bytes; 0 when no data
    /// packet was seen.
    pub segment_bytes: f64,
    /// Limit in force at the end of the window; `None` when not reported or
    /// unlimited.
    pub limit_bytes: Option<u64>,
    /// Utilisation of the link.
    pub utilisation: Utilisation,
    /// Drops over arrivals; `None` without arrivals, and where no report can tell of a drop.
    pub loss_rate: Option<f64>,
    /// Packets that came to the queue, those dropped included, sampling undone.
    pub arrivals: u64,
    /// Packets dropped; null where no report can tell of one (INT-MD).
    pub drops: Option<u64>,
    /// Packets that this switch marked CE.
    pub ce_marked: u64,
    /// Queueing delay, ms.
    pub delay_ms: Quantiles,
    /// Occupancy met by arrivals, bytes.
    pub occupancy_bytes: Quantiles,
    /// Distribution of the occupancy met by arrivals; `None` when the limit
    /// changed in the window, or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// Parts of the window, which tell the sampling errors of loss and utilisation.
    #[serde(default, skip_serializing_if = "Batches::is_empty")]
    pub batches: Batches,
    /// Reports that did not reach the collector.
    pub reports_lost: u64,
    /// Time within the window of which no record came from the collector, s: the
    /// connection was cut, or updates were missed. 0 for a port that is not configured,
    /// which has no records while nothing comes by.
    #[serde(default)]
    pub unrecorded_s: f64,
    /// Groups of drops closer than T_e to one another (BSCL §III-C).
    pub loss_events: u64,
    /// Of `drops`, those of LBP flows that lost half of their window or more at
    /// once.
    #[serde(default)]
    pub overshoot_drops: u64,
    /// Estimates that decide the buffer.
    pub estimates: Estimates,
    /// Flows per class.
    pub classes: ClassCounts,
    /// Flows of the window, the largest rates first. Of very many, those with a
    /// class other than short; `classes` counts all.
    pub flows: Vec<FlowEstimate>,
    /// Limits of the answer: missing capacity, lost reports, sampling, …
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
