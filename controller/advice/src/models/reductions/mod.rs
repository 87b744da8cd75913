// SPDX-License-Identifier: Apache-2.0
//! Extrapolation of the measurement at the limit in force to another limit. Tidemark's own; only
//! the relation of windows and loss is from the papers.
//!
//! # Derivation
//! While LBP flows fill the link, the window of flow i is w = rate·(T + Q/C), and their sum, over
//! its value at an empty queue, is W = 1 + Q/(C·Tₑ). Drops begin when Q reaches the limit B, so W
//! peaks at 1 + B/(C·Tₑ). The decrease is multiplicative and growth starts from there, so the swing
//! below the peak keeps its shape when the peak moves: at a limit B'
//!
//! W' = k·W,  k = (C·Tₑ + B')/(C·Tₑ + B).
//!
//! * Loss: each congestion control has a law by which the loss rate falls with the
//!   window (`law`); the drops are split by congestion control, and each part follows
//!   its law. Constants of the stacks are part of the measurement, so they cancel.
//!   A flow that grows by a segment per RTT loses a few packets per decrease; one in
//!   slow start has doubled its window and loses half of it. Drops of such overshoots
//!   (starts, timeouts) are counted separately and do not grow as windows shrink;
//!   CUBIC's grow with the buffer.
//! * Results of other limits under the same traffic correct the exponent
//!   (`learned`).
//! * Utilisation: during the time at window W' the LBP flows use min(1, W') of what
//!   the others leave. A round lasts T·max(1, W), one segment of growth per flow, so
//!   the number of rounds, not of seconds, between two decreases stays the same.
//! * Queue: Q' = C·Tₑ·max(0, W' − 1).
//!
//! The distribution of W is that of the occupancy found by arrivals. It does not show windows below
//! 1, and if packets come in clumps an arrival may find a queue although the link idles between
//! clumps. So the measured idle time is assigned to the arrivals that found the least: they are
//! spread evenly between 1 and the window of all flows halving at once, as many as make up the idle
//! time.
//!
//! A smaller limit means more drops, and the measured swing reflects the synchrony, the timeouts
//! and the clumps only of the drops that occurred. For the others, 1 − k² of all, each event is
//! assumed to halve as many of the N_b flows as BSCL eq. 13 says, at the upper end of the sampling
//! range: with that weight, utilisation is that of a swing from the peak to the remaining window
//! ([`tidemark_rules::sawtooth`]). All flows halving at once is the lower end of the range. The
//! fewer loss events were seen, the less is known even about nearby limits: the weight is 1 −
//! k^(2(1 + 4/events)). It is an assumption, not a result.
//!
//! Flows that follow a model of the path (BBR) send the same whatever they lose, up to their cap.
//! Among others, their drops p_m follow a line that ends at the cap (`among_others`), and
//! utilisation is taken to stay with the weight of their bytes: p' = (p − p_o − p_m)·law + p_o +
//! p_m'. If no base RTT gives the cap, p_m' = p_m. The range extends from one end of the cap's
//! range to the other, and to all drops scaling.
//!
//! At B' = B everything is as measured. All quantities are monotone in B'.
//!
//! If all flows follow a model, the data that they keep in flight decides (`in_flight_cap`).
//!
//! If base RTTs differ, flows of equal windows (BSCL eq. 8) add up to C·N/Σ1/(Tᵢ + Q/C), which is
//! C·Tₑ + Q only if they are equal. For loss, where the sum of the flows' rates follows eq. 2, the
//! windows are those of the exact sum.
//!
//! Without a flow bottlenecked at the link there is no window. The occupancy found by arrivals is
//! then extrapolated (`open_loop`).

mod among_others;
mod conditions;
mod law;
mod learned;
mod loss;
mod loss_parts;
mod overshoot;
mod uncertainty;
mod window;
mod window_delay;
mod window_peak;
mod window_samples;

pub use conditions::losses_unobserved;
pub(crate) use conditions::{LEAST_DROPS, occupancy_known};
pub(crate) use loss::LossScaling;
pub(crate) use overshoot::{overshoot_bytes, threshold_within};
pub(crate) use window::WindowRange;
pub(crate) use window_peak::short_by_bursts;

use super::{Curves, Model};

/// Model of loss by the flows' law, with its constant measured.
pub static LOSS: Model = Model {
    id: "measured_loss",
    name: "loss law of the flows, its constant measured",
    source: "BSCL eq. 21, RFC 9438 §4.3 and §5.1",
    evidence: "ns-3 pairs of limits of 13 traffics: 85 to 95 % inside (tests/it/predictions.rs)",
    fit: |m| {
        let loss = LossScaling::of(m)?;
        Some(Curves {
            loss_rate: Some(Box::new(move |bytes| loss.range_at(bytes))),
            ..Curves::default()
        })
    },
};

/// Model of utilisation by the measured distribution of the aggregate window, scaled.
pub static WINDOW: Model = Model {
    id: "measured_utilisation",
    name: "measured window, scaled",
    source: "BSCL eq. 13 and 14, UTB §3.5",
    evidence: "ns-3 pairs of limits of 13 traffics: 85 to 95 % inside (tests/it/predictions.rs)",
    fit: |m| {
        let used = WindowRange::of(m)?;
        let delay = used.clone();
        Some(Curves {
            utilisation: Some(Box::new(move |bytes| used.range_at(bytes))),
            delay_mean_ms: Some(Box::new(move |bytes| delay.mean_delay_range_ms_at(bytes))),
            ..Curves::default()
        })
    },
};

#[cfg(test)]
mod tests;
