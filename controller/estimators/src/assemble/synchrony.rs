// SPDX-License-Identifier: Apache-2.0
//! D, s and the condition of Theorem 5 (UTB §4) with their ranges.

use super::class_error::ClassSum;
use super::flows::Flow;
use crate::signals::Signal;
use crate::stats::share_range;
use crate::synchrony::{RoundTrips, distinct_per_rtt, of_each_flow, synchronised};
use crate::types::{Estimate, Evidence};
use crate::window::LinkWindow;
use rustc_hash::FxHashSet;

/// Inputs of [`synchrony`].
pub(super) struct Facts<'f, 'a, 'w> {
    pub window: &'f LinkWindow<'a>,
    pub flows: &'f [Flow<'a, 'w>],
    pub signals: &'f [Signal],
    pub lbp: &'f FxHashSet<u64>,
    pub n: f64,
    pub delta: Estimate,
    pub bdp_pkts: f64,
    pub t_e: Estimate,
    pub t_e_ns: u64,
}

#[derive(Clone, Copy)]
pub(super) struct Synchrony {
    pub rtts: u64,
    pub d_mean: Estimate,
    pub d_max: f64,
    pub s: Estimate,
    pub condition_fraction: Estimate,
}

/// Part of the effect of doubtful classes that shows in D. A doubtful flow mostly loses little, as
/// in [`super::load`].
const IN_D: f64 = 0.4;

/// Estimates D, s and the condition; `None` without a loss. The ranges cover the round trips that
/// were not seen and misclassified flows; those of s and the condition also cover the ranges of Δ
/// and of T_e, which determines the BDP.
pub(super) fn synchrony(facts: &Facts<'_, '_, '_>) -> Option<Synchrony> {
    let (n, lbp) = (facts.n, facts.lbp);
    let rounds = RoundTrips::of(&facts.window.intervals, facts.t_e_ns);
    let compensated = |delta: f64| n * n / (delta * facts.bdp_pkts);
    // The errors of Δ and T_e are independent.
    let together = |delta: f64, t_e_ms: f64| {
        let of_delta = (delta / facts.delta.value).ln();
        of_delta.hypot((t_e_ms / facts.t_e.value).ln()).exp()
    };
    let d = distinct_per_rtt(facts.signals, &rounds, lbp);
    let sync = synchronised(&d, compensated(facts.delta.value), n.sqrt())?;
    let of_each = of_each_flow(facts.signals, &rounds, lbp);
    let in_doubt = ClassSum::of(facts.flows, Flow::is_lbp, |f| {
        of_each.get(&f.estimate.flow).copied().unwrap_or(0.0)
    });
    let (less, more) = in_doubt.less_and_more();
    let (less, more) = (IN_D * less, IN_D * more);
    let at = |delta: f64, factor: f64| {
        let d: Vec<f64> = d.iter().map(|d| d * factor).collect();
        synchronised(&d, compensated(delta), n.sqrt())
    };
    // The fairer the windows, the more reductions the queue compensates for.
    let (low, high) = (
        together(facts.delta.low, facts.t_e.low),
        together(facts.delta.high, facts.t_e.high),
    );
    let fairest = at(facts.delta.value / low, 1.0)?;
    let least_fair = at(facts.delta.value * high, 1.0)?;
    let s_error = sync.s_error.hypot(sync.s_mean - fairest.s_mean).hypot(less);
    let c = sync.condition_fraction;
    let counted = share_range(c * sync.condition_rtts, sync.condition_rtts);
    let rarely = at(facts.delta.value, 1.0 + more / sync.d_mean)?;
    let often = at(facts.delta.value, 1.0 - less / sync.d_mean)?;
    let (condition_low, condition_high) = condition_range(
        c,
        [
            counted,
            (rarely.condition_fraction, often.condition_fraction),
            (least_fair.condition_fraction, fairest.condition_fraction),
        ],
    );
    let passive = |value, low: f64, high| {
        Estimate::new(value, low.max(0.0), high, Evidence::Passive, sync.rtts)
    };
    Some(Synchrony {
        rtts: sync.rtts,
        d_mean: passive(
            sync.d_mean,
            (sync.d_mean - sync.d_error.hypot(less)).max(1.0),
            sync.d_mean + sync.d_error.hypot(more),
        ),
        d_max: sync.d_max,
        s: passive(sync.s_mean, sync.s_mean - s_error, least_fair.s_max),
        condition_fraction: passive(c, condition_low, condition_high),
    })
}

/// Range of the condition's share `c` of the round trips. `alone` holds the smallest and largest
/// share that each cause alone gives; the causes are independent.
fn condition_range(c: f64, alone: [(f64, f64); 3]) -> (f64, f64) {
    let (mut less, mut more) = (0.0f64, 0.0f64);
    for (least, most) in alone {
        less = less.hypot((c - least).max(0.0));
        more = more.hypot((most - c).max(0.0));
    }
    ((c - less).max(0.0), (c + more).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of four flows reduce in each round trip, and Δ leaves room for 2.9 to 3.1.
    #[test]
    fn a_condition_next_to_its_bound_is_as_unsure_as_the_bound() {
        let d = [3.0; 40];
        let share = |compensated: f64| {
            let sync = synchronised(&d, compensated, 2.0).unwrap();
            sync.condition_fraction
        };
        let c = share(1.05);
        let counted = share_range(40.0 * c, 40.0);
        let sure = condition_range(c, [counted, (c, c), (c, c)]);
        assert!(sure.0 > 0.9 && sure.1 == 1.0, "{sure:?}");
        let unsure = condition_range(c, [counted, (c, c), (share(0.9), share(1.1))]);
        assert_eq!(unsure, (0.0, 1.0));
    }

    #[test]
    fn causes_that_are_independent_add_up_in_squares() {
        let (low, high) = condition_range(0.5, [(0.47, 0.53), (0.46, 0.5), (0.5, 0.54)]);
        assert!((low - 0.45).abs() < 1e-12 && (high - 0.55).abs() < 1e-12);
        // A bound above 1, or on the wrong side of the value, narrows nothing.
        assert_eq!(
            condition_range(0.9, [(0.9, 1.3), (1.0, 0.9), (0.9, 0.8)]),
            (0.9, 1.0)
        );
    }
}
