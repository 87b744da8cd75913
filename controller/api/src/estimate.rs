// SPDX-License-Identifier: Apache-2.0
//! What is estimated of a link over a window.

use serde::{Deserialize, Serialize};

/// Regime of a link (NGI §III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// No flow is bottlenecked here and the sum of rates is below capacity.
    Transparent,
    /// Some flows are bottlenecked here, the rest leaves them room.
    Elastic,
    /// What is not elastic fills the link, or drops persist at minimum windows.
    Overload,
    /// Not enough was seen.
    Unknown,
}

/// What an estimate rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
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

/// Congestion control as recognised from a window's trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    /// Reno.
    Reno,
    /// CUBIC.
    Cubic,
    /// BBR.
    Bbr,
    /// Scalable TCP.
    Scalable,
    /// Not recognised.
    Unknown,
}

/// Class of a flow (BSCL §II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "UPPERCASE")]
pub enum FlowClass {
    /// Locally bottlenecked persistent.
    Lbp,
    /// Remotely bottlenecked persistent.
    Rbp,
    /// Window-limited persistent.
    Wl,
    /// Never leaves slow start.
    Short,
    /// Not TCP.
    Other,
}

/// A value, the range it may lie in, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// Best guess.
    pub value: f64,
    /// Lower end of the range.
    pub low: f64,
    /// Upper end of the range.
    pub high: f64,
    /// What it rests on.
    pub evidence: Evidence,
    /// Number of observations that it rests on.
    pub samples: u64,
}

/// The regime with its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RegimeEstimate {
    /// The regime.
    pub value: Regime,
    /// What it rests on.
    pub evidence: Evidence,
    /// The reason in words.
    pub why: String,
}

/// Whether the flows' maximum rates can reach capacity (OI §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Saturable {
    /// Null when unknown.
    pub value: Option<bool>,
    /// Sum of the maximum rates of the flows that have one, over capacity. Flows
    /// bottlenecked here have none.
    pub bounded_share: f64,
}

/// The quantities that buffer sizing rests on. Null where nothing could be said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Estimates {
    /// N_b: flows bottlenecked here.
    pub n_b: Estimate,
    /// α = mean loss burst over N_b.
    pub alpha: Estimate,
    /// Mean drops per loss event.
    pub mean_loss_burst: Option<Estimate>,
    /// Median drops per loss event.
    pub median_loss_burst: Option<Estimate>,
    /// q: mean fraction of LBP flows that lost in a loss event.
    pub q: Option<Estimate>,
    /// Δ = max(1, `delta_low`, `delta_high`) of UTB.
    pub delta: Option<Estimate>,
    /// (BDP/n) over the 1st percentile of the windows.
    pub delta_low: Option<f64>,
    /// 99th percentile of the windows over (BDP/n).
    pub delta_high: Option<f64>,
    /// Jain's index of the flows' mean windows.
    pub jain: Option<f64>,
    /// 1st percentile of the windows of LBP flows, segments.
    pub window_p01_pkts: Option<f64>,
    /// Mean of D(t) of UTB over the RTTs with a loss.
    pub d_mean: Option<Estimate>,
    /// Largest D(t).
    pub d_max: Option<Estimate>,
    /// Mean of s of UTB over the RTTs with a loss; `high` is the largest.
    pub s: Option<Estimate>,
    /// Fraction of the RTTs with a loss in which the condition of UTB Theorem 5
    /// holds.
    pub condition_fraction: Option<Estimate>,
    /// T_e: harmonic mean of the base RTTs, ms.
    pub t_e_ms: Option<Estimate>,
    /// Arithmetic mean of the base RTTs, ms.
    pub t_mean_ms: Option<Estimate>,
    /// C_e/C: share of the capacity that LBP flows carry.
    pub c_e_share: Estimate,
    /// ρ: offered load over capacity.
    pub rho: Estimate,
    /// Part of `rho` of flows that are not LBP.
    pub rho_other: Estimate,
    /// Regime of the link.
    pub regime: RegimeEstimate,
    /// Whether the link can be filled.
    pub saturable: Saturable,
}

/// Five-tuple of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct FlowKey {
    /// Source address.
    pub src: String,
    /// Destination address.
    pub dst: String,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// IP protocol number.
    pub protocol: u8,
}

/// One flow during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Flow {
    /// Id given by the collector.
    pub flow: u64,
    /// Its five-tuple; null where the collector no longer knows it.
    pub key: Option<FlowKey>,
    /// Class of the flow.
    pub class: FlowClass,
    /// Confidence in the class, 0 to 1.
    pub confidence: f64,
    /// Probability that it is an LBP flow.
    pub p_lbp: f64,
    /// Reason for the class in words.
    pub why: String,
    /// What the class rests on.
    pub evidence: Evidence,
    /// Rate on the wire at the link's egress while active in the window, bits/s.
    pub rate_bps: f64,
    /// Packets that left.
    pub packets: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Part of the window during which it was active.
    pub active_fraction: f64,
    /// Last congestion window, segments.
    pub cwnd: Option<u32>,
    /// Last smoothed RTT, ms.
    pub srtt_ms: Option<f64>,
    /// RTT without the queueing here, ms.
    pub base_rtt_ms: Option<f64>,
    /// Congestion control as recognised.
    pub congestion_control: CongestionControl,
    /// Factor by which it multiplies its window on loss, as seen.
    pub beta: Option<f64>,
    /// Reductions that follow a drop here.
    pub reductions_local: u32,
    /// Reductions without a drop here.
    pub reductions_remote: u32,
}

/// One flow with its link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LinkFlow {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// The flow.
    #[serde(flatten)]
    pub flow: Flow,
}

/// The flows of one link or of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Flows {
    /// The flows, the largest rates of each link first.
    pub flows: Vec<LinkFlow>,
}

/// Utilisation of the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Utilisation {
    /// Bytes that left over capacity; null without a capacity.
    pub mean: Option<f64>,
    /// Fraction of packets that met a non-empty queue.
    pub non_empty: Option<f64>,
    /// 1st percentile over windows of 10 RTTs.
    pub p01: Option<f64>,
    /// Number of these windows.
    pub windows: u64,
}

/// Quantiles of a distribution; null when nothing was seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Quantiles {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

/// Occupancy met by arrivals while one limit was in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Occupancy {
    /// Number of arrivals.
    pub arrivals: u64,
    /// Fraction of the arrivals that met an empty queue.
    pub met_empty: f64,
    /// What the others met, bytes, ascending: each stands for an equal part of
    /// them.
    pub bytes: Vec<f64>,
}

/// Flows per class in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ClassCounts {
    /// Locally bottlenecked persistent.
    pub lbp: u64,
    /// Remotely bottlenecked persistent.
    pub rbp: u64,
    /// Window-limited persistent.
    pub wl: u64,
    /// Never left slow start.
    pub short: u64,
    /// Not TCP.
    pub other: u64,
}

/// One link over one window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LinkEstimate {
    /// Node id of the switch.
    pub node: u32,
    /// Egress port.
    pub port: u32,
    /// Name of the node; empty when it has none.
    pub node_name: String,
    /// Name of the port; empty when it has none.
    pub port_name: String,
    /// Start of the window.
    pub from_ns: u64,
    /// End of the window, exclusive.
    pub to_ns: u64,
    /// Capacity on the wire, bits/s; 0 when not configured.
    pub capacity_bps: u64,
    /// Drain rate in bytes as the queue counts them, bits/s.
    pub queue_drain_bps: f64,
    /// Segment of the LBP flows as the queue counts it, bytes; 0 when no data
    /// packet was seen.
    pub segment_bytes: f64,
    /// Limit in force at the end of the window, bytes; null when not reported or
    /// unlimited.
    pub limit_bytes: Option<u64>,
    /// Utilisation of the link.
    pub utilisation: Utilisation,
    /// Drops over arrivals; 0 without arrivals.
    pub loss_rate: f64,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked CE.
    pub ce_marked: u64,
    /// Queueing delay, ms.
    pub delay_ms: Quantiles,
    /// Occupancy met by arrivals, bytes.
    pub occupancy_bytes: Quantiles,
    /// Distribution of the occupancy met by arrivals. Left out when the limit
    /// changed in the window or is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// Reports lost on the way to the collector.
    pub reports_lost: u64,
    /// Loss events.
    pub loss_events: u64,
    /// Of `drops`, those of LBP flows that lost half of their window or more at
    /// once.
    #[serde(default)]
    pub overshoot_drops: u64,
    /// What buffer sizing rests on.
    pub estimates: Estimates,
    /// Flows per class.
    pub classes: ClassCounts,
    /// Flows of the window, the largest rates first.
    pub flows: Vec<Flow>,
    /// What limits the answer: missing capacity, lost reports, sampling.
    pub caveats: Vec<String>,
}
