// SPDX-License-Identifier: Apache-2.0
//! Number of LBP flows, and what the estimates of a link rest on.

use super::flows::Flow;
use crate::types::{Estimate, Evidence, FlowClass};

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

/// Part of the error of an unprobed flow's class that it shares with the others.
const INFERRED: f64 = 0.3;

/// Part of the error of a flow's class that it shares with the others.
fn common_part(f: &Flow<'_, '_>) -> f64 {
    if f.estimate.evidence != Evidence::Passive {
        0.0
    } else if f.window.sampling > 1.0 || f.base_rtt.is_none_or(|b| b.guessed) {
        1.0
    } else {
        INFERRED
    }
}

/// N_b: the LBP flows, each counted by the part of the window it was active.
/// The interval is that of the sum of independent flows that are LBP with
/// probability `p_lbp` (90 %), and holds the count. What is inferred of unprobed
/// flows has a part that is common to them: an error in one is an error in others.
/// Where a part of the packets was reported, or no base RTT is known, nothing but
/// drops is seen, which come to every flow whatever limits it: an error in one is
/// an error in all.
pub(super) fn n_b(flows: &[Flow<'_, '_>], evidence: Evidence) -> Estimate {
    let (mut value, mut expected, mut variance, mut shared) = (0.0, 0.0, 0.0, 0.0);
    for f in flows {
        let weight = f.estimate.active_fraction.min(1.0);
        if f.estimate.class == FlowClass::Lbp {
            value += weight;
        }
        let p = f.estimate.p_lbp;
        expected += weight * p;
        let square = p * (1.0 - p);
        let part = common_part(f);
        shared += part * weight * square.sqrt();
        variance += (1.0 - part * part) * weight * weight * square;
    }
    let spread = 1.645 * (variance.sqrt() + shared);
    Estimate::new(
        value,
        (expected - spread).max(0.0),
        expected + spread,
        evidence,
        flows.len() as u64,
    )
}
