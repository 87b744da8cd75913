// SPDX-License-Identifier: Apache-2.0
//! Kind of the traffic, and its performance at the limit in force.

use serde::{Deserialize, Serialize};

/// Regime of a link (NGI §III).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// No flow is bottlenecked here and the sum of rates is below capacity.
    Transparent,
    /// Some flows are bottlenecked here, and the other traffic leaves them room.
    Elastic,
    /// Inelastic traffic fills the link, or drops persist at minimum windows.
    Overload,
    /// Too little was seen to tell.
    #[default]
    Unknown,
}

impl Regime {
    /// Name of the regime in sentences.
    pub fn label(self) -> &'static str {
        match self {
            Regime::Transparent => "transparent",
            Regime::Elastic => "elastic",
            Regime::Overload => "overload",
            Regime::Unknown => "unknown",
        }
    }
}

/// Congestion control as recognised from the evolution of the window.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    /// TCP Reno: halves its window on loss.
    Reno,
    /// CUBIC as implemented in Linux.
    Cubic,
    /// BBR v1: follows a model of the path, not losses.
    Bbr,
    /// Scalable TCP.
    Scalable,
    /// DCTCP and similar: reduces by half the share of its packets that were marked.
    Dctcp,
    /// Not recognised.
    #[default]
    Unknown,
}

/// How reductions of different flows coincide (UTB §4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synchrony {
    /// Mean of D(t), the number of flows that reduce in one RTT, over RTTs with a loss.
    pub d_mean: f64,
    /// Mean of s = max(0, D − n²/(Δ·BDP)).
    pub s_mean: f64,
    /// Maximum of s: eq. 3 of UTB is about the worst RTT. 0 if unknown.
    #[serde(default)]
    pub s_max: f64,
    /// Fraction of the RTTs with a loss in which D ≤ n²/(Δ·BDP) + √n.
    pub condition_fraction: f64,
}

/// Utilisation, loss and delay as measured at the limit in force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Observed {
    /// Mean utilisation, fraction.
    pub utilisation: f64,
    /// Drops over arrivals.
    pub loss_rate: f64,
    /// Number of drops behind `loss_rate`.
    pub drops: u64,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
    /// Median queueing delay, ms.
    pub delay_p50_ms: f64,
    /// 99th percentile of the queueing delay, ms.
    pub delay_p99_ms: f64,
    /// Maximum queueing delay, ms.
    pub delay_max_ms: f64,
}

/// Queue occupancy seen by arriving packets while one limit was in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Occupancy {
    /// Number of arrivals counted.
    pub arrivals: u64,
    /// Fraction of the arrivals that found the queue empty.
    pub met_empty: f64,
    /// Occupancies seen by the other arrivals, bytes, ascending: each represents an equal share of
    /// these arrivals.
    pub bytes: Vec<f64>,
}
