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
//! ([`crate::sawtooth`]), which is also the lower end of the range. The
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

mod conditions;
mod loss;
mod loss_rule;
mod source;
mod uncertainty;
mod utilisation_rule;
mod window;
mod window_peak;
mod window_samples;

pub use conditions::LEAST_DROPS;
pub use loss::LossScaling;
pub use window::WindowScaling;

pub(crate) use uncertainty::Z90;

use crate::rule::Rule;

/// Rules of this folder.
pub const RULES: &[&Rule] = &[&loss_rule::RULE, &utilisation_rule::RULE];

#[cfg(test)]
mod tests;
