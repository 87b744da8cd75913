// SPDX-License-Identifier: Apache-2.0
//! A node's clock and units: from what it reports to ns and bytes.

use crate::config::{
    DEFAULT_QUEUE_OVERHEAD_BYTES, DEFAULT_WIRE_OVERHEAD_BYTES, NodeConfig, PortConfig,
};
use int_report::Report;

/// Reports may be this much older than the youngest.
const MAX_BACKWARD_NS: u64 = 2_000_000_000;
/// No clock counts further (146 years): sums of times stay within 64 bits.
pub(crate) const MAX_TIME_NS: u64 = 1 << 62;
/// So many reports in a row that agree on another time make a restart.
const RESTART_CONFIRMATIONS: u32 = 8;

/// Times of a report in ns, unwrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub ingress_ns: u64,
    /// 0 when dropped.
    pub egress_ns: u64,
    /// The node's clock started anew with this report.
    pub restarted: bool,
}

/// Why a report has no usable time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeError {
    /// Neither timestamp is in the report.
    Missing,
    /// Too far from the node's other reports.
    Implausible,
}

/// State of one node.
#[derive(Clone, Debug)]
pub struct NodeState {
    pub node_id: u32,
    pub config: NodeConfig,
    mask: u64,
    /// Timestamps are 64 bits of ns.
    is_plain: bool,
    last_ticks: Option<u64>,
    max_ns: u64,
    suspects: u32,
    suspect_ns: u64,
    max_forward_ns: u64,
    depth_unit_bytes: u64,
    /// Port and wire overhead looked up last.
    last_overhead: Option<(u32, u32)>,
    /// Reports whose egress timestamp is before their ingress timestamp.
    pub negative_delays: u64,
}

impl NodeState {
    pub fn new(node_id: u32, config: NodeConfig, max_clock_step_ms: u32) -> Self {
        let mask = if config.time_bits >= 64 {
            u64::MAX
        } else {
            (1u64 << config.time_bits) - 1
        };
        Self {
            node_id,
            is_plain: mask == u64::MAX && config.time_unit.ns() == 1,
            depth_unit_bytes: config.depth_unit_bytes().into(),
            config,
            mask,
            last_ticks: None,
            max_ns: 0,
            suspects: 0,
            suspect_ns: 0,
            max_forward_ns: u64::from(max_clock_step_ms) * 1_000_000,
            last_overhead: None,
            negative_delays: 0,
        }
    }

    /// Latest time seen.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    #[inline]
    fn unwrap(&self, raw: u64) -> u64 {
        let raw = raw & self.mask;
        // 64 bits do not wrap in the life of a switch.
        let Some(last) = self.last_ticks.filter(|_| self.mask != u64::MAX) else {
            return raw;
        };
        let forward = raw.wrapping_sub(last) & self.mask;
        if forward <= self.mask / 2 {
            last.saturating_add(forward)
        } else {
            last.saturating_sub((self.mask - forward).saturating_add(1))
        }
    }

    /// Times of a report on the node's unwrapped time axis.
    ///
    /// # Errors
    /// When the report has no timestamp or one that contradicts the others.
    #[inline]
    pub fn times(&mut self, report: &Report<'_>) -> Result<Times, TimeError> {
        if let (Some(ingress_ns), Some(egress_ns)) = (report.ingress_ts, report.egress_ts)
            && self.is_plain
            && !report.dropped
            && self.last_ticks.is_some()
            && (self.max_ns..=MAX_TIME_NS).contains(&egress_ns)
            && egress_ns - self.max_ns <= self.max_forward_ns
            && ingress_ns <= egress_ns
            && egress_ns > 0
        {
            // A packet that left after all others: nothing to work out.
            self.suspects = 0;
            self.last_ticks = Some(egress_ns);
            self.max_ns = egress_ns;
            return Ok(Times {
                ingress_ns,
                egress_ns,
                restarted: false,
            });
        }
        self.times_of_any(report)
    }

    fn times_of_any(&mut self, report: &Report<'_>) -> Result<Times, TimeError> {
        let unit = self.config.time_unit.ns();
        let latest = if report.dropped {
            report.ingress_ts.or(report.egress_ts)
        } else {
            report.egress_ts.or(report.ingress_ts)
        };
        let raw = latest.ok_or(TimeError::Missing)?;
        let mut ticks = self.unwrap(raw);
        let mut time_ns = ticks.saturating_mul(unit);
        if time_ns > MAX_TIME_NS {
            return Err(TimeError::Implausible);
        }
        let mut restarted = false;
        if self.last_ticks.is_some() {
            let back = self.max_ns.saturating_sub(time_ns);
            let forward = time_ns.saturating_sub(self.max_ns);
            if back > MAX_BACKWARD_NS || forward > self.max_forward_ns {
                let agrees =
                    self.suspects > 0 && time_ns.abs_diff(self.suspect_ns) < MAX_BACKWARD_NS;
                self.suspects = if agrees { self.suspects + 1 } else { 1 };
                self.suspect_ns = time_ns;
                if self.suspects < RESTART_CONFIRMATIONS {
                    return Err(TimeError::Implausible);
                }
                restarted = true;
                self.max_ns = 0;
                ticks = raw & self.mask;
                time_ns = ticks.saturating_mul(unit);
            }
        }
        self.suspects = 0;
        if self.last_ticks.is_none_or(|last| ticks > last) || restarted {
            self.last_ticks = Some(ticks);
        }
        self.max_ns = self.max_ns.max(time_ns);
        if report.dropped {
            return Ok(Times {
                ingress_ns: time_ns,
                egress_ns: 0,
                restarted,
            });
        }
        let delay_ticks = match (report.ingress_ts, report.egress_ts) {
            (Some(i), Some(e)) => {
                let d = e.wrapping_sub(i) & self.mask;
                if d > self.mask / 2 {
                    self.negative_delays += 1;
                    0
                } else {
                    d
                }
            }
            _ => 0,
        };
        Ok(Times {
            ingress_ns: time_ns.saturating_sub(delay_ticks.saturating_mul(unit)),
            // 0 is kept for "dropped".
            egress_ns: time_ns.max(1),
            restarted,
        })
    }

    /// Bytes of an occupancy in the node's unit.
    #[inline]
    pub fn depth_bytes(&self, depth: u32) -> u64 {
        u64::from(depth) * self.depth_unit_bytes
    }

    fn port(&self, port: u32) -> Option<&PortConfig> {
        self.config.ports.get(&port)
    }

    /// Bytes beyond the IP length that a packet takes on the wire of a port.
    #[inline]
    pub fn wire_overhead_bytes(&mut self, port: u32) -> u32 {
        if let Some((last, bytes)) = self.last_overhead
            && last == port
        {
            return bytes;
        }
        let bytes = self
            .port(port)
            .map_or(DEFAULT_WIRE_OVERHEAD_BYTES, |p| p.wire_overhead_bytes);
        self.last_overhead = Some((port, bytes));
        bytes
    }

    /// Bytes beyond the IP length that a packet counts in the queue of a port.
    pub fn queue_overhead_bytes(&self, port: u32) -> u32 {
        self.port(port)
            .map_or(DEFAULT_QUEUE_OVERHEAD_BYTES, |p| p.queue_overhead_bytes)
    }
}
