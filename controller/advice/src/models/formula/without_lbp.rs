// SPDX-License-Identifier: Apache-2.0
//! A link without bottlenecked flows: bursts arrive independently of the link.
//!
//! M/M/1/K with bursts as customers, continuous in the load up to capacity and beyond. NGI §IV-A
//! has the tail ρ^b of a queue without a limit; a queue with a limit loses (1 − ρ)·ρ^b/(1 −
//! ρ^(b+1)).

use super::at_limit::{ModelOutcome, full_ms};
use tidemark_rules::error::{RuleError, not_negative};
use tidemark_rules::ngi::{finite_buffer_loss, finite_buffer_queue};
use tidemark_rules::range::Range;
use tidemark_rules::traffic::Traffic;

/// Mean size of the burst that a packet belongs to (E\[X²\]/E\[X\]), packets, if nothing was
/// measured: from single packets, as NGI assumes, to the ten segments with which Linux starts a
/// flow.
pub(super) const BURST: Range = Range {
    value: 3.0,
    low: 1.0,
    high: 10.0,
};

/// Returns the outcome with this burst size.
pub(super) fn outcome(
    m: &Traffic,
    burst: f64,
    buffer_bytes: f64,
) -> Result<ModelOutcome, RuleError> {
    let bytes = not_negative("B (bytes)", buffer_bytes)?;
    let full = full_ms(m, bytes);
    let load = m.rho.max(0.0);
    if load <= 0.0 {
        return Ok(ModelOutcome {
            utilisation: 0.0,
            loss_rate: 0.0,
            delay_ms: full,
            delay_mean_ms: 0.0,
        });
    }
    let bursts = bytes / m.segment_bytes / burst;
    let loss_rate = finite_buffer_loss(load, bursts)?;
    let packet_ms = m.segment_bytes / m.drain_bytes_per_s() * 1e3;
    let waiting = finite_buffer_queue(load, bursts)? * burst;
    Ok(ModelOutcome {
        utilisation: (load * (1.0 - loss_rate)).min(1.0),
        loss_rate,
        delay_ms: full,
        delay_mean_ms: (waiting * packet_ms).min(full),
    })
}
