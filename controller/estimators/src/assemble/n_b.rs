// SPDX-License-Identifier: Apache-2.0
//! Number of LBP flows, and what the estimates of a link rest on.

use super::class_error::ClassSum;
use super::flows::Flow;
use crate::types::{Estimate, Evidence};

/// Evidence of the flows that matter: the LBP flows, or all where there is none.
pub(super) fn evidence(lbp: &[&Flow<'_, '_>], flows: &[Flow<'_, '_>]) -> Evidence {
    let of: Vec<Evidence> = if lbp.is_empty() {
        flows.iter().map(|f| f.estimate.evidence).collect()
    } else {
        lbp.iter().map(|f| f.estimate.evidence).collect()
    };
    let probed = of.contains(&Evidence::Probed);
    let passive = of.contains(&Evidence::Passive);
    match (probed, passive) {
        (true, true) => Evidence::Mixed,
        (true, false) => Evidence::Probed,
        _ => Evidence::Passive,
    }
}

/// N_b: the LBP flows, each counted by the part of the window it was active.
/// The interval is that of the sum of flows that are LBP with probability `p_lbp`
/// (90 %), and holds the count.
pub(super) fn n_b(flows: &[Flow<'_, '_>], evidence: Evidence) -> Estimate {
    let lbp = ClassSum::of(flows, Flow::is_lbp, Flow::weight);
    let all = flows.len() as u64;
    Estimate::new(lbp.value, lbp.low(), lbp.high(), evidence, all)
}
