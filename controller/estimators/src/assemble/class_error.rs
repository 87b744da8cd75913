// SPDX-License-Identifier: Apache-2.0
//! Effect of uncertain flow classes on sums over the LBP flows.

use super::flows::Flow;
use crate::types::Evidence;
use tidemark_rules::quantiles::Z90;

/// Part of the error of a flow's class that it shares with the others: none where its sender
/// was probed, some where not, most where little but drops is seen: these come to every flow
/// whatever limits it. Reports of a part of the packets show little else. So wide that N_b is in
/// its range in nine of ten windows of runs with controls and paths that the weights were not
/// fitted to.
const PROBED: f64 = 0.0;
const INFERRED: f64 = 0.5;
const DROPS_ALONE: f64 = 0.4;

fn common_part(f: &Flow<'_, '_>) -> f64 {
    if f.window.sampling > 1.0 {
        DROPS_ALONE
    } else if f.estimate.evidence != Evidence::Passive {
        PROBED
    } else if f.base_rtt.is_none() {
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

/// A mean over the flows that are LBP, each with probability `p_lbp`: the ends of its 90 %
/// range over the mean of those that are called LBP. A flow in doubt counts by how far its
/// amount is from the others': one of the same amount changes no mean, whatever it is.
/// Flows without an amount say nothing.
pub(super) fn class_mean_ends<'f, 'a: 'f, 'w: 'a>(
    flows: &'f [Flow<'a, 'w>],
    called_lbp: impl Fn(&Flow<'a, 'w>) -> bool,
    amount: impl Fn(&Flow<'a, 'w>) -> Option<f64>,
) -> (f64, f64) {
    let counted = flows.iter().filter_map(|f| {
        Some(Counted {
            called_lbp: called_lbp(f),
            p_lbp: f.estimate.p_lbp,
            common_part: common_part(f),
            weight: f.weight(),
            amount: amount(f)?,
        })
    });
    mean_ends(&counted.collect::<Vec<_>>())
}

/// One flow's contribution to a mean.
#[derive(Clone, Copy, Debug)]
struct Counted {
    called_lbp: bool,
    p_lbp: f64,
    common_part: f64,
    weight: f64,
    amount: f64,
}

/// Steps by which an end of a range is closed in on: to a part in a million of it.
const STEPS: usize = 20;

/// The means that the classes allow (Fieller): with a mean m, what the flows' amounts differ
/// from it adds up to nothing, as far as the classes are known. A small part of all is not
/// asked for: of two or three flows each moves the mean much.
fn mean_ends(flows: &[Counted]) -> (f64, f64) {
    let mean = |part: fn(&Counted) -> f64| {
        let (weights, sum) = flows.iter().fold((0.0, 0.0), |(weights, sum), f| {
            let weight = part(f) * f.weight;
            (weights + weight, sum + weight * f.amount)
        });
        sum / weights
    };
    let called = mean(|f| f64::from(u8::from(f.called_lbp)));
    let expected = mean(|f| f.p_lbp);
    let may_be = || flows.iter().filter(|f| f.p_lbp > 0.0);
    let allowed = |mean: f64| {
        let (mut sum, mut variance, mut shared) = (0.0, 0.0, 0.0);
        for f in may_be() {
            let differs = f.weight * (f.amount - mean);
            let deviation = differs * (f.p_lbp * (1.0 - f.p_lbp)).sqrt();
            let part = f.common_part;
            sum += f.p_lbp * differs;
            shared += part * deviation;
            variance += (1.0 - part * part) * deviation * deviation;
        }
        sum.abs() <= Z90 * (variance.sqrt() + shared.abs())
    };
    // Whichever they are, a mean is between the least and the largest.
    let end = |farthest: f64| {
        if allowed(farthest) {
            return farthest;
        }
        let (mut inside, mut outside) = (expected, farthest);
        for _ in 0..STEPS {
            let middle = f64::midpoint(inside, outside);
            if allowed(middle) {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        inside
    };
    let low = end(may_be().map(|f| f.amount).fold(expected, f64::min)) / called;
    let high = end(may_be().map(|f| f.amount).fold(expected, f64::max)) / called;
    if low.is_finite() && high.is_finite() {
        (low.min(1.0), high.max(1.0))
    } else {
        (1.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use test_support::rng::Rng;

    fn flow(p_lbp: f64, amount: f64) -> Counted {
        Counted {
            called_lbp: p_lbp >= 0.5,
            p_lbp,
            common_part: 0.0,
            weight: 1.0,
            amount,
        }
    }

    #[test]
    fn a_flow_in_doubt_counts_by_how_far_it_is_from_the_others() {
        let sure = [flow(1.0, 1.0), flow(1.0, 3.0), flow(0.0, 9.0)];
        assert_eq!(mean_ends(&sure), (1.0, 1.0));
        let alike = [flow(1.0, 2.0), flow(0.7, 2.0), flow(0.3, 2.0)];
        assert_eq!(mean_ends(&alike), (1.0, 1.0));
        // 1.25 with the fourth, 1 without.
        let one_apart = |amount| {
            let rest = [flow(1.0, 1.0); 3];
            mean_ends(&[&rest[..], &[flow(0.7, amount)]].concat())
        };
        let (low, high) = one_apart(2.0);
        assert!(low <= 1.0 / 1.25 && high < 1.2, "{low} {high}");
        let (nearer, _) = one_apart(1.5);
        assert!(nearer > low);
        // A mean is between what it is of.
        let (low, high) = mean_ends(&[flow(0.6, 1.0), flow(0.5, 1.5)]);
        assert_eq!((low, high), (1.0 / 1.25, 1.5 / 1.25));
        // Nothing to count, or nothing called LBP.
        assert_eq!(mean_ends(&[]), (1.0, 1.0));
        assert_eq!(mean_ends(&[flow(0.4, 1.0)]), (1.0, 1.0));
    }

    #[test]
    fn what_errors_have_in_common_adds_up() {
        let common = |part: f64| {
            let all = [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0];
            let in_doubt = |amount| Counted {
                common_part: part,
                ..flow(if amount > 1.0 { 0.7 } else { 1.0 }, amount)
            };
            mean_ends(&all.map(in_doubt))
        };
        let (alone, together) = (common(0.0), common(0.5));
        assert!(together.0 < alone.0 && together.1 > alone.1);
    }

    /// Classes drawn by their probabilities.
    #[test]
    fn nine_of_ten_means_are_in_the_range() {
        let mut rng = Rng::of(5);
        let (mut held, mut all) = (0u32, 0u32);
        for _ in 0..4000 {
            let flows: Vec<Counted> = (0..12)
                .map(|_| flow(rng.fraction(), 1.0 + 3.0 * rng.fraction()))
                .collect();
            let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
            let called = flows.iter().filter(|f| f.called_lbp).map(|f| f.amount);
            let called = mean(called.collect());
            let drawn = flows.iter().filter(|f| rng.fraction() < f.p_lbp);
            let truth = mean(drawn.map(|f| f.amount).collect());
            let (low, high) = mean_ends(&flows);
            if truth.is_finite() && called.is_finite() {
                all += 1;
                held += u32::from(called * low <= truth && truth <= called * high);
            }
        }
        let part = f64::from(held) / f64::from(all);
        assert!(
            all > 3900 && (0.87..0.95).contains(&part),
            "{part} of {all}"
        );
    }
}
