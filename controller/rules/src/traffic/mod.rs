// SPDX-License-Identifier: Apache-2.0
//! The measured traffic of one link: what every rule and prediction is given.

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

/// Part of the bytes that may be of flows which follow a model of the path,
/// where a rule is about flows that heed losses.
const MODEL_BASED_IGNORED: f64 = 0.1;

/// Part of the bytes that may be of flows which reduce on loss, where a rule is about
/// flows of BBR alone. As little as the estimators let pass before they call all BBR.
const LOSS_BASED_IGNORED: f64 = 0.02;

/// The measured traffic of one link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Capacity of the link on the wire, bits/s.
    pub capacity_bps: f64,
    /// Rate at which the queue drains, in bits/s of bytes as the queue counts
    /// them: capacity · (queue bytes per packet / wire bytes per packet).
    pub queue_drain_bps: f64,
    /// M: segment of the LBP flows as the queue counts it, bytes.
    pub segment_bytes: f64,
    /// Limit in force, bytes as the queue counts them; `None` when unlimited or
    /// not known.
    pub limit_bytes: Option<f64>,
    /// N_b, flows bottlenecked here.
    pub n_b: Range,
    /// All flows active at the link (for FPQ).
    pub n_active: f64,
    /// α = L̄/N_b.
    pub alpha: Range,
    /// Drops were seen, so that α is measured and not assumed.
    pub alpha_measured: bool,
    /// Mean fraction of LBP flows that lost in an event, as observed.
    pub q_observed: Option<Range>,
    /// Δ of UTB.
    pub delta: Option<Range>,
    /// 1st percentile of the windows of the LBP flows, segments.
    pub window_p01_pkts: Option<f64>,
    /// How many flows reduce in one RTT.
    pub synchrony: Option<Synchrony>,
    /// T_e, s.
    pub t_e_s: Range,
    /// Arithmetic mean of the base RTTs, s.
    pub t_mean_s: Range,
    /// Base RTTs of the LBP flows, s, or as many that are spread like them; empty
    /// when not known.
    #[serde(default)]
    pub base_rtts_s: Vec<f64>,
    /// C_e/C.
    pub c_e_share: Range,
    /// Offered load over capacity.
    pub rho: f64,
    /// Part of `rho` that does not react to this link.
    pub rho_other: f64,
    /// Regime of the link.
    pub regime: Regime,
    /// Whether the flows' maximum rates can reach capacity; `None` when unknown.
    pub saturable: Option<bool>,
    /// Congestion control of most LBP flows.
    pub congestion_control: CongestionControl,
    /// Mean factor by which the LBP flows multiply their window on loss, as far
    /// as their congestion control was recognised; `None` is taken for Reno.
    pub beta: Option<f64>,
    /// Measurement at the limit in force.
    pub observed: Option<Observed>,
    /// Of the drops of `observed`, those of flows that lost half of their
    /// window and more at once: what follows slow start, and not what sets the
    /// windows.
    #[serde(default)]
    pub overshoot_drops: u64,
    /// Of the bytes of the LBP flows, the part of those whose window follows a
    /// model of the path (BBR) and not its losses.
    #[serde(default)]
    pub model_based_share: f64,
    /// Their drops, of those of `observed`.
    #[serde(default)]
    pub model_based_drops: u64,
    /// Of the bytes of the LBP flows, the part of those recognised as Reno, CUBIC or
    /// Scalable, in whatever mix. What this and `model_based_share` leave is of flows
    /// that were not recognised.
    #[serde(default)]
    pub loss_based_share: f64,
    /// Which congestion controls the other drops are of; where it is not known,
    /// `congestion_control` stands for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_mix: Option<LossMix>,
    /// Which congestion controls the LBP flows have; where it is not known,
    /// `congestion_control` stands for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flow_mix: Option<FlowMix>,
    /// Measurements at other limits under the same traffic.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<TriedLimit>,
    /// Constant of the square-root formula (BSCL eq. 2 has 0.87) where nothing
    /// was measured and the stacks are of today; `None` = as the paper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed_constant: Option<Range>,
    /// Time that was measured, s; 0 where it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seconds: f64,
    /// Share of the bytes that are of flows that were understood; `None` where it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub understood: Option<f64>,
    /// The queue shares its port: its capacity is the rate at which it was served.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shares_port: bool,
    /// Two clocks speak as the link's node, of which one may be a recording.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub two_clocks: bool,
    /// Share of the reports that were lost on their way; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reports_lost: Option<f64>,
    /// Occupancy during `observed`; `None` when not known, or when the limit
    /// changed in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
    /// Parts of the time of `observed`, which tell its sampling errors.
    #[serde(default, skip_serializing_if = "Batches::is_empty")]
    pub batches: Batches,
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Traffic {
    /// Drain rate of the queue, bytes/s.
    pub fn drain_bytes_per_s(&self) -> f64 {
        self.queue_drain_bps / 8.0
    }

    /// Which congestion controls the drops are of that are not BBR's.
    pub fn mix(&self) -> LossMix {
        let one = || LossMix::of(self.congestion_control);
        self.loss_mix.unwrap_or_else(one)
    }

    /// Which congestion controls the LBP flows have.
    pub fn flow_mix(&self) -> FlowMix {
        self.flow_mix
            .unwrap_or_else(|| FlowMix::of([self.congestion_control]))
    }

    /// Loss events at the limit in force: drops over L̄ = α·N_b, at least 1. Drops
    /// come in bursts of L̄, and bursts are what is counted. Bursts that depend on each
    /// other are no more than the spread of the batches has room for.
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

    /// Whether flows wait for this link.
    pub fn lbp_present(&self) -> bool {
        self.n_b.value >= 1.0 && self.regime != Regime::Transparent && self.saturable != Some(false)
    }

    /// Whether the LBP flows multiply their windows down on loss, all but a
    /// tenth of their bytes; `None` when that is not known. DCTCP's marks are its losses, and
    /// it reduces by their share.
    pub fn heeds_loss(&self) -> Option<bool> {
        match self.congestion_control {
            CongestionControl::Bbr | CongestionControl::Dctcp => Some(false),
            _ if self.model_based_share > MODEL_BASED_IGNORED => Some(false),
            CongestionControl::Unknown => {
                // A known mix heeds losses as one of its controls alone would.
                (self.loss_based_share >= 1.0 - MODEL_BASED_IGNORED).then_some(true)
            }
            _ => Some(true),
        }
    }

    /// Whether all LBP flows follow a model of the path (BBR); `None` when that is not
    /// known.
    pub fn all_model_based(&self) -> Option<bool> {
        match self.congestion_control {
            CongestionControl::Bbr => Some(true),
            CongestionControl::Unknown => {
                (self.loss_based_share > LOSS_BASED_IGNORED).then_some(false)
            }
            _ => Some(false),
        }
    }

    /// True of LBP flows that reduce by the share of their marks; `None` when that is not
    /// known.
    pub fn heeds_share_of_marks(&self) -> Option<bool> {
        match self.congestion_control {
            CongestionControl::Dctcp => Some(true),
            CongestionControl::Unknown => {
                (self.loss_based_share > LOSS_BASED_IGNORED).then_some(false)
            }
            _ => Some(false),
        }
    }

    /// A situation described by hand instead of measured (the calculator):
    /// everything LBP, default α (0.55), no drops seen.
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
