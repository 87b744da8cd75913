// SPDX-License-Identifier: Apache-2.0
//! Kind of the traffic, and what it got at the limit in force.

use serde::{Deserialize, Serialize};

/// Regime of a link (NGI §III).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Regime {
    /// No flow is bottlenecked here and the sum of rates is below capacity.
    Transparent,
    /// Some flows are bottlenecked here, the rest leaves them room.
    Elastic,
    /// Traffic that is not elastic fills the link, or drops persist at minimum windows.
    Overload,
    /// Not enough was seen.
    #[default]
    Unknown,
}

impl Regime {
    /// Its name in sentences.
    pub fn label(self) -> &'static str {
        match self {
            Regime::Transparent => "transparent",
            Regime::Elastic => "elastic",
            Regime::Overload => "overload",
            Regime::Unknown => "unknown",
        }
    }
}

/// Congestion control as recognised from a window's trajectory.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    /// TCP Reno: halves its window on loss.
    Reno,
    /// CUBIC as Linux has it.
    Cubic,
    /// BBR v1: follows a model of the path, not losses.
    Bbr,
    /// Scalable TCP.
    Scalable,
    /// DCTCP and its like: reduces by half the share of its packets that were marked.
    Dctcp,
    /// Not recognised.
    #[default]
    Unknown,
}

/// How reductions of different flows coincide (UTB §4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synchrony {
    /// Mean of D(t) over RTTs with a loss: flows that reduce in one RTT.
    pub d_mean: f64,
    /// Mean of s = max(0, D − n²/(Δ·BDP)).
    pub s_mean: f64,
    /// Its maximum: eq. 3 of UTB is about the worst RTT. 0 where it is not known.
    #[serde(default)]
    pub s_max: f64,
    /// Fraction of those RTTs in which D ≤ n²/(Δ·BDP) + √n.
    pub condition_fraction: f64,
}

/// Utilisation, loss and delay as measured at the limit in force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Observed {
    /// Mean utilisation, fraction.
    pub utilisation: f64,
    /// Drops over arrivals.
    pub loss_rate: f64,
    /// Drops that `loss_rate` was counted from.
    pub drops: u64,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
    /// Median of the queueing delay, ms.
    pub delay_p50_ms: f64,
    /// Its 99th percentile, ms.
    pub delay_p99_ms: f64,
    /// Its maximum, ms.
    pub delay_max_ms: f64,
}

/// Occupancy met by arrivals while one limit was in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Occupancy {
    /// Arrivals that it was counted from.
    pub arrivals: u64,
    /// Fraction of the arrivals that met an empty queue.
    pub met_empty: f64,
    /// Occupancies met by the others, bytes, ascending: each stands for an equal part
    /// of them.
    pub bytes: Vec<f64>,
}
