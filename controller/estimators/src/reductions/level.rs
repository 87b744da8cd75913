// SPDX-License-Identifier: Apache-2.0
//! The level of a window: its largest recent value.

/// Tracks the largest of the recent values, which are added in order of time.
#[derive(Default)]
pub(super) struct Level {
    /// Times (ns) and values from index `first` on, each value larger than all later ones. Other
    /// values can never be the largest.
    kept: Vec<(u64, u32)>,
    first: usize,
}

impl Level {
    /// Adds a value; `time_ns` must not decrease.
    pub fn push(&mut self, time_ns: u64, value: u32) {
        while self.kept.len() > self.first && self.kept.last().is_some_and(|k| k.1 <= value) {
            self.kept.pop();
        }
        self.kept.push((time_ns, value));
    }

    /// Forgets values older than `lasts_ns`, except the newest.
    pub fn forget(&mut self, now_ns: u64, lasts_ns: u64) {
        while self.kept.len() > self.first + 1
            && let Some(oldest) = self.kept.get(self.first)
            && oldest.0 + lasts_ns < now_ns
        {
            self.first += 1;
        }
    }

    pub fn clear(&mut self) {
        self.kept.clear();
        self.first = 0;
    }

    /// Returns the largest value, if any.
    pub fn largest(&self) -> Option<u32> {
        self.kept.get(self.first).map(|k| k.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// Compares with keeping each value until it is too old.
        #[test]
        fn is_the_largest_of_all(
            steps in prop::collection::vec((0..5u64, 0..20u64, 0..9u32, 0..40u32), 0..80)
        ) {
            let mut level = Level::default();
            let mut all: VecDeque<(u64, u32)> = VecDeque::new();
            let mut now_ns = 0;
            for (later_ns, lasts_ns, value, dice) in steps {
                now_ns += later_ns;
                level.forget(now_ns, lasts_ns);
                while all.len() > 1 && all.front().is_some_and(|v| v.0 + lasts_ns < now_ns) {
                    all.pop_front();
                }
                if dice == 0 {
                    level.clear();
                    all.clear();
                }
                let largest = all.iter().map(|v| v.1).max();
                prop_assert_eq!(level.largest(), largest);
                level.push(now_ns, value);
                all.push_back((now_ns, value));
            }
        }
    }
}
