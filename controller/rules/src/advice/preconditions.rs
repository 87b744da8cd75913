// SPDX-License-Identifier: Apache-2.0
//! What has to be known, and asked for sensibly, before anything is advised.

use crate::targets::Targets;
use crate::traffic::{Regime, Traffic};

/// Why no advice can be given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Refusal {
    NoCapacity,
    NoSegmentSize,
    NoRegime,
    NoBaseRtt,
    Utilisation(f64),
    LossRate(f64),
    DelayMs(f64),
}

/// Everything that stands against an advice; empty when nothing does.
pub(super) fn refusals(m: &Traffic, targets: &Targets) -> Vec<Refusal> {
    let positive = |v: f64| v.is_finite() && v > 0.0;
    let mut all = Vec::new();
    let mut unless = |holds: bool, refusal: Refusal| {
        if !holds {
            all.push(refusal);
        }
    };
    unless(positive(m.queue_drain_bps), Refusal::NoCapacity);
    unless(positive(m.segment_bytes), Refusal::NoSegmentSize);
    unless(m.regime != Regime::Unknown, Refusal::NoRegime);
    let rtt_known = positive(m.t_e_s.value) && positive(m.t_mean_s.value);
    let rtt_needed = m.n_b.value >= 1.0;
    unless(rtt_known || !rtt_needed, Refusal::NoBaseRtt);
    let u = targets.utilisation;
    unless((0.0..=1.0).contains(&u), Refusal::Utilisation(u));
    if let Some(p) = targets.loss_rate {
        unless(p > 0.0 && p < 1.0, Refusal::LossRate(p));
    }
    if let Some(d) = targets.delay_ms {
        unless(positive(d), Refusal::DelayMs(d));
    }
    all
}
