// SPDX-License-Identifier: Apache-2.0
//! What the advised limit is expected to do, in a sentence.

use super::bound::UTILISATION_TOLERANCE;
use crate::prediction::Prediction;
use crate::range::Range;
use crate::rule::Situation;

pub(super) fn expected(bytes: f64, s: &Situation<'_>, p: &Prediction) -> String {
    let m = s.traffic;
    let target = s.targets.utilisation;
    format!(
        "advised limit {bytes:.0} bytes = {:.0} packets = {:.1} ms: utilisation {:.1} % ({:.1} to {:.1}), loss {:.3} % ({:.3} to {:.3}), delay up to {:.1} ms expected{}",
        bytes / m.segment_bytes,
        bytes / m.drain_bytes_per_s() * 1e3,
        p.utilisation.value * 100.0,
        p.utilisation.low * 100.0,
        p.utilisation.high * 100.0,
        p.loss_rate.value * 100.0,
        p.loss_rate.low * 100.0,
        p.loss_rate.high * 100.0,
        p.delay_ms.value,
        if may_be_missed(p.utilisation, target) {
            format!(
                "; the utilisation of {:.1} % that is asked for may be missed: the low end of its range is below it",
                target * 100.0
            )
        } else {
            String::new()
        }
    )
}

/// Whether a target that is expected to be met is above the low end of the range.
fn may_be_missed(utilisation: Range, target: f64) -> bool {
    let least = target - UTILISATION_TOLERANCE;
    utilisation.value >= least && utilisation.low < least
}

#[cfg(test)]
mod tests {
    use super::may_be_missed;
    use crate::range::Range;

    #[test]
    fn a_range_below_the_target_says_so() {
        assert!(may_be_missed(Range::new(0.985, 0.95, 1.0), 0.98));
        assert!(!may_be_missed(Range::new(0.995, 0.985, 1.0), 0.98));
        // Missed for sure is said elsewhere.
        assert!(!may_be_missed(Range::new(0.9, 0.8, 0.95), 0.98));
    }
}
