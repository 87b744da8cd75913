// SPDX-License-Identifier: Apache-2.0
//! Number of LBP flows, and what the estimates of a link rest on.

use super::class_error::ClassSum;
use super::flows::Flow;
use crate::classify::LinkContext;
use crate::types::{Estimate, Evidence};

/// Evidence of the flows that matter: the LBP flows, or all where there is none.
pub(super) fn evidence(lbp: &[&Flow<'_, '_>], flows: &[Flow<'_, '_>]) -> Evidence {
    if lbp.is_empty() {
        Evidence::of(flows.iter().map(|f| f.estimate.evidence))
    } else {
        Evidence::of(lbp.iter().map(|f| f.estimate.evidence))
    }
}

/// A flow with less than this part of what an LBP flow sends has little.
const LITTLE: f64 = 0.2;

/// The flows classified LBP.
pub(super) fn lbp<'f, 'a, 'w>(flows: &'f [Flow<'a, 'w>]) -> Vec<&'f Flow<'a, 'w>> {
    flows.iter().filter(|f| f.is_lbp()).collect()
}

/// N_b of classified flows.
pub(super) fn of(flows: &[Flow<'_, '_>], context: &LinkContext) -> Estimate {
    n_b(flows, evidence(&lbp(flows), flows), context)
}

/// N_b: the LBP flows, each counted by the part of the window it was active.
/// The interval is that of the sum of flows that are LBP with probability `p_lbp`
/// (90 %), and holds the count. Of a full link each flow may be limited here whose transport
/// is not known, but one with little by an LBP flow's measure; where the queue alone
/// tells that one is, each whose class follows from no definition. Of a loaded link each flow
/// may be that waits here alone: a window that reacts to delay (Vegas) can stand as one that
/// its receiver limits. A queue that never empties has one at any time.
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
