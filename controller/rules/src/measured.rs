// SPDX-License-Identifier: Apache-2.0
//! What the advisor is given: the measured traffic, the operator's targets,
//! and options.

use serde::{Deserialize, Serialize};

/// A value with the range it may lie in.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// An interval; the bounds are widened to contain the value.
    pub fn new(value: f64, low: f64, high: f64) -> Self {
        Self {
            value,
            low: low.min(value),
            high: high.max(value),
        }
    }

    /// A value known exactly.
    pub fn exact(value: f64) -> Self {
        Self {
            value,
            low: value,
            high: value,
        }
    }

    /// `value` with a relative error.
    pub fn relative(value: f64, error: f64) -> Self {
        Self::new(value, value * (1.0 - error), value * (1.0 + error))
    }
}

/// Regime of a link (NGI §III).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// Congestion control as recognised from a window's trajectory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CongestionControl {
    Reno,
    Cubic,
    Bbr,
    Scalable,
    Unknown,
}

/// How reductions of different flows coincide (UTB §4).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Synchrony {
    /// Mean of D(t) over RTTs with a loss: flows that reduce in one RTT.
    pub d_mean: f64,
    /// Mean of s = max(0, D − n²/(Δ·BDP)).
    pub s_mean: f64,
    /// Fraction of those RTTs in which D ≤ n²/(Δ·BDP) + √n.
    pub condition_fraction: f64,
}

/// Utilisation, loss and delay as measured at the limit in force.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    pub utilisation: f64,
    pub loss_rate: f64,
    /// Drops behind `loss_rate`.
    pub drops: u64,
    pub delay_mean_ms: f64,
    pub delay_p50_ms: f64,
    pub delay_p99_ms: f64,
    pub delay_max_ms: f64,
}

/// Occupancy met by arrivals while one limit was in force.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Arrivals behind it.
    pub arrivals: u64,
    /// Fraction of the arrivals that met an empty queue.
    pub met_empty: f64,
    /// What the others met, bytes, ascending: each stands for an equal part of
    /// them.
    pub bytes: Vec<f64>,
}

/// Part of the bytes that may be of flows which follow a model of the path,
/// where a rule is about flows that heed losses.
const MODEL_BASED_IGNORED: f64 = 0.1;

/// The measured traffic of one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
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
    pub n_b: Interval,
    /// All flows active at the link (for FPQ).
    pub n_active: f64,
    /// α = L̄/N_b.
    pub alpha: Interval,
    /// Drops were seen, so that α is measured and not assumed.
    pub alpha_measured: bool,
    /// Mean fraction of LBP flows that lost in an event, as observed.
    pub q_observed: Option<Interval>,
    /// Δ of UTB.
    pub delta: Option<Interval>,
    /// 1st percentile of the windows of the LBP flows, segments.
    pub window_p01_pkts: Option<f64>,
    pub synchrony: Option<Synchrony>,
    /// T_e, s.
    pub t_e_s: Interval,
    /// Arithmetic mean of the base RTTs, s.
    pub t_mean_s: Interval,
    /// Base RTTs of the LBP flows, s, or as many that are spread like them; empty
    /// when not known.
    #[serde(default)]
    pub base_rtts_s: Vec<f64>,
    /// C_e/C.
    pub c_e_share: Interval,
    /// Offered load over capacity.
    pub rho: f64,
    /// Part of `rho` that does not react to this link.
    pub rho_other: f64,
    pub regime: Regime,
    /// Whether the flows' maximum rates can reach capacity; `None` when unknown.
    pub saturable: Option<bool>,
    /// What most LBP flows use.
    pub congestion_control: CongestionControl,
    /// Mean factor by which the LBP flows multiply their window on loss, as far
    /// as their congestion control was recognised; `None` is taken for Reno.
    pub beta: Option<f64>,
    pub observed: Option<Observed>,
    /// Of the drops behind `observed`, those of flows that lost half of their
    /// window and more at once: what follows slow start, and not what sets the
    /// windows.
    #[serde(default)]
    pub overshoot_drops: u64,
    /// Of the bytes of the LBP flows, the part of those whose window follows a
    /// model of the path (BBR) and not its losses.
    #[serde(default)]
    pub model_based_share: f64,
    /// Their drops, of those behind `observed`.
    #[serde(default)]
    pub model_based_drops: u64,
    /// Occupancy behind `observed`; `None` when not known, or when the limit
    /// changed in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occupancy: Option<Occupancy>,
}

impl Measured {
    /// Drain rate of the queue, bytes/s.
    pub fn drain_bytes_per_s(&self) -> f64 {
        self.queue_drain_bps / 8.0
    }

    /// Whether the LBP flows multiply their windows down on loss, all but a
    /// tenth of their bytes; `None` when that is not known.
    pub fn heeds_loss(&self) -> Option<bool> {
        match self.congestion_control {
            CongestionControl::Bbr => Some(false),
            _ if self.model_based_share > MODEL_BASED_IGNORED => Some(false),
            CongestionControl::Unknown => None,
            _ => Some(true),
        }
    }

    /// A situation described by hand instead of measured (the calculator):
    /// everything LBP, default α (0.55), no drops seen.
    pub fn described(capacity_bps: f64, rtt_s: f64, flows: f64, segment_bytes: f64) -> Self {
        Self {
            capacity_bps,
            queue_drain_bps: capacity_bps,
            segment_bytes,
            limit_bytes: None,
            n_b: Interval::exact(flows),
            n_active: flows,
            alpha: Interval::new(crate::bscl::DEFAULT_ALPHA, 0.4, 0.7),
            alpha_measured: false,
            q_observed: None,
            delta: None,
            window_p01_pkts: None,
            synchrony: None,
            t_e_s: Interval::exact(rtt_s),
            t_mean_s: Interval::exact(rtt_s),
            base_rtts_s: Vec::new(),
            c_e_share: Interval::exact(1.0),
            rho: 1.0,
            rho_other: 0.0,
            regime: if flows >= 1.0 {
                Regime::Elastic
            } else {
                Regime::Transparent
            },
            saturable: None,
            congestion_control: CongestionControl::Unknown,
            beta: None,
            observed: None,
            overshoot_drops: 0,
            model_based_share: 0.0,
            model_based_drops: 0,
            occupancy: None,
        }
    }
}

/// One of the operator's three targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    Utilisation,
    Loss,
    Delay,
}

impl Goal {
    /// Its name in sentences.
    pub fn label(self) -> &'static str {
        match self {
            Goal::Utilisation => "utilisation",
            Goal::Loss => "loss",
            Goal::Delay => "delay",
        }
    }
}

/// What the operator wants, most important first in `priority`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Targets {
    /// ρ̂: smallest utilisation, fraction.
    pub utilisation: f64,
    /// p̂: largest loss rate, fraction; `None` = no bound.
    pub loss_rate: Option<f64>,
    /// d̂: largest queueing delay, ms; `None` = no bound.
    pub delay_ms: Option<f64>,
    /// Order in which targets are kept when they cannot hold together; a
    /// target not named comes after those named.
    pub priority: Vec<Goal>,
}

impl Default for Targets {
    fn default() -> Self {
        Self {
            utilisation: 0.98,
            loss_rate: Some(0.01),
            delay_ms: None,
            priority: vec![Goal::Utilisation, Goal::Loss, Goal::Delay],
        }
    }
}

impl Targets {
    /// All three goals in the order in which they are kept.
    pub fn order(&self) -> Vec<Goal> {
        let mut order: Vec<Goal> = Vec::with_capacity(3);
        let rest = [Goal::Utilisation, Goal::Loss, Goal::Delay];
        for &goal in self.priority.iter().chain(&rest) {
            if !order.contains(&goal) {
                order.push(goal);
            }
        }
        order
    }
}

/// How the advisor works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Smallest limit advised, segments: below about 20 packets bursts are lost
    /// whatever the load (UTB §3.6, NGI §IV-A).
    pub min_packets: f64,
    /// Largest limit the target can hold, bytes.
    pub max_bytes: Option<f64>,
    /// Limits are rounded up to a multiple of this (cell size of the target).
    pub unit_bytes: f64,
    /// Use the upper end of N_b for the loss bound: 20 % too few flows break a
    /// 1 % bound by half a percent (BSCL §VII).
    pub conservative: bool,
    /// δ of UTB Theorem 8: accepted probability that the queue empties.
    pub bbr_delta: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            min_packets: 20.0,
            max_bytes: None,
            unit_bytes: 1.0,
            conservative: false,
            bbr_delta: 0.01,
        }
    }
}
