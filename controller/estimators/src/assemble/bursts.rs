// SPDX-License-Identifier: Apache-2.0
//! Loss bursts: L̄, α and q̂.

use super::activity::Activity;
use crate::loss_events::LossEvent;
use crate::stats::{mean, mean_error, quantile};
use crate::types::{Estimate, Evidence};
use tidemark_rules::bscl::DEFAULT_ALPHA;

pub(super) struct Bursts {
    /// Mean drops per loss event.
    pub mean: Estimate,
    /// Median drops per loss event.
    pub median: Estimate,
}

pub(super) fn bursts(events: &[LossEvent]) -> Option<Bursts> {
    let sizes: Vec<f64> = events.iter().map(|e| e.packets as f64).collect();
    let m = mean(&sizes)?;
    let error = mean_error(&sizes);
    let n = sizes.len() as u64;
    Some(Bursts {
        mean: Estimate::new(m, (m - error).max(1.0), m + error, Evidence::Passive, n),
        median: Estimate::new(
            quantile(&sizes, 0.5)?,
            quantile(&sizes, 0.25)?,
            quantile(&sizes, 0.75)?,
            Evidence::Passive,
            n,
        ),
    })
}

/// α = L̄/N_b; the literature's where no drop was seen or no flow is LBP.
pub(super) fn alpha(burst: Option<&Bursts>, n_b: Estimate) -> Estimate {
    match burst {
        Some(b) if n_b.value >= 0.5 => Estimate::new(
            b.mean.value / n_b.value,
            b.mean.low / n_b.high.max(n_b.value),
            b.mean.high / n_b.low.max(0.5).min(n_b.value),
            n_b.evidence,
            b.mean.samples,
        ),
        _ => Estimate::new(DEFAULT_ALPHA, 0.4, 0.7, Evidence::Assumed, 0),
    }
}

/// q̂: mean part of the LBP flows active then that lost in a loss event.
pub(super) fn q(
    events: &[LossEvent],
    n_b: f64,
    active: &Activity,
    evidence: Evidence,
) -> Option<Estimate> {
    if n_b < 0.5 {
        return None;
    }
    let fractions: Vec<f64> = events
        .iter()
        .map(|e| (e.flows as f64 / active.during(e.from_ns, e.to_ns).max(1.0)).min(1.0))
        .collect();
    let m = mean(&fractions)?;
    let error = mean_error(&fractions);
    Some(Estimate::new(
        m,
        (m - error).max(0.0),
        (m + error).min(1.0),
        evidence,
        fractions.len() as u64,
    ))
}
