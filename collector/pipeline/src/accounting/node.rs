// SPDX-License-Identifier: Apache-2.0
//! One node: its clock, its units, and the losses not yet told.

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
    /// The configuration names this node.
    pub configured: bool,
    /// Reception of the first report since the clock started, and of the last.
    pub first_rx_ns: u64,
    pub last_rx_ns: u64,
    /// Watermark given last while the node was silent.
    pub idle_mark_ns: u64,
    /// Reports of its own came, which tell of drops too.
    pub(super) tells_drops: bool,
    /// It was a hop in the metadata of packets.
    pub(super) is_hop: bool,
    /// Reports missing, to be told with the next row; negative when missing ones
    /// came late.
    pub(super) lost_before: i32,
    depth_unit_bytes: u64,
    /// The key that its reports must be tagged with; none takes every report.
    pub(super) tag: Option<TagCheck>,
    /// Any exporter is allowed.
    open_to_anybody: bool,
    last_exporter: Option<IpAddr>,
    /// Port and wire overhead looked up last.
    last_overhead: Option<(u32, u32)>,
}

impl Node {
    /// A node that the configuration of the pipeline names, or does not.
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

    /// Checks the tag of the datagram at hand against the keys of the node.
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

    /// Reports missing before the row at hand. They are told once.
    #[inline]
    pub(crate) fn take_lost(&mut self) -> i32 {
        std::mem::take(&mut self.lost_before)
    }

    /// Bytes of an occupancy or limit in the node's unit.
    #[inline]
    pub(crate) fn depth_bytes(&self, depth: u32) -> u64 {
        u64::from(depth) * self.depth_unit_bytes
    }

    /// Bytes beyond the IP length that a packet takes on the wire of a port.
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
