// SPDX-License-Identifier: Apache-2.0
//! The classifier's observations of one flow, as plain numbers.

use super::context::LinkContext;
use super::facts::Facts;
use crate::config::EstimatorConfig;
use crate::congestion_control::Recognised;
use crate::echo::Echo;
use crate::reductions::Reduction;
use crate::types::CongestionControl;
use crate::window::FlowWindow;
use serde::{Deserialize, Serialize};

/// RTT assumed for a flow whose RTT is unknown, s.
const SHORT_RTT_S: f64 = 0.1;

/// Inputs of a flow's log-odds. Plain data, so that the calibration can evaluate them again with
/// other weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// Whether the sender's window is known.
    pub probed: bool,
    /// Whether every packet is reported.
    pub unsampled: bool,
    /// Whether the window follows a model of the path (BBR).
    pub model_based: bool,
    /// Whether a greedy flow can have its bottleneck at this link.
    pub busy: bool,
    /// Whether packets of the flow were dropped or CE-marked here.
    pub dropped_here: bool,
    /// Whether more of the flow's packets were CE-marked here than dropped.
    pub marked_here: bool,
    /// Number of reductions after a drop here, weighted less with age.
    pub local: f64,
    /// Number of reductions without a drop here, weighted less with age.
    pub remote: f64,
    /// Number of reductions.
    pub reductions: u32,
    /// Number of reductions after a drop here.
    pub reductions_local: u32,
    /// Base RTT, if the waiting times are known, s.
    pub wait_base_s: Option<f64>,
    /// Median time that packets wait here, s.
    pub wait_here_s: Option<f64>,
    /// Median time that packets wait elsewhere, s.
    pub wait_elsewhere_s: Option<f64>,
    /// Mean packets in flight.
    pub in_flight_pkts: Option<f64>,
    /// Mean RTT, if the base RTT is known, s.
    pub rtt_s: Option<f64>,
    /// Number of packets in the flow's history, scaled up for sampling.
    pub packets: f64,
    /// Drops at the link in the window, plus round trips in which a flow was CE-marked.
    pub link_drops: u64,
    /// `link_drops` over the arrivals of the link.
    pub link_loss_rate: f64,
    /// 90th percentile of the packets in flight, if their shape is known.
    pub top_pkts: Option<f64>,
    /// Share of the time at `top_pkts`.
    pub at_top: f64,
    /// Number of round trips in the shape.
    pub shape_rtts: f64,
    /// Segments per RTT by which the packets in flight grow between losses.
    pub growth: Option<f64>,
    /// Number of round trips over which `growth` is measured.
    pub growth_rtts: f64,
    /// Most packets in flight of an unprobed flow, if known.
    pub most_pkts: Option<f64>,
    /// Stretches without a loss that were long enough to grow by one more packet.
    pub grown_past: u32,
    /// Arrivals clocked by a departure, per departure, if there are enough packets to tell.
    pub echo_share: Option<f64>,
    /// Rate over the link's capacity; 0 if the capacity is unknown.
    pub rate_share: f64,
    /// Whether the flow takes nearly all of the link's capacity and its packets wait here.
    pub fills_link: bool,
    /// Share of samples whose bytes in flight are well below both windows.
    pub held_back: f64,
}

impl Observation {
    pub(super) fn of(
        flow: &FlowWindow<'_>,
        link: &LinkContext,
        config: &EstimatorConfig,
        reductions: &[Reduction],
        recognised: &Recognised,
        facts: &Facts,
    ) -> Self {
        let mut o = Self {
            probed: flow.probed(),
            unsampled: flow.sampling <= 1.0,
            model_based: recognised.cc == CongestionControl::Bbr,
            busy: link.busy(),
            dropped_here: !flow.signals_ns.is_empty(),
            marked_here: flow.life.share_of_marks().is_some(),
            wait_base_s: facts.waiting.map(|w| w.base_s),
            wait_here_s: facts.waiting.map(|w| w.here_s),
            wait_elsewhere_s: facts.waiting.map(|w| w.elsewhere_s),
            in_flight_pkts: facts.in_flight_pkts,
            rtt_s: facts.rtt_s,
            packets: packets(flow),
            // The window law assumes halvings.
            link_drops: if recognised.cc == CongestionControl::Dctcp {
                0
            } else {
                link.signals
            },
            link_loss_rate: link.signal_rate,
            echo_share: facts.echo.filter(Echo::tells).map(|e| e.share),
            rate_share: link
                .capacity_bytes_per_s
                .map_or(0.0, |c| facts.bytes_per_s / c),
            held_back: facts.held_back,
            ..Self::default()
        };
        if let Some(shape) = facts.shape {
            o.top_pkts = Some(shape.top);
            o.at_top = shape.at_top;
            o.shape_rtts = shape.rtts;
            o.growth = shape.growth;
            o.growth_rtts = shape.growth_rtts;
        }
        if let Some(ceiling) = facts.ceiling {
            o.most_pkts = Some(ceiling.packets as f64);
            o.grown_past = ceiling.grown_past;
        }
        let lookback_ns = (2e9 * facts.rtt_s.unwrap_or(SHORT_RTT_S)) as u64;
        for r in reductions.iter().filter(|r| r.counts) {
            let age_s = link.to_ns.saturating_sub(r.time_ns) as f64 / 1e9;
            let weight = (-age_s / config.memory_s.max(1e-3)).exp();
            o.reductions += 1;
            if r.local {
                o.reductions_local += 1;
                o.local += weight;
            } else {
                o.remote += weight * (1.0 - link.hidden(r.time_ns, lookback_ns));
            }
        }
        o
    }
}

/// Returns the number of packets in the flow's history, scaled up for sampling.
pub(super) fn packets(flow: &FlowWindow<'_>) -> f64 {
    flow.life.reported as f64 * flow.sampling
}
