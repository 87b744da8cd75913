// SPDX-License-Identifier: Apache-2.0
//! What the uncertainty of the flows' classes does to sums over the LBP flows.

use super::flows::Flow;
use crate::stats::Z90;
use crate::types::Evidence;

/// Part of the error of a flow's class that it shares with the others, where its
/// sender was probed, where not, and where nothing but drops is seen: these come to
/// every flow whatever limits it. So wide that the training runs of the calibration
/// have N_b in its range in nine of ten windows.
const PROBED: f64 = 0.05;
const INFERRED: f64 = 0.08;
const DROPS_ALONE: f64 = 0.4;

fn common_part(f: &Flow<'_, '_>) -> f64 {
    if f.estimate.evidence != Evidence::Passive {
        PROBED
    } else if f.window.sampling > 1.0 || f.base_rtt.is_none_or(|b| b.guessed) {
        DROPS_ALONE
    } else {
        INFERRED
    }
}

/// A sum over the flows that are LBP, each with probability `p_lbp`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ClassSum {
    /// Over the flows that are called LBP.
    pub value: f64,
    /// Expected by their probabilities.
    expected: f64,
    /// Half width of its 90 % range.
    spread: f64,
}

impl ClassSum {
    pub fn of<'f, 'a: 'f, 'w: 'a>(
        flows: &'f [Flow<'a, 'w>],
        called_lbp: impl Fn(&Flow<'a, 'w>) -> bool,
        amount: impl Fn(&Flow<'a, 'w>) -> f64,
    ) -> Self {
        let (mut sum, mut variance, mut shared) = (Self::default(), 0.0, 0.0);
        for f in flows {
            let amount = amount(f);
            if called_lbp(f) {
                sum.value += amount;
            }
            let p = f.estimate.p_lbp;
            sum.expected += amount * p;
            let square = p * (1.0 - p);
            let part = common_part(f);
            shared += part * amount * square.sqrt();
            variance += (1.0 - part * part) * amount * amount * square;
        }
        sum.spread = Z90 * (variance.sqrt() + shared);
        sum
    }

    pub fn low(&self) -> f64 {
        (self.expected - self.spread).max(0.0)
    }

    pub fn high(&self) -> f64 {
        self.expected + self.spread
    }

    /// How much less than `value` it may be, and how much more.
    pub fn less_and_more(&self) -> (f64, f64) {
        let less = (self.value - self.low()).max(0.0);
        (less, (self.high() - self.value).max(0.0))
    }
}
