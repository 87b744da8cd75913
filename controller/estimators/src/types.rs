// SPDX-License-Identifier: Apache-2.0
//! What an estimate looks like, in Rust and in JSON.

use serde::{Deserialize, Serialize};
pub use tidemark_rules::{CongestionControl, Occupancy, Regime};

/// An egress queue's link: a port of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LinkId {
    /// Node, as configured at the switch.
    pub node_id: u32,
    /// Egress port of the node.
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

impl Evidence {
    /// Its name in sentences.
    pub fn label(self) -> &'static str {
        match self {
            Evidence::Probed => "probed",
            Evidence::Passive => "passive",
            Evidence::Mixed => "mixed",
            Evidence::Assumed => "assumed",
        }
    }
}

/// A value, the range it may lie in, and what it rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// Lower end of the range, at most `value`.
    pub low: f64,
    /// Upper end of the range, at least `value`.
    pub high: f64,
    /// What the value rests on.
    pub evidence: Evidence,
    /// Number of observations that the value rests on.
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
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct RegimeEstimate {
    /// Transparent, elastic or overload (NGI §III).
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
    /// `None` where no capacity is known.
    pub value: Option<bool>,
    /// Sum of the maximum rates of the flows that have one, over capacity;
    /// flows bottlenecked here have none.
    pub bounded_share: f64,
}

/// Everything estimated of one link. `None` where nothing could be said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Estimates {
    /// N_b: flows bottlenecked here, each weighted by the part of the window in
    /// which it was active (BSCL §VI).
    pub n_b: Estimate,
    /// α = L̄/N_b (BSCL eq. 17).
    pub alpha: Estimate,
    /// L̄: mean drops per loss event, packets (BSCL §III-C).
    pub mean_loss_burst: Option<Estimate>,
    /// Median drops per loss event, packets.
    pub median_loss_burst: Option<Estimate>,
    /// q̂: mean fraction of LBP flows that lost in a loss event (BSCL eq. 13).
    pub q: Option<Estimate>,
    /// Δ = max(1, Δ_low, Δ_high) (UTB §4.1).
    pub delta: Option<Estimate>,
    /// Δ_low = (BDP/n)/w_p01, with w_p01 the 1st percentile of the windows.
    pub delta_low: Option<f64>,
    /// Δ_high = w_p99/(BDP/n), with w_p99 the 99th percentile of the windows.
    pub delta_high: Option<f64>,
    /// Jain's index of the flows' mean windows (UTB §5.6), 1/n to 1.
    pub jain: Option<f64>,
    /// 1st percentile of the windows of LBP flows, segments.
    pub window_p01_pkts: Option<f64>,
    /// Mean of D(t), the LBP flows with a drop in an RTT, over the RTTs with a
    /// loss (UTB §4).
    pub d_mean: Option<Estimate>,
    /// Largest D(t).
    pub d_max: Option<Estimate>,
    /// Mean of s = max(0, D − n²/(Δ·BDP)) over the RTTs with a loss (UTB §4);
    /// `high` is the largest.
    pub s: Option<Estimate>,
    /// Fraction of the RTTs with a loss in which UTB Theorem 5's condition holds.
    pub condition_fraction: Option<Estimate>,
    /// T_e: harmonic mean of the LBP flows' base RTTs, ms (BSCL eq. 12).
    pub t_e_ms: Option<Estimate>,
    /// Arithmetic mean of the LBP flows' base RTTs, ms.
    pub t_mean_ms: Option<Estimate>,
    /// C_e/C: wire bytes of LBP flows that left, over capacity (BSCL).
    pub c_e_share: Estimate,
    /// ρ: offered load over capacity (NGI §III).
    pub rho: Estimate,
    /// Part of `rho` of flows that are not LBP.
    pub rho_other: Estimate,
    /// Regime of the link (NGI §III).
    pub regime: RegimeEstimate,
    /// Whether the flows can fill the link at all (OI §3.2).
    pub saturable: Saturable,
}

/// Class of a flow (BSCL §II).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
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

impl FlowClass {
    /// Its name in sentences.
    pub fn label(self) -> &'static str {
        match self {
            FlowClass::Lbp => "LBP",
            FlowClass::Rbp => "RBP",
            FlowClass::Wl => "WL",
            FlowClass::Short => "SHORT",
            FlowClass::Other => "OTHER",
        }
    }

    /// Its place in a list for people: what decides the buffer comes first. Short
    /// flows and those that are not TCP decide nothing, and have one place.
    pub fn place(self) -> u8 {
        match self {
            FlowClass::Lbp => 0,
            FlowClass::Rbp => 1,
            FlowClass::Wl => 2,
            FlowClass::Short | FlowClass::Other => 3,
        }
    }
}

/// Five-tuple as text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(schemars::JsonSchema),
    schemars(rename = "FlowKey")
)]
pub struct FlowKeyText {
    /// Source address.
    pub src: String,
    /// Destination address.
    pub dst: String,
    /// Source port; 0 where the protocol has none.
    pub src_port: u16,
    /// Destination port; 0 where the protocol has none.
    pub dst_port: u16,
    /// IP protocol number.
    pub protocol: u8,
}

/// One flow during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(schemars::JsonSchema),
    schemars(rename = "Flow")
)]
pub struct FlowEstimate {
    /// Id given by the collector.
    pub flow: u64,
    /// Its five-tuple; `None` where the collector did not describe it.
    pub key: Option<FlowKeyText>,
    /// The class that is most likely.
    pub class: FlowClass,
    /// How sure the class is, 0 to 1.
    pub confidence: f64,
    /// Probability that it is an LBP flow.
    pub p_lbp: f64,
    /// Reason in words.
    pub why: String,
    /// What the class rests on.
    pub evidence: Evidence,
    /// Rate on the wire at the link's egress while active in the window, bits/s.
    pub rate_bps: f64,
    /// Packets that left in the window, sampling undone.
    pub packets: u64,
    /// Its packets dropped here in the window.
    pub drops: u64,
    /// Part of the window during which it was active.
    pub active_fraction: f64,
    /// Last window, segments.
    pub cwnd: Option<u32>,
    /// Last smoothed RTT of the sender, ms.
    pub srtt_ms: Option<f64>,
    /// RTT without queueing, ms.
    pub base_rtt_ms: Option<f64>,
    /// Congestion control as recognised by its reductions.
    pub congestion_control: CongestionControl,
    /// Factor by which it multiplies its window on loss, as seen.
    pub beta: Option<f64>,
    /// Reductions that follow a drop here.
    pub reductions_local: u32,
    /// Reductions without a drop here.
    pub reductions_remote: u32,
}

/// Utilisation of the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct LinkEstimate {
    /// Node of the link.
    pub node: u32,
    /// Egress port of the node.
    pub port: u32,
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
    /// Drops over arrivals; 0 without arrivals.
    pub loss_rate: f64,
    /// Packets that came to the queue, those dropped included, sampling undone.
    pub arrivals: u64,
    /// Packets dropped.
    pub drops: u64,
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
    /// Reports that did not reach the collector.
    pub reports_lost: u64,
    /// Groups of drops closer than T_e to one another (BSCL §III-C).
    pub loss_events: u64,
    /// Of `drops`, those of LBP flows that lost half of their window or more at
    /// once.
    #[serde(default)]
    pub overshoot_drops: u64,
    /// What decides the buffer.
    pub estimates: Estimates,
    /// Flows per class.
    pub classes: ClassCounts,
    /// Flows of the window, the largest rates first. Of very many, those with a
    /// class other than short; `classes` counts all.
    pub flows: Vec<FlowEstimate>,
    /// What limits the answer: missing capacity, lost reports, sampling, …
    pub caveats: Vec<String>,
}

/// At most `most` of the flows, the largest rates first. Where not all fit, the
/// bottlenecked come before the others, and short ones last.
pub fn foremost(mut flows: Vec<FlowEstimate>, most: usize) -> Vec<FlowEstimate> {
    let by_rate = |a: &FlowEstimate, b: &FlowEstimate| {
        b.rate_bps.total_cmp(&a.rate_bps).then(a.flow.cmp(&b.flow))
    };
    let rank = |f: &FlowEstimate| match f.class {
        FlowClass::Lbp => 0,
        FlowClass::Rbp | FlowClass::Wl => 1,
        FlowClass::Other => 2,
        FlowClass::Short => 3,
    };
    if flows.len() > most {
        flows.sort_by(|a, b| rank(a).cmp(&rank(b)).then(by_rate(a, b)));
        flows.truncate(most);
    }
    flows.sort_by(by_rate);
    flows
}
