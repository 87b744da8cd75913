// SPDX-License-Identifier: Apache-2.0
//! What a limit did that was in force before, under the same traffic.

use super::{Observed, Traffic};
use serde::{Deserialize, Serialize};

/// The outcome of one limit: evidence of how loss and utilisation respond to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TriedLimit {
    /// The limit, bytes as the queue counts them.
    pub limit_bytes: f64,
    /// Drops over arrivals.
    pub loss_rate: f64,
    /// Drops that `loss_rate` was counted from.
    pub drops: u64,
    /// Loss events that they came in.
    pub loss_events: f64,
    /// Mean utilisation, fraction.
    pub utilisation: f64,
    /// Mean queueing delay, ms.
    pub delay_mean_ms: f64,
    /// N_b while it was measured.
    pub n_b: f64,
    /// Part of the bytes of LBP flows that follow a model of the path (BBR).
    pub model_based_share: f64,
    /// Part of the other drops that are CUBIC's.
    pub cubic_share: f64,
    /// When it was measured last, Unix ms.
    pub unix_ms: u64,
}

impl TriedLimit {
    /// What `traffic` says of the limit in force; `None` where nothing was
    /// measured.
    pub fn of(traffic: &Traffic, unix_ms: u64) -> Option<Self> {
        let Observed {
            utilisation,
            loss_rate,
            drops,
            delay_mean_ms,
            ..
        } = traffic.observed?;
        Some(Self {
            limit_bytes: traffic.limit_bytes.filter(|&b| b > 0.0)?,
            loss_rate,
            drops,
            loss_events: crate::extrapolation::loss_events(traffic),
            utilisation,
            delay_mean_ms,
            n_b: traffic.n_b.value,
            model_based_share: traffic.model_based_share,
            cubic_share: traffic.mix().cubic,
            unix_ms,
        })
    }
}
