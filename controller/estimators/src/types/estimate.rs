// SPDX-License-Identifier: Apache-2.0
//! A value with its range, and all estimates of a link.

use serde::{Deserialize, Serialize};
use tidemark_rules::Regime;

/// Kind of evidence behind an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// The senders' windows (tcp_probe).
    Probed,
    /// Only the switch's reports.
    Passive,
    /// Some flows are probed, some are not.
    Mixed,
    /// Nothing was observed; the value comes from the literature.
    Assumed,
}

impl Evidence {
    /// Evidence of a value computed from several flows.
    pub(crate) fn of(flows: impl Iterator<Item = Self>) -> Self {
        let of: Vec<Self> = flows.collect();
        match (of.contains(&Self::Probed), of.contains(&Self::Passive)) {
            (true, true) => Self::Mixed,
            (true, false) => Self::Probed,
            _ => Self::Passive,
        }
    }

    /// Name for use in sentences.
    pub fn label(self) -> &'static str {
        match self {
            Evidence::Probed => "probed",
            Evidence::Passive => "passive",
            Evidence::Mixed => "mixed",
            Evidence::Assumed => "assumed",
        }
    }
}

/// A value, its range, and the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Estimate {
    /// The best guess.
    pub value: f64,
    /// Lower end of the range, at most `value`.
    pub low: f64,
    /// Upper end of the range, at least `value`.
    pub high: f64,
    /// Evidence behind the value.
    pub evidence: Evidence,
    /// Number of observations behind the value.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RegimeEstimate {
    /// Transparent, elastic or overload (NGI §III).
    pub value: Regime,
    /// Evidence behind it.
    pub evidence: Evidence,
    /// Reason in words.
    pub why: String,
}

/// Whether the flows' maximum rates can reach capacity (OI §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Saturable {
    /// `None` if the capacity is not known.
    pub value: Option<bool>,
    /// Sum of the maximum rates of the flows that have one, over capacity; flows bottlenecked here
    /// have no maximum.
    pub bounded_share: f64,
}

/// All estimates of one link. `None` if a quantity cannot be estimated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Estimates {
    /// N_b: number of flows bottlenecked here, each weighted by the part of the window in which it
    /// was active (BSCL §VI).
    pub n_b: Estimate,
    /// α = L̄/N_b (BSCL eq. 17).
    pub alpha: Estimate,
    /// L̄: mean drops per loss event, packets (BSCL §III-C).
    pub mean_loss_burst: Option<Estimate>,
    /// Median drops per loss event, packets.
    pub median_loss_burst: Option<Estimate>,
    /// q̂: mean fraction of LBP flows that lost a packet in a loss event (BSCL eq. 13).
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
    /// Mean of D(t), the number of LBP flows with a drop in an RTT, over the RTTs with a loss (UTB
    /// §4).
    pub d_mean: Option<Estimate>,
    /// Largest D(t).
    pub d_max: Option<Estimate>,
    /// Mean of s = max(0, D − n²/(Δ·BDP)) over the RTTs with a loss (UTB §4); `high` is the largest
    /// s.
    pub s: Option<Estimate>,
    /// Fraction of the RTTs with a loss in which UTB Theorem 5's condition holds.
    pub condition_fraction: Option<Estimate>,
    /// T_e: harmonic mean of the LBP flows' base RTTs, ms (BSCL eq. 12).
    pub t_e_ms: Option<Estimate>,
    /// Arithmetic mean of the LBP flows' base RTTs, ms.
    pub t_mean_ms: Option<Estimate>,
    /// C_e/C: wire bytes that left from LBP flows, over capacity (BSCL).
    pub c_e_share: Estimate,
    /// ρ: offered load over capacity (NGI §III).
    pub rho: Estimate,
    /// Part of `rho` that comes from flows that are not LBP.
    pub rho_other: Estimate,
    /// Regime of the link (NGI §III).
    pub regime: RegimeEstimate,
    /// Whether the flows can fill the link at all (OI §3.2).
    pub saturable: Saturable,
}
