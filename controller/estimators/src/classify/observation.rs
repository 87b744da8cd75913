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

/// Round trip of a flow of which none is known, s.
const SHORT_RTT_S: f64 = 0.1;

/// All that the log-odds of a flow follow from. Pure data, so that the
/// calibration can weigh it again with other weights.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// The sender's window is seen.
    pub probed: bool,
    /// Every packet is reported.
    pub unsampled: bool,
    /// The window follows a model of the path (BBR).
    pub model_based: bool,
    /// A greedy flow can have its bottleneck at this link.
    pub busy: bool,
    /// The flow lost packets here, or they were marked.
    pub dropped_here: bool,
    /// More of its packets were marked here than dropped.
    pub marked_here: bool,
    /// Reductions after a drop here, those long ago counting less.
    pub local: f64,
    /// Reductions without a drop here, those long ago counting less.
    pub remote: f64,
    /// Number of reductions.
    pub reductions: u32,
    /// Number of reductions after a drop here.
    pub reductions_local: u32,
    /// Base RTT, where it is known how long packets wait, s.
    pub wait_base_s: Option<f64>,
    /// Median time that packets wait here, s.
    pub wait_here_s: Option<f64>,
    /// Median time that packets wait elsewhere, s.
    pub wait_elsewhere_s: Option<f64>,
    /// Mean packets in flight.
    pub in_flight_pkts: Option<f64>,
    /// Mean round trip, where the base RTT is known, s.
    pub rtt_s: Option<f64>,
    /// Packets of the flow that are remembered.
    pub packets: f64,
    /// Drops at the link in the window, and round trips of flows with CE marks.
    pub link_drops: u64,
    /// `link_drops` over the arrivals of the link.
    pub link_loss_rate: f64,
    /// 90th percentile of the packets in flight, where their shape is known.
    pub top_pkts: Option<f64>,
    /// Share of the time at that top.
    pub at_top: f64,
    /// Round trips that the shape rests on.
    pub shape_rtts: f64,
    /// Segments per RTT by which the packets in flight grow between losses.
    pub growth: Option<f64>,
    /// Round trips that the growth rests on.
    pub growth_rtts: f64,
    /// Most packets in flight of an unprobed flow, where that is seen.
    pub most_pkts: Option<f64>,
    /// Times without a loss that were long enough for one more.
    pub grown_past: u32,
    /// Share of its packets that earlier ones of it clock, where enough came to tell.
    pub echo_share: Option<f64>,
    /// Rate over the link's capacity; 0 where that is not known.
    pub rate_share: f64,
    /// Takes nearly all of the link, and its packets wait here.
    pub fills_link: bool,
    /// Share of the samples with in flight well below both windows.
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
            // The window law is of halvings.
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

/// Packets of the flow that are remembered, sampling undone.
pub(super) fn packets(flow: &FlowWindow<'_>) -> f64 {
    flow.life.reported as f64 * flow.sampling
}
