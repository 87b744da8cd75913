// SPDX-License-Identifier: Apache-2.0
//! Effect of uncertain flow classes on sums over the LBP flows.

use super::flows::Flow;
use crate::types::Evidence;
use tidemark_rules::quantiles::Z90;

/// Correlated part of a flow's class error, if its sender was probed, if not, and if drops are
/// almost the only evidence, as with sampled reports: drops hit every flow, whatever limits it.
/// Chosen so that N_b is in its range in nine of ten windows of runs with congestion controls and
/// paths to which the weights were not fitted; each by itself, so drops need not have the largest.
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

/// A sum over the LBP flows, each flow being LBP with probability `p_lbp`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ClassSum {
    /// Sum over the flows classified LBP.
    pub value: f64,
    /// Expected sum, given the probabilities.
    expected: f64,
    /// Half the width of the 90 % range.
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

    /// How far below and above `value` the sum may be.
    pub fn less_and_more(&self) -> (f64, f64) {
        let less = (self.value - self.low()).max(0.0);
        (less, (self.high() - self.value).max(0.0))
    }
}

/// Ends of the 90 % range of a mean over the LBP flows, each LBP with probability `p_lbp`, divided
/// by the mean of the flows classified LBP. A doubtful flow matters by how far its amount is from
/// the other flows': a flow with the same amount leaves the mean as it is. Flows without an amount
/// are ignored.
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

/// Bisection steps for an end of a range: precise to a millionth.
const STEPS: usize = 20;

/// Ends of the means that the classes allow (Fieller): around an allowed mean m, the deviations of
/// the flows' amounts add up to zero within their uncertainty. Flows need not be small parts of the
/// whole: each of two or three flows moves the mean a lot.
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
    // Whichever flows are LBP, their mean is between the smallest and the largest amount.
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
        // The mean is 1.25 with the fourth flow, 1 without it.
        let one_apart = |amount| {
            let rest = [flow(1.0, 1.0); 3];
            mean_ends(&[&rest[..], &[flow(0.7, amount)]].concat())
        };
        let (low, high) = one_apart(2.0);
        assert!(low <= 1.0 / 1.25 && high < 1.2, "{low} {high}");
        let (nearer, _) = one_apart(1.5);
        assert!(nearer > low);
        // A mean is between its smallest and largest amount.
        let (low, high) = mean_ends(&[flow(0.6, 1.0), flow(0.5, 1.5)]);
        assert_eq!((low, high), (1.0 / 1.25, 1.5 / 1.25));
        // No flows, or no flow classified LBP.
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

    /// Draws the classes by their probabilities.
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
