// SPDX-License-Identifier: Apache-2.0
//! Number of LBP flows, and the evidence behind a link's estimates.

use super::class_error::ClassSum;
use super::flows::Flow;
use crate::classify::LinkContext;
use crate::types::{Estimate, Evidence};

/// Evidence of the LBP flows, or of all flows if there is no LBP flow.
pub(super) fn evidence(lbp: &[&Flow<'_, '_>], flows: &[Flow<'_, '_>]) -> Evidence {
    if lbp.is_empty() {
        Evidence::of(flows.iter().map(|f| f.estimate.evidence))
    } else {
        Evidence::of(lbp.iter().map(|f| f.estimate.evidence))
    }
}

/// A flow sends little if it sends less than this part of an LBP flow's mean.
const LITTLE: f64 = 0.2;

/// The flows classified LBP.
pub(super) fn lbp<'f, 'a, 'w>(flows: &'f [Flow<'a, 'w>]) -> Vec<&'f Flow<'a, 'w>> {
    flows.iter().filter(|f| f.is_lbp()).collect()
}

/// Estimates N_b from classified flows.
pub(super) fn of(flows: &[Flow<'_, '_>], context: &LinkContext) -> Estimate {
    n_b(flows, evidence(&lbp(flows), flows), context)
}

/// N_b: the LBP flows, each counted by the part of the window in which it was active. The range is
/// that of a sum of flows, each LBP with probability `p_lbp` (90 %), and contains the count. On a
/// full link it has room for each flow of unknown transport, unless that sends little compared with
/// an LBP flow; if an LBP flow was chosen only because the queue shows that there is one, for each
/// flow whose class follows from no definition. On a loaded link it has room for each flow that
/// waits here alone: a window that reacts to delay (Vegas) can look like a receiver's. A queue that
/// never empties always has an LBP flow.
pub(super) fn n_b(flows: &[Flow<'_, '_>], evidence: Evidence, context: &LinkContext) -> Estimate {
    let lbp = ClassSum::of(flows, Flow::is_lbp, Flow::weight);
    let all = flows.len() as u64;
    let chosen = flows.iter().any(|f| f.chosen);
    let bytes = |f: &Flow<'_, '_>| f.offered_bytes;
    let unknown = || flows.iter().filter(|f| f.is_unknown());
    let of_lbp: f64 = flows.iter().filter(|f| f.is_lbp()).map(bytes).sum();
    let little = if unknown().map(bytes).sum::<f64>() > of_lbp {
        0.0
    } else {
        LITTLE * of_lbp / lbp.value.max(1.0)
    };
    let full = context.filled() || context.never_empties();
    let may_be = |f: &&Flow<'_, '_>| {
        let unknown = f.is_unknown() && bytes(f) >= little;
        !f.is_lbp()
            && (full && (unknown || chosen && f.is_open())
                || context.is_loaded() && f.may_react_to_delay(context))
    };
    let in_doubt: f64 = flows.iter().filter(may_be).map(Flow::weight).sum();
    let high = lbp.high() + in_doubt;
    let least = if context.never_empties() {
        lbp.value.min(1.0)
    } else {
        0.0
    };
    Estimate::new(lbp.value, lbp.low().max(least), high, evidence, all)
}
