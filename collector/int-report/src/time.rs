// SPDX-License-Identifier: Apache-2.0
//! From a node's timestamps to nanoseconds: unit, and unwrapping of counters
//! narrower than 64 bits.

use serde::{Deserialize, Serialize};

/// Unit of a node's timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeUnit {
    #[default]
    Ns,
    Us,
    Ms,
    /// 2^-32 s, as NTP counts fractions.
    NtpFraction,
}

impl TimeUnit {
    /// Converts to nanoseconds; saturates at `u64::MAX`.
    #[must_use]
    #[inline]
    pub fn to_ns(self, value: u64) -> u64 {
        match self {
            Self::Ns => value,
            Self::Us => value.saturating_mul(1_000),
            Self::Ms => value.saturating_mul(1_000_000),
            Self::NtpFraction => {
                let ns = (u128::from(value) * 1_000_000_000) >> 32;
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        }
    }
}

/// Makes one monotonic count of a counter that is `bits` wide: a step back by
/// more than half its range is a wrap, a smaller one a reordered report.
#[derive(Clone, Copy, Debug)]
pub struct Unwrapper {
    bits: u32,
    /// Newest unwrapped value; `None` before the first.
    newest: Option<u64>,
}

impl Unwrapper {
    /// `bits` is clamped to 1..=64; 64 never wraps.
    #[must_use]
    pub fn new(bits: u8) -> Self {
        Self {
            bits: u32::from(bits).clamp(1, 64),
            newest: None,
        }
    }

    /// The value of `raw` (bits beyond the width are ignored) on the unwrapped
    /// axis, taken as the one nearest to the newest seen.
    #[inline]
    pub fn unwrap(&mut self, raw: u64) -> u64 {
        if self.bits == 64 {
            return raw;
        }
        let range = 1u64 << self.bits;
        let raw = raw & (range - 1);
        let Some(newest) = self.newest else {
            self.newest = Some(raw);
            return raw;
        };
        let forward = raw.wrapping_sub(newest) & (range - 1);
        if forward < range / 2 {
            let value = newest.saturating_add(forward);
            self.newest = Some(value);
            value
        } else {
            // Before the first value of the first round: no earlier round exists.
            newest.checked_sub(range - forward).unwrap_or(raw)
        }
    }

    /// Forgets the past, after the node has restarted.
    pub fn reset(&mut self) {
        self.newest = None;
    }
}

/// Time of one node: unwraps, then converts to nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct NodeClock {
    unit: TimeUnit,
    unwrapper: Unwrapper,
}

impl NodeClock {
    /// `bits`: width of the node's counter, 1 to 64.
    #[must_use]
    pub fn new(unit: TimeUnit, bits: u8) -> Self {
        Self {
            unit,
            unwrapper: Unwrapper::new(bits),
        }
    }

    /// Nanoseconds of the node's clock, on an axis that does not wrap.
    #[inline]
    pub fn to_ns(&mut self, raw: u64) -> u64 {
        self.unit.to_ns(self.unwrapper.unwrap(raw))
    }

    /// Forgets the past, after the node has restarted.
    pub fn reset(&mut self) {
        self.unwrapper.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        assert_eq!(TimeUnit::Us.to_ns(3), 3_000);
        assert_eq!(TimeUnit::Ms.to_ns(3), 3_000_000);
        assert_eq!(TimeUnit::NtpFraction.to_ns(1 << 32), 1_000_000_000);
        assert_eq!(TimeUnit::NtpFraction.to_ns(1 << 31), 500_000_000);
        assert_eq!(TimeUnit::Us.to_ns(u64::MAX), u64::MAX);
    }

    #[test]
    fn wraps_forward_and_keeps_reordering_apart() {
        let mut clock = Unwrapper::new(48);
        let top = (1u64 << 48) - 10;
        assert_eq!(clock.unwrap(top), top);
        assert_eq!(clock.unwrap(5), (1 << 48) + 5);
        // A late report from before the wrap.
        assert_eq!(clock.unwrap(top + 3), top + 3);
        assert_eq!(clock.unwrap(6), (1 << 48) + 6);
    }

    #[test]
    fn earlier_than_the_first_is_not_negative() {
        let mut clock = Unwrapper::new(32);
        assert_eq!(clock.unwrap(5), 5);
        assert_eq!(clock.unwrap(u64::from(u32::MAX)), u64::from(u32::MAX));
    }

    #[test]
    fn sixty_four_bits_pass_through() {
        let mut clock = Unwrapper::new(64);
        assert_eq!(clock.unwrap(u64::MAX), u64::MAX);
        assert_eq!(clock.unwrap(1), 1);
    }

    proptest! {
        #[test]
        fn follows_the_true_count(
            bits in 4u8..=63,
            start in any::<u64>(),
            steps in prop::collection::vec(0.0f64..0.49, 1..200),
        ) {
            let range = 1u64 << bits;
            let mut clock = Unwrapper::new(bits);
            // Room for the steps: the true count must not leave 64 bits.
            let mut truth = start & (range - 1);
            prop_assert_eq!(clock.unwrap(truth), truth);
            for step in steps {
                let Some(next) = truth.checked_add((step * range as f64) as u64) else { break };
                truth = next;
                prop_assert_eq!(clock.unwrap(truth & (range - 1)), truth);
            }
        }
    }
}
