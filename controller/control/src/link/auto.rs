// SPDX-License-Identifier: Apache-2.0
//! Auto mode: when advice justifies a change, and how far one change goes.

use super::request::trusted;
use super::{LinkControl, LinkSettings};
use crate::guard;
use crate::io::Action;
use crate::record::Origin;
use crate::settings::Mode;
use crate::time::Timestamp;
use tidemark_advice::Advice;
use tidemark_rules::Limit;

impl LinkControl {
    /// Auto mode: applies steady advice that is worth a change of the limit in force.
    pub(super) fn follow(&mut self, now: Timestamp) -> Vec<Action> {
        if self.mode != Mode::Auto || !self.is_steady() {
            return Vec::new();
        }
        let Some(shown) = &self.memory.advice else {
            return Vec::new();
        };
        let Some(advised) = shown.limit_bytes else {
            return Vec::new();
        };
        let mut bytes = advised;
        if let Some(in_force) = self.memory.readings.in_force.and_then(|l| l.bytes()) {
            bytes = self.bounded_step(in_force, advised, now);
            let worth = self.leads_back(in_force, advised) || self.is_worth(shown, bytes);
            if !worth {
                return Vec::new();
            }
        }
        let wanted = self.within_step(self.wanted(shown, bytes));
        // The range is applied last, after the limits of a step.
        let Some(wanted) = self.settings.range.nearest_limit(&wanted) else {
            return Vec::new();
        };
        // Advice beyond the range asks for its end, once.
        if self.memory.readings.in_force == Some(wanted) {
            return Vec::new();
        }
        match trusted(self, &self.memory.readings, now) {
            Ok((advice, _)) => self.apply(advice, wanted, Origin::Auto),
            Err(_) => Vec::new(),
        }
    }

    /// Returns `wanted` with the limit above its threshold at most one step of auto mode from the
    /// one in force. (The threshold is already bounded by the same factors, so it stays below.)
    fn within_step(&self, wanted: Limit) -> Limit {
        let in_force = self.memory.readings.in_force;
        let before = in_force.and_then(|l| l.refuses_at_bytes());
        let (Limit::MarkCe { .. }, Some(before), Some(to), Some(threshold)) =
            (wanted, before, wanted.refuses_at_bytes(), wanted.bytes())
        else {
            return wanted;
        };
        let bounded = self.one_step(before, to);
        wanted.with_bytes(threshold.min(bounded.saturating_sub(1)), Some(bounded))
    }

    /// Whether `bytes` is worth a change of the limit in force. Every change can turn out wrong,
    /// and costs utilisation or loss until it is rolled back.
    fn is_worth(&self, shown: &Advice, bytes: u64) -> bool {
        shown.worth_a_step(bytes, self.settings.control.deadband)
    }

    /// Whether the limit in force is outside the range and the advice points back to it; then the
    /// limit moves to the nearest end, however near. If it stayed because this gains little, it
    /// would stay forever, because no step leads further.
    fn leads_back(&self, in_force: u64, advised: u64) -> bool {
        let range = &self.settings.range;
        let end = range.nearest(in_force);
        range.value(in_force).is_err() && (end < in_force) == (advised < in_force)
    }

    /// Returns the limit that one change of auto mode reaches from the limit in force towards the
    /// advice, bytes.
    fn bounded_step(&self, in_force: u64, advised: u64, now: Timestamp) -> u64 {
        let bounded = match &self.memory.failed {
            Some(failed) => failed.bounded(in_force, advised, now),
            None => advised,
        };
        self.one_step(in_force, bounded)
    }

    /// Returns the value nearest to `to` that one change of auto mode may reach, bytes. From
    /// outside the range this is its nearest end, however far.
    fn one_step(&self, from: u64, to: u64) -> u64 {
        let LinkSettings { control, range, .. } = &self.settings;
        if range.value(from).is_err() {
            return range.nearest(from);
        }
        let least = (from as f64 / control.max_decrease_factor).ceil() as u64;
        range.nearest(guard::clamp_step(control, from, to.max(least)))
    }
}
