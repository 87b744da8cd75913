// SPDX-License-Identifier: Apache-2.0
//! One node: its clock, its units, and the losses not yet reported in a row.

use super::refusals::RefusalReason;
use super::tag_check::{TagCheck, Verified};
use super::time::NodeTime;
use crate::config::{Config, DEFAULT_WIRE_OVERHEAD_BYTES, NodeConfig};
use crate::wire::Received;
use std::net::IpAddr;

#[derive(Debug)]
pub(crate) struct Node {
    pub id: u32,
    pub time: NodeTime,
    pub config: NodeConfig,
    /// Whether the configuration names this node.
    pub configured: bool,
    /// Reception times of the first report since the clock started, and of the last report.
    pub first_rx_ns: u64,
    pub last_rx_ns: u64,
    /// Last watermark given while the node was silent.
    pub idle_mark_ns: u64,
    /// Whether the node sent reports of its own, which also show drops.
    pub(super) tells_drops: bool,
    /// Whether the node was a hop in the metadata of packets.
    pub(super) is_hop: bool,
    /// Missing reports to state in the next row; negative if reports counted as missing came late.
    pub(super) lost_before: i32,
    depth_unit_bytes: u64,
    /// Checks the tags of the node's reports; `None` accepts every report.
    pub(super) tag: Option<TagCheck>,
    /// Whether any exporter is allowed.
    open_to_anybody: bool,
    last_exporter: Option<IpAddr>,
    /// Port and wire overhead looked up last.
    last_overhead: Option<(u32, u32)>,
}

impl Node {
    /// Creates a node, which the pipeline's configuration may or may not name.
    pub(crate) fn new(id: u32, pipeline: &Config, rx_ns: u64) -> Self {
        let config = pipeline.nodes.get(&id);
        let configured = config.is_some();
        let keys = pipeline.keys.get(&id).cloned();
        let config = config.cloned().unwrap_or_default();
        Self {
            id,
            time: NodeTime::new(&config, pipeline.max_clock_step_ms),
            tag: keys.map(|keys| TagCheck::new(keys, pipeline.runs.get(&id).copied())),
            depth_unit_bytes: config.depth_unit_bytes().into(),
            open_to_anybody: config.exporters.is_any(),
            config,
            configured,
            first_rx_ns: rx_ns,
            last_rx_ns: rx_ns,
            idle_mark_ns: 0,
            tells_drops: false,
            is_hop: false,
            lost_before: 0,
            last_exporter: None,
            last_overhead: None,
        }
    }

    /// Checks the tag of the current datagram against the node's keys.
    pub(super) fn verify(&mut self, received: &Received<'_>) -> Result<Verified, RefusalReason> {
        let seen_before = self.time.is_known();
        match &mut self.tag {
            None => Ok(Verified::default()),
            Some(tag) => tag.verify(received.tagged.as_ref(), seen_before),
        }
    }

    /// Whether an address may send reports of this node.
    #[inline]
    pub(super) fn allows(&mut self, exporter: &IpAddr) -> bool {
        self.open_to_anybody
            || self.last_exporter.as_ref() == Some(exporter)
            || self.allows_new(*exporter)
    }

    #[inline(never)]
    fn allows_new(&mut self, exporter: IpAddr) -> bool {
        let allowed = self.config.exporters.allow(exporter);
        if allowed {
            self.last_exporter = Some(exporter);
        }
        allowed
    }

    /// Takes the number of reports missing before the current row, which only one row states.
    #[inline]
    pub(crate) fn take_lost(&mut self) -> i32 {
        std::mem::take(&mut self.lost_before)
    }

    /// Converts an occupancy or limit from the node's unit to bytes.
    #[inline]
    pub(crate) fn depth_bytes(&self, depth: u32) -> u64 {
        u64::from(depth) * self.depth_unit_bytes
    }

    /// Returns the bytes that a packet occupies on a port's wire beyond its IP length.
    #[inline]
    pub(crate) fn wire_overhead_bytes(&mut self, port: u32) -> u32 {
        if let Some((last, bytes)) = self.last_overhead
            && last == port
        {
            return bytes;
        }
        let bytes = self
            .config
            .ports
            .get(&port)
            .map_or(DEFAULT_WIRE_OVERHEAD_BYTES, |p| p.wire_overhead_bytes);
        self.last_overhead = Some((port, bytes));
        bytes
    }
}
