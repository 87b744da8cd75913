// SPDX-License-Identifier: Apache-2.0
//! Limits that were tried under the present traffic, and their results: evidence for the next
//! advice.
//!
//! The result of the limit in force is replaced every second; it becomes evidence when another
//! limit replaces it. Evidence of other traffic or from long ago does not count.

use crate::time::Timestamp;
use tidemark_rules::{Traffic, TriedLimit};

/// Largest number of limits remembered; the oldest is dropped first.
const MOST: usize = 8;
/// Time after which a tried limit is forgotten, s.
const MEMORY_S: f64 = 3_600.0;
/// Relative difference up to which limits count as the same.
pub(crate) const SAME_LIMIT: f64 = 0.02;
/// Fraction and number of flows by which N_b must differ to count as other traffic.
const SAME_FLOWS: (f64, f64) = (0.25, 1.5);

/// Limits that were tried at a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TriedLimits {
    in_force: Option<TriedLimit>,
    earlier: Vec<TriedLimit>,
}

impl TriedLimits {
    /// Creates the memory from saved limits.
    pub fn of_earlier(earlier: Vec<TriedLimit>) -> Self {
        Self {
            in_force: None,
            earlier,
        }
    }

    /// Returns the limits that are no longer in force.
    pub fn earlier(&self) -> &[TriedLimit] {
        &self.earlier
    }

    /// Returns the earlier limits and the one last in force.
    pub fn all(&self) -> impl Iterator<Item = &TriedLimit> {
        self.earlier.iter().chain(&self.in_force)
    }

    /// Records the measurement at the limit in force, over a window without changes of limit or
    /// traffic.
    pub fn note(&mut self, measured: &Traffic, now: Timestamp) {
        let Some(tried) = TriedLimit::of(measured, now.unix_ms) else {
            return;
        };
        let before = self.in_force.replace(tried);
        if let Some(before) = before.filter(|b| !same_limit(b, &tried)) {
            self.earlier.retain(|t| !same_limit(t, &before));
            self.earlier.push(before);
        }
        // The new measurement replaces an earlier one of the same limit.
        self.earlier
            .retain(|t| !same_limit(t, &tried) && fresh(t, now));
        let surplus = self.earlier.len().saturating_sub(MOST);
        self.earlier.drain(..surplus);
    }

    /// Returns the limits that are evidence for this traffic.
    pub fn of(&self, measured: &Traffic, now: Timestamp) -> Vec<TriedLimit> {
        let Some(present) = TriedLimit::of(measured, now.unix_ms) else {
            return Vec::new();
        };
        // The limit may have changed since the last note.
        let all = self.all();
        all.filter(|t| !same_limit(t, &present) && fresh(t, now) && same_traffic(t, &present))
            .copied()
            .collect()
    }

    /// Forgets all limits, because the traffic changed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

fn same_limit(a: &TriedLimit, b: &TriedLimit) -> bool {
    (a.limit_bytes - b.limit_bytes).abs() <= SAME_LIMIT * a.limit_bytes.max(b.limit_bytes)
}

fn fresh(t: &TriedLimit, now: Timestamp) -> bool {
    let age_s = now.unix_ms.saturating_sub(t.unix_ms) as f64 / 1e3;
    age_s <= MEMORY_S
}

fn same_traffic(a: &TriedLimit, b: &TriedLimit) -> bool {
    let flows = (a.n_b - b.n_b).abs();
    let mixes = a.flow_mix.zip(b.flow_mix);
    (flows <= SAME_FLOWS.0 * a.n_b.max(b.n_b) || flows <= SAME_FLOWS.1)
        && mixes.is_none_or(|(a, b)| a.may_equal(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_rules::{CongestionControl, FlowMix, Observed, Range};

    const START: Timestamp = Timestamp {
        monotonic_ns: 0,
        unix_ms: 1_700_000_000_000,
    };

    fn measured(limit_bytes: f64, flows: f64, loss_rate: f64) -> Traffic {
        let mut m = Traffic::described(50e6, 0.06, flows, 1500.0);
        m.limit_bytes = Some(limit_bytes);
        m.congestion_control = CongestionControl::Reno;
        m.observed = Some(Observed {
            utilisation: 1.0,
            loss_rate,
            drops: 500,
            delay_mean_ms: 5.0,
            delay_p50_ms: 5.0,
            delay_p99_ms: 9.0,
            delay_max_ms: 9.0,
        });
        m
    }

    fn limits(e: &TriedLimits, m: &Traffic, now: Timestamp) -> Vec<f64> {
        e.of(m, now).iter().map(|t| t.limit_bytes).collect()
    }

    #[test]
    fn a_limit_becomes_evidence_when_another_takes_its_place() {
        let mut e = TriedLimits::default();
        let (first, second) = (measured(1e5, 20.0, 0.02), measured(2e5, 20.0, 0.01));
        e.note(&first, START);
        e.note(&measured(1e5, 20.0, 0.019), START);
        assert!(e.earlier().is_empty() && limits(&e, &first, START).is_empty());
        // The new limit is in force, but not measured yet.
        assert_eq!(limits(&e, &second, START), [1e5]);
        e.note(&second, START);
        assert_eq!(limits(&e, &second, START), [1e5]);
        assert_eq!(e.of(&second, START)[0].loss_rate, 0.019, "the last word");
        // Back to the first limit.
        e.note(&first, START);
        assert_eq!(limits(&e, &first, START), [2e5]);
    }

    #[test]
    fn other_traffic_and_long_ago_do_not_count() {
        let mut e = TriedLimits::default();
        e.note(&measured(1e5, 20.0, 0.02), START);
        let now = measured(2e5, 20.0, 0.01);
        e.note(&now, START);
        assert_eq!(limits(&e, &measured(2e5, 23.0, 0.01), START), [1e5]);
        assert!(limits(&e, &measured(2e5, 40.0, 0.01), START).is_empty());
        let mut cubic = now.clone();
        cubic.flow_mix = Some(FlowMix::of([CongestionControl::Cubic]));
        assert!(limits(&e, &cubic, START).is_empty());
        let later = START.plus_s(MEMORY_S + 1.0);
        assert!(limits(&e, &now, later).is_empty());
        e.note(&now, later);
        assert!(e.earlier().is_empty());
        e.forget();
        assert_eq!(e, TriedLimits::default());
    }

    #[test]
    fn only_the_newest_are_kept() {
        let mut e = TriedLimits::default();
        for i in 1..30 {
            e.note(&measured(f64::from(i) * 1e5, 20.0, 0.01), START);
        }
        assert_eq!(e.earlier().len(), MOST);
        assert_eq!(e.earlier()[MOST - 1].limit_bytes, 28e5);
        let mut nothing = measured(1e5, 20.0, 0.01);
        nothing.observed = None;
        nothing.n_b = Range::exact(20.0);
        e.note(&nothing, START);
        assert!(e.of(&nothing, START).is_empty());
    }
}
