// SPDX-License-Identifier: Apache-2.0
//! Extrapolation: what was measured at the limit in force, carried over to
//! another limit. Tidemark's own; it takes from the papers only how windows and loss relate.
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
//! * Loss: every congestion control has its law of how the loss rate falls with
//!   the window (`law`); the drops are split by congestion control, and each part
//!   goes with its own. Constants of the stacks are in what was measured, so they
//!   cancel. A flow that grows by a segment per RTT loses a few packets for each
//!   decrease; one in slow start has doubled its window and loses half of it.
//!   Drops of such overshoots (starts, timeouts) are counted apart and taken not
//!   to grow as windows shrink; CUBIC's grow with the buffer.
//! * Results of other limits under the same traffic correct the exponent
//!   (`learned`).
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
//! A smaller limit means more drops, and the measured swing holds the synchrony,
//! the timeouts and the clumps only of those there were. Of the others, 1 − k² of
//! all, it is assumed that each event makes as many of the N_b flows halve as
//! BSCL eq. 13 says, and by the upper end of what is drawn: with that weight
//! utilisation is that of a swing from the peak to what they leave
//! ([`tidemark_rules::sawtooth`]). Were all flows to halve at once, that is the lower end of
//! the range. The fewer loss events were seen, the less is known of those at a
//! limit near by too: the weight is 1 − k^(2(1 + 4/events)). It is an assumption,
//! not a result.
//!
//! Flows that follow a model of the path (BBR) send what they send whatever they
//! lose, as far as their cap lets them. Among others their drops p_m go along a line
//! that ends at that cap (`among_others`), and with the weight of their bytes
//! utilisation is taken to stay: p' = (p − p_o − p_m)·law + p_o + p_m'. Where no base
//! RTT tells the cap, p_m' = p_m. The range reaches from one end of the cap's to the
//! other, and to where all scale.
//!
//! At B' = B everything is as measured. All are monotone in B'.
//!
//! If all flows follow a model, the data that they keep in flight counts
//! (`in_flight_cap`).
//!
//! With base RTTs that differ, flows of equal windows (BSCL eq. 8) add up to
//! C·N/Σ1/(Tᵢ + Q/C), which is C·Tₑ + Q only where they are alike. For loss, where
//! the sum of the flows' rates is what eq. 2 gives, windows are those of the exact
//! sum.
//!
//! Without a flow that waits for the link there is no window. Then the occupancy
//! that arrivals met is carried over (`open_loop`).

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

/// The loss law of the flows, with its constant measured.
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

/// The measured distribution of the aggregate window, scaled.
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
