// SPDX-License-Identifier: Apache-2.0
//! Configuration of the pipeline: the nodes with their units, and the pipeline's limits.

mod exporters;
mod node;
mod profile;

pub use exporters::Exporters;
pub use node::{
    DEFAULT_QUEUE_OVERHEAD_BYTES, DEFAULT_WIRE_OVERHEAD_BYTES, DepthUnit, NodeConfig, PortConfig,
    TimeUnit, proto_nodes,
};

use crate::node_shards::Share;
use int_report::keys::ReportKeys;
use int_report::tag::Run;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Everything the pipeline needs to know before the first report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Nodes by id.
    pub nodes: BTreeMap<u32, NodeConfig>,
    /// Keys of the nodes that have a `key_file`, as read by [`Config::read_keys`]. They are never
    /// stored.
    #[serde(skip)]
    pub keys: BTreeMap<u32, ReportKeys>,
    /// Newest datagram of each node with a key that the collector accepted before it started:
    /// datagrams up to it are refused.
    #[serde(skip)]
    pub runs: BTreeMap<u32, Run>,
    /// This pipeline's share, if there are several pipelines.
    #[serde(skip)]
    pub share: Share,
    /// Treatment of the reports of a node that is not listed.
    pub unknown_nodes: UnknownNodes,
    /// Length of an interval; intervals start at its multiples.
    pub interval_ms: u32,
    /// How much later than a newer report a report may come and still fall into its own interval.
    /// Queueing delay comes on top.
    pub reorder_ms: u32,
    /// Interval records are handed on when they cover at least this much switch time.
    pub publish_ms: u32,
    /// Longest time that a data packet waits for the tcp_probe sample with the state it left under;
    /// must exceed the round-trip times of interest.
    pub join_wait_ms: u32,
    /// tcp_probe records are held back this long, so that the reports of the packets they
    /// acknowledge arrive first.
    pub probe_hold_ms: u32,
    /// Whether any tcp_probe source exists; without one no packet waits.
    pub join: bool,
    /// Host whose tcp_probe clock also stamps the reception of reports.
    pub local_host: Option<String>,
    /// Maximum number of flows remembered; the flow idle longest is evicted first.
    pub max_flows: usize,
    /// Maximum memory for the segments of all flows, bytes: segments that are not acknowledged or
    /// wait for a sample, and the gaps between them. Beyond it, flows forget their segments: flows
    /// without samples first, then the flows idle longest.
    pub max_segment_memory_bytes: usize,
    /// Maximum number of packets waiting for their sample.
    pub max_pending: usize,
    /// Reports whose time is further off than this count as a restart of the switch's clock once
    /// several agree.
    pub max_clock_step_ms: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            nodes: BTreeMap::new(),
            keys: BTreeMap::new(),
            runs: BTreeMap::new(),
            share: Share::default(),
            unknown_nodes: UnknownNodes::default(),
            interval_ms: 10,
            reorder_ms: 200,
            publish_ms: 50,
            join_wait_ms: 500,
            probe_hold_ms: 20,
            join: true,
            local_host: None,
            max_flows: 65_536,
            max_segment_memory_bytes: 256 << 20,
            max_pending: 1 << 20,
            max_clock_step_ms: 60_000,
        }
    }
}

impl Config {
    /// The smallest `max_flows`.
    pub const LEAST_FLOWS: usize = 16;
    /// The smallest `max_segment_memory_bytes`: 32 768 segments.
    pub const LEAST_SEGMENT_MEMORY_BYTES: usize = 1 << 20;
    /// The smallest `max_pending`.
    pub const LEAST_PENDING: usize = 1024;

    /// Checks ranges and every node.
    ///
    /// # Errors
    /// The first value that cannot be used, with its key.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let (flows, pending) = (self.max_flows as u64, self.max_pending as u64);
        let segment_bytes = self.max_segment_memory_bytes as u64;
        let least_bytes = Self::LEAST_SEGMENT_MEMORY_BYTES as u64;
        for (key, value, range) in [
            ("interval_ms", self.interval_ms.into(), 1..=60_000),
            ("reorder_ms", self.reorder_ms.into(), 0..=60_000),
            ("publish_ms", self.publish_ms.into(), 0..=60_000),
            ("join_wait_ms", self.join_wait_ms.into(), 0..=60_000),
            ("probe_hold_ms", self.probe_hold_ms.into(), 0..=10_000),
            ("max_flows", flows, Self::LEAST_FLOWS as u64..=1 << 28),
            (
                "max_segment_memory_bytes",
                segment_bytes,
                least_bytes..=1 << 40,
            ),
            ("max_pending", pending, Self::LEAST_PENDING as u64..=1 << 28),
            (
                "max_clock_step_ms",
                self.max_clock_step_ms.into(),
                100..=3_600_000,
            ),
        ] {
            if !range.contains(&value) {
                let what = format!("{value} is outside {}..={}", range.start(), range.end());
                return Err(ConfigError::new(key, what));
            }
        }
        for (id, node) in &self.nodes {
            node.validate(&format!("nodes.{id}"))?;
        }
        Ok(())
    }

    /// Reads the key files of nodes.
    ///
    /// # Errors
    /// A file that cannot be used, with its key.
    pub fn read_keys(&mut self) -> Result<(), ConfigError> {
        self.keys.clear();
        for (&id, node) in &self.nodes {
            if let Some(file) = &node.key_file {
                let keys = ReportKeys::read(file)
                    .map_err(|e| ConfigError::new(format!("nodes.{id}.key_file"), e.to_string()))?;
                self.keys.insert(id, keys);
            }
        }
        Ok(())
    }

    /// Checks that the keys of every node with a key file have been read.
    pub(crate) fn check_keys(&self) -> Result<(), ConfigError> {
        let missing =
            |(id, n): &(&u32, &NodeConfig)| n.key_file.is_some() && !self.keys.contains_key(id);
        match self.nodes.iter().find(missing) {
            None => Ok(()),
            Some((id, _)) => Err(ConfigError::new(
                format!("nodes.{id}.key_file"),
                "the file has not been read",
            )),
        }
    }
}

/// Treatment of the reports of a node that the configuration does not name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnknownNodes {
    /// Read as [`NodeConfig::default`] says, for a limited number of nodes: for files, whose origin
    /// their user knows.
    #[default]
    Accept,
    /// Counted and otherwise ignored.
    Refuse,
}

/// A configuration value that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{key}: {what}")]
pub struct ConfigError {
    /// Dotted path of the key.
    pub key: String,
    /// The fault, and the allowed values.
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
