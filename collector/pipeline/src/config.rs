// SPDX-License-Identifier: Apache-2.0
//! What the pipeline is told: the nodes and their units, and its bounds.

use int_report::drop_reason::DropTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Everything the pipeline needs to know before the first report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Node id to semantics. A node that is not listed gets
    /// [`NodeConfig::default`] and is counted as unconfigured.
    pub nodes: BTreeMap<u32, NodeConfig>,
    /// Length of the interval records, aligned to multiples of itself.
    pub interval_ms: u32,
    /// Time by which a report may be later than a younger one and still fall
    /// into its own interval. Queueing delay comes on top of it.
    pub reorder_ms: u32,
    /// Interval records are handed on at least this much switch time at once.
    pub publish_ms: u32,
    /// Longest wait of a data packet for the tcp_probe sample that shows the
    /// state it left under; must exceed the round-trip times of interest.
    pub join_wait_ms: u32,
    /// tcp_probe records are held back this long, so that the reports of the
    /// packets they acknowledge are there first.
    pub probe_hold_ms: u32,
    /// Whether any tcp_probe source exists; without one nothing waits.
    pub join: bool,
    /// Host whose tcp_probe clock also stamps the reception of reports.
    pub local_host: Option<String>,
    /// Most flows remembered; the longest idle goes first.
    pub max_flows: usize,
    /// Most packets waiting for their sample.
    pub max_pending: usize,
    /// A report whose time is further off than this is held to be a restart
    /// of the switch's clock once several agree.
    pub max_clock_step_ms: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nodes: BTreeMap::new(),
            interval_ms: 10,
            reorder_ms: 200,
            publish_ms: 50,
            join_wait_ms: 500,
            probe_hold_ms: 20,
            join: true,
            local_host: None,
            max_flows: 65_536,
            max_pending: 1 << 20,
            max_clock_step_ms: 60_000,
        }
    }
}

impl Config {
    /// Checks ranges and every node.
    ///
    /// # Errors
    /// The first value that cannot be used, with its place.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let range = |key: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                Ok(())
            } else {
                Err(ConfigError::new(
                    key,
                    format!("{value} is outside {low}..={high}"),
                ))
            }
        };
        range("interval_ms", self.interval_ms.into(), 1, 60_000)?;
        range("reorder_ms", self.reorder_ms.into(), 0, 60_000)?;
        range("publish_ms", self.publish_ms.into(), 0, 60_000)?;
        range("join_wait_ms", self.join_wait_ms.into(), 0, 60_000)?;
        range("probe_hold_ms", self.probe_hold_ms.into(), 0, 10_000)?;
        range("max_flows", self.max_flows as u64, 16, 1 << 28)?;
        range("max_pending", self.max_pending as u64, 1024, 1 << 28)?;
        range(
            "max_clock_step_ms",
            self.max_clock_step_ms.into(),
            100,
            3_600_000,
        )?;
        for (id, node) in &self.nodes {
            node.validate(&format!("nodes.{id}"))?;
        }
        Ok(())
    }
}

/// A configuration value that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{key}: {what}")]
pub struct ConfigError {
    /// Dotted path of the key.
    pub key: String,
    /// What is wrong with it and what it may be.
    pub what: String,
}

impl ConfigError {
    fn new(key: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            what: what.into(),
        }
    }
}

/// Unit of a node's timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    #[default]
    Ns,
    Us,
    Ms,
}

impl TimeUnit {
    /// Nanoseconds of one unit.
    pub fn ns(self) -> u64 {
        match self {
            Self::Ns => 1,
            Self::Us => 1_000,
            Self::Ms => 1_000_000,
        }
    }
}

/// Unit of a node's queue occupancy and limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DepthUnit {
    #[default]
    Bytes,
    Packets,
    Cells,
}

/// How to read one node's reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "crate::profile::NodeText")]
pub struct NodeConfig {
    /// Shown to people; empty = `node<id>`.
    pub name: String,
    pub time_unit: TimeUnit,
    /// Width of the clock behind the timestamps; it wraps there.
    pub time_bits: u8,
    pub depth_unit: DepthUnit,
    /// Bytes of a packet where occupancy is in packets.
    pub packet_bytes: u32,
    /// Bytes of a cell where occupancy is in cells (Tofino 80, Tofino 2 176).
    pub cell_bytes: Option<u32>,
    pub drop_codes: DropTable,
    /// Egress port to its description.
    pub ports: BTreeMap<u32, PortConfig>,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            time_unit: TimeUnit::Ns,
            time_bits: 64,
            depth_unit: DepthUnit::Bytes,
            packet_bytes: DEFAULT_PACKET_BYTES,
            cell_bytes: None,
            drop_codes: DropTable::SwitchP416,
            ports: BTreeMap::new(),
        }
    }
}

impl NodeConfig {
    /// Bytes of one unit of occupancy.
    pub fn depth_unit_bytes(&self) -> u32 {
        match self.depth_unit {
            DepthUnit::Bytes => 1,
            DepthUnit::Packets => self.packet_bytes,
            DepthUnit::Cells => self.cell_bytes.unwrap_or(1),
        }
    }

    fn validate(&self, at: &str) -> Result<(), ConfigError> {
        if !(16..=64).contains(&self.time_bits) {
            return Err(ConfigError::new(
                format!("{at}.time_bits"),
                format!(
                    "{} is not a clock width; use 32, 48 or 64 (16..=64)",
                    self.time_bits
                ),
            ));
        }
        match self.depth_unit {
            DepthUnit::Cells if self.cell_bytes.is_none_or(|b| b == 0) => {
                return Err(ConfigError::new(
                    format!("{at}.cell_bytes"),
                    "needed because depth_unit = \"cells\" (Tofino 80, Tofino 2 176, Tofino 3 256)",
                ));
            }
            DepthUnit::Packets if self.packet_bytes == 0 => {
                return Err(ConfigError::new(
                    format!("{at}.packet_bytes"),
                    "must not be 0 when depth_unit = \"packets\"",
                ));
            }
            _ => {}
        }
        for (port, config) in &self.ports {
            if config.capacity_bps == 0 {
                return Err(ConfigError::new(
                    format!("{at}.ports.{port}.capacity_bps"),
                    "must be the bit rate of the port, not 0",
                ));
            }
        }
        Ok(())
    }
}

/// One egress port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortConfig {
    /// Shown to people; empty = `port<number>`.
    #[serde(default)]
    pub name: String,
    /// Bit rate at which the port serialises, including all overhead.
    pub capacity_bps: u64,
    /// Bytes a packet occupies on the wire beyond its IP length.
    #[serde(default = "default_wire_overhead")]
    pub wire_overhead_bytes: u32,
    /// Bytes a packet counts in the queue beyond its IP length.
    #[serde(default = "default_queue_overhead")]
    pub queue_overhead_bytes: u32,
}

/// IP packet of a full segment.
const DEFAULT_PACKET_BYTES: u32 = 1500;
/// Ethernet: 14 header + 4 FCS + 8 preamble + 12 gap.
pub const DEFAULT_WIRE_OVERHEAD_BYTES: u32 = 38;
/// Ethernet header.
pub const DEFAULT_QUEUE_OVERHEAD_BYTES: u32 = 14;

fn default_wire_overhead() -> u32 {
    DEFAULT_WIRE_OVERHEAD_BYTES
}

fn default_queue_overhead() -> u32 {
    DEFAULT_QUEUE_OVERHEAD_BYTES
}

/// The nodes as the telemetry contract describes them.
pub fn proto_nodes(nodes: &BTreeMap<u32, NodeConfig>) -> Vec<tidemark_proto::telemetry::Node> {
    nodes
        .iter()
        .map(|(&node_id, n)| tidemark_proto::telemetry::Node {
            node_id,
            name: if n.name.is_empty() {
                format!("node{node_id}")
            } else {
                n.name.clone()
            },
            ports: n
                .ports
                .iter()
                .map(|(&port, p)| tidemark_proto::telemetry::Port {
                    port,
                    name: if p.name.is_empty() {
                        format!("port{port}")
                    } else {
                        p.name.clone()
                    },
                    capacity_bps: p.capacity_bps,
                    wire_overhead_bytes: p.wire_overhead_bytes,
                    queue_overhead_bytes: p.queue_overhead_bytes,
                })
                .collect(),
            depth_unit_bytes: n.depth_unit_bytes(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_need_their_size() {
        let mut c = Config::default();
        c.nodes.insert(
            7,
            NodeConfig {
                depth_unit: DepthUnit::Cells,
                ..NodeConfig::default()
            },
        );
        let e = c.validate().unwrap_err();
        assert_eq!(e.key, "nodes.7.cell_bytes");
        c.nodes.get_mut(&7).unwrap().cell_bytes = Some(80);
        c.validate().unwrap();
        assert_eq!(c.nodes[&7].depth_unit_bytes(), 80);
    }

    #[test]
    fn zero_interval_is_refused() {
        let c = Config {
            interval_ms: 0,
            ..Config::default()
        };
        assert_eq!(c.validate().unwrap_err().key, "interval_ms");
    }
}
