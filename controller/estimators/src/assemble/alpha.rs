// SPDX-License-Identifier: Apache-2.0
//! α = L̄/N_b (BSCL eq. 17), or what is known about it if it cannot be measured.

use super::bursts::Bursts;
use crate::types::{Estimate, Evidence};
use tidemark_rules::bscl::DEFAULT_ALPHA;

/// With fewer flows, loss events are shared so rarely that α is the burst of one or two flows.
const FEW_FLOWS: f64 = 5.0;
/// Upper bounds of α in nine of ten simulated runs, with fewer flows than that and with more. α is
/// larger if the queue marks: it may mark every packet of a round trip.
const MOST_OF_FEW: f64 = 20.0;
const MOST_OF_MANY: f64 = 4.5;
/// Smallest α in the runs with many flows.
const LEAST_OF_MANY: f64 = 0.4;

/// Estimates α. `merged` is the mean number of packets lost per round trip with a loss, given if
/// loss events cannot be told apart. Without drops, with merged events or without LBP flows α is
/// assumed, and its range covers what the observations allow.
pub(super) fn alpha(burst: Option<&Bursts>, n_b: Estimate, merged: Option<f64>) -> Estimate {
    let Some(burst) = burst else {
        return unseen(n_b);
    };
    let l = burst.mean;
    let (fewest, most) = (n_b.low.max(0.5).min(n_b.value), n_b.high.max(n_b.value));
    if n_b.value < 0.5 {
        // If any flow were limited here, there would be at least one.
        return assumed(l.low / most.max(1.0), l.high);
    }
    if let Some(in_a_round_trip) = merged {
        // An event lasts at least a round trip, and at most as long as the merged events.
        return assumed(in_a_round_trip / most, l.high / fewest);
    }
    // Errors of L̄ and N_b are independent: their factors combine in quadrature.
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

/// α if no drop was seen. A loss event has at least one packet.
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

/// The literature's α, or the value in the range that is closest to it.
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
        // Two independent factors of 2 combine to 2^√2, less than 4.
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
        // No flow or one flow is LBP.
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
