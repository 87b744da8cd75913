// SPDX-License-Identifier: Apache-2.0
//! A model's values at one limit.

use tidemark_rules::traffic::Traffic;

/// Outcome of a model at one limit.
#[derive(Clone, Copy)]
pub(in crate::models) struct ModelOutcome {
    pub utilisation: f64,
    pub loss_rate: f64,
    pub delay_ms: f64,
    pub delay_mean_ms: f64,
}

/// Returns the delay of a packet that is just admitted, ms: the occupancy is then below the limit,
/// and the packet also waits for the one in transmission.
pub(in crate::models) fn full_ms(m: &Traffic, buffer_bytes: f64) -> f64 {
    (buffer_bytes + m.segment_bytes) / m.drain_bytes_per_s() * 1e3
}
