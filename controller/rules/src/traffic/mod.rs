// SPDX-License-Identifier: Apache-2.0
//! The measured traffic of one link: the input of every rule and prediction.

mod batches;
mod flow_mix;
mod loss_mix;
mod observation;
mod tried;

pub use batches::{BATCH_S, Batches};
pub use flow_mix::FlowMix;
pub use loss_mix::LossMix;
pub use tried::TriedLimit;

pub use observation::{CongestionControl, Observed, Occupancy, Regime, Synchrony};

use crate::range::Range;
use serde::{Deserialize, Serialize};

/// Largest share of bytes of flows that follow a model of the path at which a rule for flows that
/// heed losses still applies.
const MODEL_BASED_IGNORED: f64 = 0.1;

/// Largest share of bytes of flows that reduce on loss at which a rule for BBR flows still applies;
/// the estimators use the same share to call all flows BBR.
const LOSS_BASED_IGNORED: f64 = 0.02;

/// The measured traffic of one link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Capacity of the link on the wire, bits/s.
    pub capacity_bps: f64,
    /// Rate at which the queue drains, bits/s, in bytes as the queue counts them: capacity · (queue
    /// bytes per packet / wire bytes per packet).
    pub queue_drain_bps: f64,
    /// M: segment size of the LBP flows as the queue counts it, bytes.
    pub segment_bytes: f64,
    /// Limit in force, bytes as the queue counts them; `None` if unlimited or unknown.
    pub limit_bytes: Option<f64>,
    /// N_b, flows bottlenecked here.
    pub n_b: Range,
    /// Number of flows active at the link (for FPQ).
    pub n_active: f64,
    /// α = L̄/N_b.
    pub alpha: Range,
    /// Whether α was measured, because drops were seen, and not assumed.
    pub alpha_measured: bool,
    /// Observed mean fraction of the LBP flows that lost packets in a loss event.
    pub q_observed: Option<Range>,
    /// Δ of UTB.
    pub delta: Option<Range>,
    /// 1st percentile of the windows of the LBP flows, segments.
    pub window_p01_pkts: Option<f64>,
    /// How many flows reduce their window in the same RTT.
    pub synchrony: Option<Synchrony>,
    /// T_e, s.
    pub t_e_s: Range,
    /// Arithmetic mean of the base RTTs, s.
    pub t_mean_s: Range,
    /// Base RTTs of the LBP flows, s, or a sample with the same distribution; empty if unknown.
    #[serde(default)]
    pub base_rtts_s: Vec<f64>,
    /// C_e/C.
    pub c_e_share: Range,
    /// Offered load over capacity.
    pub rho: f64,
    /// Part of `rho` that does not react to congestion at this link.
    pub rho_other: f64,
    /// Regime of the link.
    pub regime: Regime,
    /// Whether the flows' maximum rates can reach capacity; `None` when unknown.
    pub saturable: Option<bool>,
    /// Congestion control of most LBP flows.
    pub congestion_control: CongestionControl,
    /// Mean factor by which the LBP flows multiply their window on loss, over the flows whose
    /// congestion control was recognised; `None` is treated as Reno.
    pub beta: Option<f64>,
    /// Measurement at the limit in force.
    pub observed: Option<Observed>,
    /// Drops of `observed` from flows that lost half of their window or more at once: they follow
    /// slow start and do not determine the windows.
    #[serde(default)]
    pub overshoot_drops: u64,
    /// Share of the LBP flows' bytes that belong to flows whose window follows a model of the path
    /// (BBR), not losses.
    #[serde(default)]
    pub model_based_share: f64,
    /// Drops of `observed` from flows whose window follows a model of the path.
    #[serde(default)]
    pub model_based_drops: u64,
    /// Share of the LBP flows' bytes that belong to flows recognised as Reno, CUBIC or Scalable, in
    /// any mix. The remainder of this and `model_based_share` is of unrecognised flows.
    #[serde(default)]
    pub loss_based_share: f64,
    /// Congestion controls of the flows of the other drops; if unknown, `congestion_control` stands
    /// for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_mix: Option<LossMix>,
    /// Congestion controls of the LBP flows; if unknown, `congestion_control` stands for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_mix: Option<FlowMix>,
    /// Measurements at other limits under the same traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedLimit>,
    /// Constant of the square-root formula (0.87 in BSCL eq. 2) if nothing was measured and the
    /// stacks are today's; `None` = as in the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed_constant: Option<Range>,
    /// Duration of the measurement, s; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds: f64,
    /// Share of the bytes that belong to classified flows; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub understood: Option<f64>,
    /// Whether the queue shares its port; then its capacity is the rate at which it was served.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_port: bool,
    /// Whether two clocks report as the link's node; one may be a recording.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_clocks: bool,
    /// Share of the reports that were lost in transit; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports_lost: Option<f64>,
    /// Occupancy during `observed`; `None` if unknown or if the limit changed meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// Batches of the time of `observed`, from which sampling errors are computed.
    #[serde(default, skip_serializing_if = "Batches::is_empty")]
    pub batches: Batches,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Traffic {
    /// Returns the drain rate of the queue, bytes/s.
    pub fn drain_bytes_per_s(&self) -> f64 {
        self.queue_drain_bps / 8.0
    }

    /// Returns the congestion controls of the flows with drops, BBR excluded.
    pub fn mix(&self) -> LossMix {
        let one = || LossMix::of(self.congestion_control);
        self.loss_mix.unwrap_or_else(one)
    }

    /// Returns the congestion controls of the LBP flows.
    pub fn flow_mix(&self) -> FlowMix {
        self.flow_mix
            .unwrap_or_else(|| FlowMix::of([self.congestion_control]))
    }

    /// Returns the loss events at the limit in force: drops over L̄ = α·N_b, at least 1. Drops come
    /// in bursts of L̄, and bursts are counted. The spread of the batches limits the number if
    /// bursts depend on each other.
    pub fn loss_events(&self) -> f64 {
        let burst = if self.alpha_measured {
            (self.alpha.value * self.n_b.value).max(1.0)
        } else {
            1.0
        };
        let events = self.observed.map_or(1.0, |o| {
            let spread = self.batches.loss_events(o.loss_rate);
            (o.drops as f64 / burst).min(spread.unwrap_or(f64::INFINITY))
        });
        events.max(1.0)
    }

    /// Returns whether flows are bottlenecked at this link.
    pub fn lbp_present(&self) -> bool {
        self.n_b.value >= 1.0 && self.regime != Regime::Transparent && self.saturable != Some(false)
    }

    /// Whether the LBP flows, except for a tenth of their bytes, multiply their windows down on
    /// loss; `None` if unknown. DCTCP reduces by the share of its marks, which take the place of
    /// losses.
    pub fn heeds_loss(&self) -> Option<bool> {
        match self.congestion_control {
            CongestionControl::Bbr | CongestionControl::Dctcp => Some(false),
            _ if self.model_based_share > MODEL_BASED_IGNORED => Some(false),
            CongestionControl::Unknown => {
                // A known mix heeds losses as each of its controls alone would.
                (self.loss_based_share >= 1.0 - MODEL_BASED_IGNORED).then_some(true)
            }
            _ => Some(true),
        }
    }

    /// Whether all LBP flows follow a model of the path (BBR); `None` if unknown.
    pub fn all_model_based(&self) -> Option<bool> {
        match self.congestion_control {
            CongestionControl::Bbr => Some(true),
            CongestionControl::Unknown => {
                (self.loss_based_share > LOSS_BASED_IGNORED).then_some(false)
            }
            _ => Some(false),
        }
    }

    /// Whether the LBP flows reduce by the share of their marks; `None` if unknown.
    pub fn heeds_share_of_marks(&self) -> Option<bool> {
        match self.congestion_control {
            CongestionControl::Dctcp => Some(true),
            CongestionControl::Unknown => {
                (self.loss_based_share > LOSS_BASED_IGNORED).then_some(false)
            }
            _ => Some(false),
        }
    }

    /// Returns traffic described by hand instead of measured (for the calculator): all flows LBP,
    /// default α (0.55), no drops seen.
    pub fn described(capacity_bps: f64, rtt_s: f64, flows: f64, segment_bytes: f64) -> Self {
        Self {
            capacity_bps,
            queue_drain_bps: capacity_bps,
            segment_bytes,
            n_b: Range::exact(flows),
            n_active: flows,
            alpha: Range::new(crate::bscl::DEFAULT_ALPHA, 0.4, 0.7),
            t_e_s: Range::exact(rtt_s),
            t_mean_s: Range::exact(rtt_s),
            c_e_share: Range::exact(1.0),
            rho: 1.0,
            regime: if flows >= 1.0 {
                Regime::Elastic
            } else {
                Regime::Transparent
            },
            ..Self::default()
        }
    }
}
