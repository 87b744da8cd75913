// SPDX-License-Identifier: Apache-2.0
//! Number of LBP flows, and what the estimates of a link rest on.

use super::class_error::ClassSum;
use super::flows::Flow;
use crate::types::{Estimate, Evidence};

/// Evidence of the flows that matter: the LBP flows, or all where there is none.
pub(super) fn evidence(lbp: &[&Flow<'_, '_>], flows: &[Flow<'_, '_>]) -> Evidence {
    if lbp.is_empty() {
        Evidence::of(flows.iter().map(|f| f.estimate.evidence))
    } else {
        Evidence::of(lbp.iter().map(|f| f.estimate.evidence))
    }
}

/// The flows classified LBP.
pub(super) fn lbp<'f, 'a, 'w>(flows: &'f [Flow<'a, 'w>]) -> Vec<&'f Flow<'a, 'w>> {
    flows.iter().filter(|f| f.is_lbp()).collect()
}

/// N_b of classified flows.
pub(super) fn of(flows: &[Flow<'_, '_>]) -> Estimate {
    n_b(flows, evidence(&lbp(flows), flows))
}

/// N_b: the LBP flows, each counted by the part of the window it was active.
/// The interval is that of the sum of flows that are LBP with probability `p_lbp`
/// (90 %), and holds the count.
pub(super) fn n_b(flows: &[Flow<'_, '_>], evidence: Evidence) -> Estimate {
    let lbp = ClassSum::of(flows, Flow::is_lbp, Flow::weight);
    let all = flows.len() as u64;
    Estimate::new(lbp.value, lbp.low(), lbp.high(), evidence, all)
}
