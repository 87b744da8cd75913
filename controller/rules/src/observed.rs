// SPDX-License-Identifier: Apache-2.0
//! What was measured at the limit in force, carried over to another limit.
//! Tidemark's own; it takes from the papers only how windows and loss relate.
//!
//! # Derivation
//! While LBP flows fill the link, the window of flow i is w = rate·(T + Q/C) and
//! their sum, over its value at an empty queue, is W = 1 + Q/(C·Tₑ). Drops begin
//! when Q reaches the limit B, so W peaks at 1 + B/(C·Tₑ). Decrease is
//! multiplicative and growth starts from there, so the swing below the peak
//! keeps its shape when the peak moves: at a limit B'
//!
//! W' = k·W,  k = (C·Tₑ + B')/(C·Tₑ + B).
//!
//! * Loss: p ∝ 1/W² at the same rate (BSCL eq. 2 and 18 with the constant
//!   measured instead of 0.87), so p' = p/k². That law counts decreases. A flow
//!   that grows by a segment per RTT loses a few packets for each; one in slow
//!   start has doubled its window and loses half of it. Drops of such overshoots
//!   (starts, timeouts) are counted apart and taken not to grow as windows
//!   shrink: p' = (p − p_o)/k² + p_o below the limit in force.
//! * Utilisation: of the time at window W' the LBP flows use min(1, W') of what
//!   the others leave. A round lasts T·max(1, W), one segment of growth per
//!   flow, so rounds, not seconds, keep their number between two decreases.
//! * Queue: Q' = C·Tₑ·max(0, W' − 1).
//!
//! The distribution of W is that of the occupancy met by arrivals. Windows below
//! 1 cannot be told from it, and where packets come in clumps an arrival may meet
//! a queue although the link idles between clumps. So the idle time measured is
//! put on the arrivals that met least: they are spread evenly between 1 and the
//! window of all flows halving at once, as many as make up the idle time.
//!
//! A smaller limit means more drops (p'/p = 1/k²), and the measured swing holds
//! the synchrony, the timeouts and the clumps only of those there were. The
//! others, 1 − k² of all, are taken as falling on all flows at once: with that
//! weight utilisation is that of a swing from the peak to its half
//! ([`crate::predict::swing`]), which is also the lower end of the range. The
//! fewer loss events were seen, the less is known of those at a limit near by
//! too: the weight is 1 − k^(2(1 + 4/events)). It is an assumption, not a result.
//!
//! Flows that follow a model of the path (BBR) send what they send whatever they
//! lose. Their drops p_m are taken to stay what they are, and with the weight of
//! their bytes utilisation is taken to stay, too: p' = (p − p_o − p_m)/k² + p_o +
//! p_m. The range reaches from where all stay to where all scale.
//!
//! At B' = B everything is as measured. All are monotone in B'.
//!
//! Nothing of Cₑ enters k: the share of the LBP flows cancels.
//!
//! With base RTTs that differ, flows of equal windows (BSCL eq. 8) add up to
//! C·N/Σ1/(Tᵢ + Q/C), which is C·Tₑ + Q only where they are alike. For loss, where
//! the sum of the flows' rates is what eq. 2 gives, k is that of the exact sum.

mod loss;
mod samples;
mod window;

use crate::measured::{CongestionControl, Measured, Regime};
pub use loss::LossScaling;
pub use window::WindowScaling;

/// Drops needed before the measured loss rate is scaled, and before the limit
/// counts as what the windows run against.
pub const LEAST_DROPS: u64 = 20;
/// Arrivals needed before their occupancy counts as a distribution.
pub const LEAST_ARRIVALS: u64 = 2_000;
/// Share of the capacity that LBP flows must carry.
pub const LEAST_SHARE: f64 = 0.5;
/// Loss rate above which timeouts, not decreases, set the windows.
pub const LARGEST_LOSS: f64 = 0.1;
/// Utilisation that counts as full; the rest is fluctuation of the measurement.
pub const FULL: f64 = 0.999;

/// How uncertain the exponent of k is: 1 for windows (2 for loss) within this.
const EXPONENT_ERROR: f64 = 0.15;
/// CUBIC's window grows with time and not with RTTs: its exponent for loss is
/// between 1 and 2.
const CUBIC_EXPONENT_LOW: f64 = 0.5;
/// Loss events in which all flows lose, that count with those seen: a handful
/// says little of how flows lose together.
const PRIOR_EVENTS: f64 = 4.0;
/// Points that stand for the arrivals at a link that was not full.
const IDLE_POINTS: usize = 32;
/// Lowest window over the peak when all flows lose at once; also taken for
/// CUBIC, since a flow may lose again in the same event.
const ALL_AT_ONCE: f64 = 0.5;
/// Normal quantile of a two-sided 90 % interval.
pub(crate) const Z90: f64 = 1.645;

/// A condition in words and whether it holds; `None` when that is unknown.
pub type Condition = (String, Option<bool>);

/// Conditions of both scalings.
pub fn conditions(m: &Measured) -> Vec<Condition> {
    let drops = m.observed.map_or(0, |o| o.drops);
    let mut all = vec![
        (
            format!(
                "LBP flows carry at least 50 % of the capacity and fill it ({:.0} %, elastic regime)",
                m.c_e_share.value * 100.0
            ),
            match m.regime {
                Regime::Unknown => None,
                regime => Some(
                    regime == Regime::Elastic
                        && m.n_b.value >= 1.0
                        && m.saturable != Some(false)
                        && m.c_e_share.value >= LEAST_SHARE,
                ),
            },
        ),
        (
            "not all flows follow a model of the path (BBR)".to_owned(),
            match m.congestion_control {
                CongestionControl::Unknown => None,
                cc => Some(cc != CongestionControl::Bbr),
            },
        ),
        (
            format!("at least {LEAST_DROPS} drops at the limit in force ({drops})"),
            Some(drops >= LEAST_DROPS),
        ),
    ];
    if let Some(o) = m.observed {
        let p = o.loss_rate * (1.0 - model_based(m));
        all.push((
            format!(
                "loss measured below 10 %, without that of BBR ({:.2} %)",
                p * 100.0
            ),
            Some(p < LARGEST_LOSS),
        ));
    }
    all
}

/// The further condition of the utilisation's scaling.
pub fn enough_arrivals(m: &Measured) -> Condition {
    let arrivals = m.occupancy.as_ref().map_or(0, |o| o.arrivals);
    (
        format!(
            "occupancy known of at least {LEAST_ARRIVALS} arrivals at a constant limit ({arrivals})"
        ),
        Some(arrivals >= LEAST_ARRIVALS),
    )
}

fn hold(conditions: &[Condition]) -> bool {
    conditions.iter().all(|c| c.1 != Some(false))
}

/// The peak of the aggregate window at the limit in force.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Peak {
    bdp_bytes: f64,
    limit_bytes: f64,
}

impl Peak {
    fn of(m: &Measured, t_e_s: f64) -> Option<Self> {
        let bdp_bytes = m.drain_bytes_per_s() * t_e_s;
        let limit_bytes = m.limit_bytes?;
        (bdp_bytes.is_finite() && bdp_bytes > 0.0 && limit_bytes.is_finite() && limit_bytes > 0.0)
            .then_some(Self {
                bdp_bytes,
                limit_bytes,
            })
    }

    /// Largest aggregate window over C·Tₑ.
    fn over_bdp(self) -> f64 {
        1.0 + self.limit_bytes / self.bdp_bytes
    }

    fn scale(self, buffer_bytes: f64) -> f64 {
        (self.bdp_bytes + buffer_bytes) / (self.bdp_bytes + self.limit_bytes)
    }
}

/// Part of the drops that are of flows which follow a model of the path.
fn model_based(m: &Measured) -> f64 {
    let drops = m.observed.map_or(0, |o| o.drops);
    (m.model_based_drops as f64 / drops.max(1) as f64).min(1.0)
}

/// Relative sampling error of a loss rate (90 %): drops come in bursts of
/// L̄ = α·N_b, and bursts are what is counted.
fn loss_sampling_error(m: &Measured) -> f64 {
    Z90 / loss_events(m).sqrt()
}

fn loss_events(m: &Measured) -> f64 {
    let burst = if m.alpha_measured {
        (m.alpha.value * m.n_b.value).max(1.0)
    } else {
        1.0
    };
    (m.observed.map_or(0, |o| o.drops) as f64 / burst).max(1.0)
}

/// Lowest and highest exponent of k for windows.
fn exponents(m: &Measured) -> [f64; 2] {
    let low = if m.congestion_control == CongestionControl::Cubic {
        CUBIC_EXPONENT_LOW
    } else {
        1.0 - EXPONENT_ERROR
    };
    [low, 1.0 + EXPONENT_ERROR]
}

#[cfg(test)]
mod tests;
