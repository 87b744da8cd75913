// SPDX-License-Identifier: Apache-2.0
//! A flow over one window.

use super::estimate::Evidence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tidemark_rules::CongestionControl;

/// Class of a flow (BSCL §II).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
    /// Acknowledgements only, or datagrams that follow no clock of acknowledgements.
    #[serde(rename = "OTHER")]
    Other,
}

impl FlowClass {
    /// Name for use in sentences.
    pub fn label(self) -> &'static str {
        match self {
            FlowClass::Lbp => "LBP",
            FlowClass::Rbp => "RBP",
            FlowClass::Wl => "WL",
            FlowClass::Short => "SHORT",
            FlowClass::Other => "OTHER",
        }
    }

    /// Position in a list for people: classes that decide the buffer come first. Short flows and
    /// flows that are not TCP decide nothing, and share one position.
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FlowKey")]
pub struct FlowKeyText {
    /// Source address.
    pub src: String,
    /// Destination address.
    pub dst: String,
    /// Source port; 0 if the protocol has none.
    pub src_port: u16,
    /// Destination port; 0 if the protocol has none.
    pub dst_port: u16,
    /// IP protocol number.
    pub protocol: u8,
}

/// One flow during the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Flow")]
pub struct FlowEstimate {
    /// Id given by the collector.
    pub flow: u64,
    /// Five-tuple; `None` if the collector did not describe the flow.
    pub key: Option<FlowKeyText>,
    /// Most likely class.
    pub class: FlowClass,
    /// Confidence in the class, 0 to 1.
    pub confidence: f64,
    /// Probability that the flow is LBP.
    pub p_lbp: f64,
    /// Reason in words.
    pub why: String,
    /// Evidence behind the class.
    pub evidence: Evidence,
    /// Rate on the wire at the link's egress while active in the window, bits/s.
    pub rate_bps: f64,
    /// Packets that left in the window, scaled up for sampling.
    pub packets: u64,
    /// Packets dropped here in the window; null if no report can show a drop (INT-MD).
    pub drops: Option<u64>,
    /// Part of the window during which the flow was active, without pauses.
    pub active_fraction: f64,
    /// Last congestion window, segments.
    pub cwnd: Option<u32>,
    /// Last smoothed RTT at the sender, ms.
    pub srtt_ms: Option<f64>,
    /// RTT without queueing, ms.
    pub base_rtt_ms: Option<f64>,
    /// Congestion control recognised from the reductions.
    pub congestion_control: CongestionControl,
    /// Observed factor by which a loss multiplies the window.
    pub beta: Option<f64>,
    /// Reductions that follow a drop here.
    pub reductions_local: u32,
    /// Reductions without a drop here.
    pub reductions_remote: u32,
}

/// At most `most` of the flows, largest rates first. If not all fit, short flows are left out
/// first, LBP flows last.
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
