// SPDX-License-Identifier: Apache-2.0
//! Loss bursts: L̄ and q̂.

use super::activity::Activity;
use crate::loss_events::{LossEvent, loss_events};
use crate::signals::Signal;
use crate::stats::{log_errors_of_sizes, mean, mean_error_in_time, quantile};
use crate::types::{Estimate, Evidence};
use rustc_hash::FxHashSet;
use tidemark_rules::quantiles::Z90;

/// The loss events of a window. Gaps of T_e separate them, so that an error in T_e merges or splits
/// events.
pub(super) struct Events {
    /// Events by the estimated T_e.
    pub by_t_e: Vec<LossEvent>,
    /// Events by each end of T_e's range that differs from the estimate.
    by_its_range: Vec<Vec<LossEvent>>,
}

impl Events {
    /// `gap_ns` holds T_e and the ends of its range.
    pub fn of(signals: &[Signal], gap_ns: (u64, [u64; 2]), of: &FxHashSet<u64>) -> Self {
        let (t_e_ns, range) = gap_ns;
        let others = range.into_iter().filter(|&g| g != t_e_ns);
        Self {
            by_t_e: loss_events(signals, t_e_ns, of),
            by_its_range: others.map(|g| loss_events(signals, g, of)).collect(),
        }
    }

    /// Smallest and largest mean over the events when T_e varies over its range; `m` is the mean at
    /// the estimated T_e.
    fn ends(&self, m: f64, of: impl Fn(&[LossEvent]) -> Option<f64>) -> (f64, f64) {
        let all = self.by_its_range.iter().filter_map(|events| of(events));
        all.fold((m, m), |(low, high), v| (low.min(v), high.max(v)))
    }
}

pub(super) struct Bursts {
    /// Mean drops per loss event.
    pub mean: Estimate,
    /// Median drops per loss event.
    pub median: Estimate,
}

fn sizes(events: &[LossEvent]) -> Vec<f64> {
    events.iter().map(|e| e.packets as f64).collect()
}

/// Estimates the loss bursts. The mean's range covers the events that were not seen, and events
/// that an error in T_e merges or splits.
pub(super) fn bursts(events: &Events) -> Option<Bursts> {
    let all = sizes(&events.by_t_e);
    let m = mean(&all)?;
    let (less, more) = log_errors_of_sizes(&all)?;
    let (shortest, longest) = events.ends(m, |e| mean(&sizes(e)));
    let low = m * (-less.hypot((m / shortest).ln())).exp();
    let high = m * more.hypot((longest / m).ln()).exp();
    let n = all.len() as u64;
    Some(Bursts {
        mean: Estimate::new(m, low.max(1.0), high, Evidence::Passive, n),
        median: Estimate::new(
            quantile(&all, 0.5)?,
            quantile(&all, 0.25)?,
            quantile(&all, 0.75)?,
            Evidence::Passive,
            n,
        ),
    })
}

/// q̂: mean fraction of the active LBP flows that lost a packet in a loss event.
pub(super) fn q(
    events: &Events,
    n_b: f64,
    active: &Activity,
    evidence: Evidence,
) -> Option<Estimate> {
    if n_b < 0.5 {
        return None;
    }
    let fractions = |events: &[LossEvent]| -> Vec<f64> {
        let active = |e: &LossEvent| active.during(e.from_ns, e.to_ns).max(1.0);
        let part = |e: &LossEvent| (e.flows as f64 / active(e)).min(1.0);
        events.iter().map(part).collect()
    };
    let all = fractions(&events.by_t_e);
    let m = mean(&all)?;
    let error = mean_error_in_time(&all);
    let (shortest, longest) = events.ends(m, |e| mean(&fractions(e)));
    let (mut low, mut high) = (m - error.hypot(m - shortest), m + error.hypot(longest - m));
    if all.iter().all(|&f| f == m) {
        // Identical events show that different ones are rare, not that there are none (Wilson's
        // interval of the fraction of identical events).
        let rare = Z90 * Z90 / (all.len() as f64 + Z90 * Z90);
        low = low.min(m * (1.0 - rare));
        high = high.max(m + rare * (1.0 - m));
    }
    let n = all.len() as u64;
    Some(Estimate::new(m, low.max(0.0), high.min(1.0), evidence, n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals(at: impl IntoIterator<Item = (u64, u64)>) -> Vec<Signal> {
        let signal = |(time_ns, packets)| Signal {
            time_ns,
            flow: 1,
            packets,
        };
        at.into_iter().map(signal).collect()
    }

    #[test]
    fn the_range_of_l_holds_what_another_t_e_would_give() {
        let of: FxHashSet<u64> = [1].into_iter().collect();
        // Pairs of drops 12 apart, each pair 100 from the next.
        let s = signals((0..40).flat_map(|i| [(100 * i, 1), (100 * i + 12, 1)]));
        let sure = Events::of(&s, (10, [10, 10]), &of);
        let unsure = Events::of(&s, (10, [9, 14]), &of);
        let (sure, unsure) = (bursts(&sure).unwrap().mean, bursts(&unsure).unwrap().mean);
        assert_eq!((sure.value, sure.low, sure.high), (1.0, 1.0, 1.0));
        assert_eq!((unsure.value, unsure.low), (1.0, 1.0));
        assert!((unsure.high - 2.0).abs() < 1e-12);
    }

    #[test]
    fn events_that_are_all_alike_leave_room_for_others() {
        let of: FxHashSet<u64> = [1].into_iter().collect();
        let active = Activity::steady(1.0);
        let range = |events: u64| {
            let s = signals((0..events).map(|i| (100 * i, 1)));
            let events = Events::of(&s, (10, [10, 10]), &of);
            q(&events, 1.0, &active, Evidence::Passive).unwrap()
        };
        let (few, many) = (range(3), range(300));
        assert_eq!((few.value, few.high), (1.0, 1.0));
        assert!((0.45..0.6).contains(&few.low), "{few:?}");
        assert!((0.98..1.0).contains(&many.low), "{many:?}");
    }
}
