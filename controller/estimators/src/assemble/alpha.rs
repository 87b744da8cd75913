// SPDX-License-Identifier: Apache-2.0
//! α = L̄/N_b (BSCL eq. 17), and what is known of it where it cannot be measured.

use super::bursts::Bursts;
use crate::types::{Estimate, Evidence};
use tidemark_rules::bscl::DEFAULT_ALPHA;

/// Fewer flows share a loss event so seldom that α is the burst of one or two.
const FEW_FLOWS: f64 = 5.0;
/// α of nine in ten of the simulated runs of so few flows is smaller, and of those of
/// more. It is larger where queues mark: every packet of a round trip may be.
const MOST_OF_FEW: f64 = 20.0;
const MOST_OF_MANY: f64 = 4.5;
/// Least α of the runs of many flows.
const LEAST_OF_MANY: f64 = 0.4;

/// α. `merged` is given where loss events cannot be told apart: packets lost in a
/// round trip in which any was. It is assumed, with the range in which what was seen
/// leaves it, where no drop was seen, events merged or no flow is LBP.
pub(super) fn alpha(burst: Option<&Bursts>, n_b: Estimate, merged: Option<f64>) -> Estimate {
    let Some(burst) = burst else {
        return unseen(n_b);
    };
    let l = burst.mean;
    let (fewest, most) = (n_b.low.max(0.5).min(n_b.value), n_b.high.max(n_b.value));
    if n_b.value < 0.5 {
        // Were a flow limited here, it would be one at least.
        return assumed(l.low / most.max(1.0), l.high);
    }
    if let Some(in_a_round_trip) = merged {
        // An event takes a round trip at least, and no more than what has merged.
        return assumed(in_a_round_trip / most, l.high / fewest);
    }
    // L̄ and N_b have nothing to do with each other: their factors do not add up.
    let factor = |of_l: f64, of_n: f64| of_l.ln().hypot(of_n.ln()).exp();
    let value = l.value / n_b.value;
    Estimate::new(
        value,
        value / factor(l.value / l.low, most / n_b.value),
        value * factor(l.high / l.value, n_b.value / fewest),
        n_b.evidence,
        l.samples,
    )
}

/// No drop was seen. A loss event is of one packet at least.
fn unseen(n_b: Estimate) -> Estimate {
    if n_b.value >= FEW_FLOWS {
        return assumed(LEAST_OF_MANY, MOST_OF_MANY);
    }
    let one_packet = |flows: f64| 1.0 / flows.max(1.0);
    let value = if n_b.value < 0.5 {
        DEFAULT_ALPHA
    } else {
        DEFAULT_ALPHA.max(one_packet(n_b.value))
    };
    let low = one_packet(n_b.high.max(n_b.value));
    Estimate::new(value, low, MOST_OF_FEW, Evidence::Assumed, 0)
}

/// The literature's, or what is next to it within the range.
fn assumed(low: f64, high: f64) -> Estimate {
    let value = DEFAULT_ALPHA.min(high).max(low);
    Estimate::new(value, low, high, Evidence::Assumed, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, low: f64, high: f64) -> Estimate {
        Estimate::new(value, low, high, Evidence::Probed, 10)
    }

    fn burst(mean: Estimate) -> Bursts {
        Bursts { mean, median: mean }
    }

    #[test]
    fn errors_of_l_and_n_b_are_independent() {
        let l = burst(estimate(20.0, 10.0, 40.0));
        let exact = alpha(Some(&l), estimate(10.0, 10.0, 10.0), None);
        assert!((exact.low - 1.0).abs() < 1e-12 && (exact.high - 4.0).abs() < 1e-12);
        let unsure = alpha(Some(&l), estimate(10.0, 5.0, 20.0), None);
        assert_eq!(unsure.value, 2.0);
        // Two factors of 2 are one of 2^√2, less than of 4.
        let factor = 2f64.powf(std::f64::consts::SQRT_2);
        assert!((unsure.high - 2.0 * factor).abs() < 1e-9, "{unsure:?}");
        assert!((unsure.low - 2.0 / factor).abs() < 1e-9, "{unsure:?}");
    }

    #[test]
    fn what_was_not_seen_is_assumed_within_what_it_can_be() {
        let one = alpha(None, estimate(1.0, 1.0, 1.0), None);
        assert_eq!(
            (one.value, one.low, one.evidence),
            (1.0, 1.0, Evidence::Assumed)
        );
        let two = alpha(None, estimate(2.0, 1.5, 2.5), None);
        assert_eq!((two.value, two.low), (0.55, 0.4));
        let many = alpha(None, estimate(60.0, 50.0, 70.0), None);
        assert_eq!((many.value, many.low), (0.55, 0.4));
        assert!(many.high < two.high);
        let none = alpha(None, estimate(0.0, 0.0, 0.2), None);
        assert_eq!(none.value, 0.55);
    }

    #[test]
    fn merged_events_are_of_a_round_trip_at_least() {
        let l = burst(estimate(3000.0, 1000.0, 9000.0));
        let merged = alpha(Some(&l), estimate(20.0, 18.0, 25.0), Some(50.0));
        assert_eq!((merged.value, merged.low, merged.high), (2.0, 2.0, 500.0));
        assert_eq!(merged.evidence, Evidence::Assumed);
        // No flow is LBP, or one.
        let doubt = alpha(
            Some(&burst(estimate(8.0, 5.0, 12.0))),
            estimate(0.0, 0.0, 1.0),
            None,
        );
        assert_eq!(
            (doubt.low, doubt.high, doubt.evidence),
            (5.0, 12.0, Evidence::Assumed)
        );
    }
}
