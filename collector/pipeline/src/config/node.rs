// SPDX-License-Identifier: Apache-2.0
//! One node: its units and ports.

use super::{ConfigError, Exporters};
use int_report::drop_reason::DropTable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Unit of a node's timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Nanoseconds.
    #[default]
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
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
    /// Bytes.
    #[default]
    Bytes,
    /// Packets of [`NodeConfig::packet_bytes`].
    Packets,
    /// Cells of [`NodeConfig::cell_bytes`].
    Cells,
}

/// How to read one node's reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "super::profile::NodeText")]
pub struct NodeConfig {
    /// Name shown to users; empty = `node<id>`.
    pub name: String,
    /// Addresses that may send its reports.
    pub exporters: Exporters,
    /// File with the keys that its reports must be tagged with; they are read into
    /// [`super::Config::keys`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// Unit of the timestamps.
    pub time_unit: TimeUnit,
    /// Width of the timestamp clock in bits, at which it wraps.
    pub time_bits: u8,
    /// Unit of queue occupancy and limit.
    pub depth_unit: DepthUnit,
    /// Bytes per packet if occupancy is in packets.
    pub packet_bytes: u32,
    /// Bytes per cell if occupancy is in cells (Tofino 80, Tofino 2 176).
    pub cell_bytes: Option<u32>,
    /// Meaning of the codes in drop reports.
    pub drop_codes: DropTable,
    /// Egress ports by number.
    pub ports: BTreeMap<u32, PortConfig>,
}

impl Default for NodeConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            exporters: Exporters::default(),
            key_file: None,
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

    pub(super) fn validate(&self, at: &str) -> Result<(), ConfigError> {
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
    /// Name shown to users; empty = `port<number>`.
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

/// Bytes of the IP packet of a full segment.
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

/// Converts the nodes to their form in the telemetry contract.
pub fn proto_nodes(nodes: &BTreeMap<u32, NodeConfig>) -> Vec<tidemark_proto::telemetry::Node> {
    let named = |name: &str, kind: &str, number: u32| match name {
        "" => format!("{kind}{number}"),
        name => name.to_owned(),
    };
    let of_port = |(&port, p): (&u32, &PortConfig)| tidemark_proto::telemetry::Port {
        port,
        name: named(&p.name, "port", port),
        capacity_bps: p.capacity_bps,
        wire_overhead_bytes: p.wire_overhead_bytes,
        queue_overhead_bytes: p.queue_overhead_bytes,
    };
    let of_node = |(&node_id, n): (&u32, &NodeConfig)| tidemark_proto::telemetry::Node {
        node_id,
        name: named(&n.name, "node", node_id),
        ports: n.ports.iter().map(of_port).collect(),
        depth_unit_bytes: n.depth_unit_bytes(),
    };
    nodes.iter().map(of_node).collect()
}
