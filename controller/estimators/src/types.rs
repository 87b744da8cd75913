// SPDX-License-Identifier: Apache-2.0
//! What an estimate looks like, in Rust and in JSON.

use serde::{Deserialize, Serialize};
pub use tidemark_rules::{CongestionControl, Occupancy, Regime};

/// An egress queue's link: a port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LinkId {
    pub node_id: u32,
    pub port: u32,
}

impl std::fmt::Display for LinkId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.node_id, self.port)
    }
}

/// What the configuration says about a link.
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

/// What an estimate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// The senders' windows (tcp_probe).
    Probed,
    /// The switch's reports alone.
    Passive,
    /// Some flows probed, some not.
    Mixed,
    /// Nothing was seen; a value from the literature stands in.
    Assumed,
}

/// A value, the range it may lie in, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub evidence: Evidence,
    /// Observations behind the value.
    pub samples: u64,
}

impl Estimate {
    pub(crate) fn new(value: f64, low: f64, high: f64, evidence: Evidence, samples: u64) -> Self {
        Self {
            value,
            low: low.min(value),
            high: high.max(value),
            evidence,
            samples,
        }
    }

    pub(crate) fn exact(value: f64, evidence: Evidence, samples: u64) -> Self {
        Self::new(value, value, value, evidence, samples)
    }
}

/// The regime with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RegimeEstimate {
    pub value: Regime,
    pub evidence: Evidence,
    pub why: String,
}

/// Whether the flows' maximum rates can reach capacity (OI §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saturable {
    pub value: Option<bool>,
    /// Sum of the maximum rates of the flows that have one, over capacity;
    /// flows bottlenecked here have none.
    pub bounded_share: f64,
}

/// Everything estimated of one link. `None` where nothing could be said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    pub n_b: Estimate,
    /// α = L̄/N_b.
    pub alpha: Estimate,
    /// L̄: mean drops per loss event.
    pub mean_loss_burst: Option<Estimate>,
    pub median_loss_burst: Option<Estimate>,
    /// q̂: mean fraction of LBP flows that lost in a loss event.
    pub q: Option<Estimate>,
    /// Δ = max(1, Δ_low, Δ_high) with its sides in `low`/`high` of
    /// `delta_low`, `delta_high`.
    pub delta: Option<Estimate>,
    /// (BDP/n)/w_p01.
    pub delta_low: Option<f64>,
    /// w_p99/(BDP/n).
    pub delta_high: Option<f64>,
    /// Jain's index of the flows' mean windows.
    pub jain: Option<f64>,
    /// 1st percentile of the windows of LBP flows, segments.
    pub window_p01_pkts: Option<f64>,
    /// Mean of D(t) over the RTTs with a loss.
    pub d_mean: Option<Estimate>,
    pub d_max: Option<Estimate>,
    /// Mean of s over the RTTs with a loss; `high` is the largest.
    pub s: Option<Estimate>,
    /// Fraction of the RTTs with a loss in which UTB Theorem 5's condition holds.
    pub condition_fraction: Option<Estimate>,
    pub t_e_ms: Option<Estimate>,
    pub t_mean_ms: Option<Estimate>,
    pub c_e_share: Estimate,
    /// Offered load over capacity.
    pub rho: Estimate,
    /// Part of `rho` of flows that are not LBP.
    pub rho_other: Estimate,
    pub regime: RegimeEstimate,
    pub saturable: Saturable,
}

/// Class of a flow (BSCL §II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FlowClass {
    /// Locally bottlenecked persistent.
    #[serde(rename = "LBP")]
    Lbp,
    /// Remotely bottlenecked persistent.
    #[serde(rename = "RBP")]
    Rbp,
    /// Window-limited persistent.
    #[serde(rename = "WL")]
    Wl,
    /// Never leaves slow start.
    #[serde(rename = "SHORT")]
    Short,
    /// Not TCP.
    #[serde(rename = "OTHER")]
    Other,
}

/// Five-tuple as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FlowKeyText {
    pub src: String,
    pub dst: String,
    pub src_port: u16,
    pub dst_port: u16,
    pub protocol: u8,
}

/// One flow during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowEstimate {
    /// Id given by the collector.
    pub flow: u64,
    pub key: Option<FlowKeyText>,
    pub class: FlowClass,
    /// 0..1.
    pub confidence: f64,
    /// Probability that it is an LBP flow.
    pub p_lbp: f64,
    /// Reason in words.
    pub why: String,
    pub evidence: Evidence,
    /// Rate on the wire at the link's egress while active in the window, bits/s.
    pub rate_bps: f64,
    pub packets: u64,
    pub drops: u64,
    /// Part of the window during which it was active.
    pub active_fraction: f64,
    /// Last window, segments.
    pub cwnd: Option<u32>,
    pub srtt_ms: Option<f64>,
    pub base_rtt_ms: Option<f64>,
    pub congestion_control: CongestionControl,
    /// Factor by which it multiplies its window on loss, as seen.
    pub beta: Option<f64>,
    pub reductions_local: u32,
    pub reductions_remote: u32,
}

/// Utilisation of the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Utilisation {
    /// Bytes that left over capacity; `None` without a capacity.
    pub mean: Option<f64>,
    /// Fraction of packets that met a non-empty queue.
    pub non_empty: Option<f64>,
    /// 1st percentile over windows of 10 RTT.
    pub p01: Option<f64>,
    /// Number of these windows.
    pub windows: u64,
}

/// Quantiles of a distribution; `None` when nothing was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

/// Flows per class in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassCounts {
    pub lbp: u64,
    pub rbp: u64,
    pub wl: u64,
    pub short: u64,
    pub other: u64,
}

/// One link over one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkEstimate {
    pub node: u32,
    pub port: u32,
    pub node_name: String,
    pub port_name: String,
    /// The intervals used: all that start within the window asked for.
    pub from_ns: u64,
    pub to_ns: u64,
    /// 0 when not configured.
    pub capacity_bps: u64,
    /// Drain rate in bytes as the queue counts them, bits/s.
    pub queue_drain_bps: f64,
    /// Segment of the LBP flows as the queue counts it, bytes; 0 when no data
    /// packet was seen.
    pub segment_bytes: f64,
    /// Limit in force at the end of the window; `None` when not reported or
    /// unlimited.
    pub limit_bytes: Option<u64>,
    pub utilisation: Utilisation,
    /// Drops over arrivals; 0 without arrivals.
    pub loss_rate: f64,
    pub arrivals: u64,
    pub drops: u64,
    pub ce_marked: u64,
    pub delay_ms: Quantiles,
    pub occupancy_bytes: Quantiles,
    /// Distribution of the occupancy met by arrivals; `None` when the limit
    /// changed in the window, or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    pub reports_lost: u64,
    pub loss_events: u64,
    /// Of `drops`, those of LBP flows that lost half of their window or more at
    /// once.
    #[serde(default)]
    pub overshoot_drops: u64,
    pub estimates: Estimates,
    pub classes: ClassCounts,
    /// Flows of the window, the largest rates first.
    pub flows: Vec<FlowEstimate>,
    /// What limits the answer: missing capacity, lost reports, sampling, …
    pub caveats: Vec<String>,
}
