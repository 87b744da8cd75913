// SPDX-License-Identifier: Apache-2.0
//! Hysteresis filter of the advice: a moving median with a dead zone.
//!
//! The advice of one second varies with the losses that happen to fall into its
//! window. The value shown and applied is held until the median of the last
//! seconds leaves its neighbourhood.

use crate::settings::Settings;
use std::collections::VecDeque;

/// The advice of the last seconds, and the value held. All values are bytes.
#[derive(Clone, Debug)]
pub(crate) struct HysteresisFilter {
    recent: VecDeque<u64>,
    held: Option<u64>,
    /// Nothing is held long enough yet to be worth keeping.
    settling: bool,
}

impl Default for HysteresisFilter {
    fn default() -> Self {
        Self {
            recent: VecDeque::new(),
            held: None,
            settling: true,
        }
    }
}

impl HysteresisFilter {
    /// A filter that holds what was held before a restart.
    pub(crate) fn holding(bytes: u64) -> Self {
        Self {
            held: Some(bytes),
            settling: false,
            ..Self::default()
        }
    }

    /// Forgets everything: the targets changed, so what was held answers another
    /// question.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Forgets the advice of the last seconds (limit or traffic changed). What is
    /// held stays until enough new advice has come.
    pub(crate) fn restart(&mut self) {
        self.recent.clear();
    }

    /// Takes the advice of one second.
    pub(crate) fn push(&mut self, bytes: u64, settings: &Settings) {
        let memory = settings.advice_memory_s.max(settings.stable_s).max(1) as usize;
        self.recent.push_back(bytes);
        while self.recent.len() > memory {
            self.recent.pop_front();
        }
        let median = self.median();
        let held = self.held.unwrap_or(median);
        let away = median.abs_diff(held) as f64 > settings.hysteresis * held as f64;
        if self.settling || (away && self.is_steady(settings)) {
            self.held = Some(median);
        } else {
            self.held = Some(held);
        }
        self.settling &= !self.is_steady(settings);
    }

    /// Where the advice of the last seconds all lies on one side of what is held: its
    /// median.
    pub(crate) fn clear_median(&self, settings: &Settings) -> Option<u64> {
        let (low, high, _) = self.range().filter(|_| self.is_steady(settings))?;
        let held = self.held?;
        (low > held || high < held).then(|| self.median())
    }

    /// Holds this, however near to what was held.
    pub(crate) fn hold(&mut self, bytes: u64) {
        self.held = Some(bytes);
    }

    /// The value shown and applied.
    pub(crate) fn held(&self) -> Option<u64> {
        self.held
    }

    /// Enough advice has come since the last restart to act on.
    pub(crate) fn is_steady(&self, settings: &Settings) -> bool {
        self.recent.len() >= settings.stable_s.max(1) as usize
    }

    /// Smallest and largest advice of the last seconds, and how many.
    pub(crate) fn range(&self) -> Option<(u64, u64, usize)> {
        let low = self.recent.iter().min()?;
        let high = self.recent.iter().max()?;
        Some((*low, *high, self.recent.len()))
    }

    /// All advice of the last seconds lies on the same side of `limit` as the
    /// one held.
    pub(crate) fn is_clear_of(&self, limit: u64) -> bool {
        let Some((low, high, _)) = self.range() else {
            return false;
        };
        self.held
            .is_some_and(|h| if h > limit { low > limit } else { high < limit })
    }

    fn median(&self) -> u64 {
        let mut sorted: Vec<u64> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        let middle = sorted.len().saturating_sub(1) / 2;
        sorted.get(middle).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pushed(steady: &mut HysteresisFilter, bytes: &[u64]) -> Vec<u64> {
        let settings = Settings::default();
        let push = |&b: &u64| {
            steady.push(b, &settings);
            steady.held().unwrap()
        };
        bytes.iter().map(push).collect()
    }

    #[test]
    fn noise_moves_nothing() {
        let mut s = HysteresisFilter::default();
        pushed(&mut s, &[100, 104, 100]);
        // Single seconds may say anything.
        let held = pushed(&mut s, &[96, 180, 103, 60, 99, 108, 95]);
        assert!(held.iter().all(|&h| h == 100), "{held:?}");
    }

    #[test]
    fn what_all_say_is_told() {
        let settings = Settings::default();
        let mut s = HysteresisFilter::default();
        pushed(&mut s, &[100; 5]);
        assert_eq!(s.clear_median(&settings), None);
        let advice = vec![106; settings.advice_memory_s as usize];
        assert!(pushed(&mut s, &advice).iter().all(|&h| h == 100));
        assert_eq!(s.clear_median(&settings), Some(106));
        pushed(&mut s, &[99]);
        assert_eq!(s.clear_median(&settings), None);
        s.hold(106);
        assert_eq!(s.held(), Some(106));
        s.restart();
        assert_eq!(s.clear_median(&settings), None);
    }

    #[test]
    fn a_lasting_change_is_followed_once() {
        let mut s = HysteresisFilter::default();
        pushed(&mut s, &[100; 5]);
        let held = pushed(&mut s, &[200, 205, 198, 202, 201, 203, 196, 204]);
        assert_eq!(held[..2], [100, 100]);
        assert!(held[4..].iter().all(|h| *h == held[4]), "{held:?}");
        assert!((195..=205).contains(&held[4]));
    }

    #[test]
    fn a_drift_is_followed_in_steps() {
        let mut s = HysteresisFilter::default();
        let drift: Vec<u64> = (0..60).map(|i| 1000 + 10 * i).collect();
        let mut held = pushed(&mut s, &drift);
        held.dedup();
        assert!((4..=8).contains(&held.len()), "{held:?}");
        assert!(1590 - held.last().unwrap() <= 200, "{held:?}");
    }

    #[test]
    fn before_it_has_settled_it_follows_freely() {
        let mut s = HysteresisFilter::default();
        assert_eq!(pushed(&mut s, &[100, 50, 40]), [100, 50, 50]);
        assert!(s.is_steady(&Settings::default()));
    }

    #[test]
    fn new_evidence_holds_until_there_is_enough_of_it() {
        let mut s = HysteresisFilter::default();
        pushed(&mut s, &[100; 5]);
        s.restart();
        assert_eq!(pushed(&mut s, &[300, 300]), [100, 100]);
        assert!(!s.is_steady(&Settings::default()));
        assert_eq!(pushed(&mut s, &[300]), [300]);
        s.reset();
        assert_eq!(s.held(), None);
    }

    #[test]
    fn clear_of_a_limit() {
        let mut s = HysteresisFilter::default();
        assert!(!s.is_clear_of(100));
        pushed(&mut s, &[150, 160, 140]);
        assert!(s.is_clear_of(100));
        pushed(&mut s, &[90]);
        assert!(!s.is_clear_of(100));
    }
}
