// SPDX-License-Identifier: Apache-2.0
//! The range of a link: all thresholds and limits that are written lie in it, whatever their
//! origin.

use crate::error::Refusal;
use tidemark_rules::Limit;

/// The range of a link's thresholds and limits, as held by the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// `control.min_limit_bytes`.
    pub min_bytes: u64,
    /// `max_limit_bytes` of the link, else of `control`.
    pub max_bytes: u64,
    /// Unit to whose multiples the switch rounds down, bytes.
    pub unit_bytes: u32,
}

impl Range {
    fn unit(&self) -> u64 {
        u64::from(self.unit_bytes.max(1))
    }

    /// Returns the smallest value within the range that the switch can hold, bytes.
    fn least(&self) -> u64 {
        self.min_bytes.div_ceil(self.unit()) * self.unit()
    }

    /// Returns whether the range has no value that the switch can hold.
    pub fn is_empty(&self) -> bool {
        self.least() > self.max_bytes
    }

    /// Checks whether a value may be written, bytes.
    pub fn value(&self, bytes: u64) -> Result<(), Refusal> {
        let Self {
            min_bytes: min,
            max_bytes: max,
            unit_bytes: unit,
        } = *self;
        let held = bytes - bytes % self.unit();
        let message = if bytes < min {
            format!("{bytes} is below control.min_limit_bytes, {min}")
        } else if held < min {
            format!("{bytes} is {held} in units of {unit}, below control.min_limit_bytes, {min}")
        } else if bytes > max {
            format!("{bytes} is above max_limit_bytes, {max}")
        } else {
            return Ok(());
        };
        Err(Refusal::new("bytes", message))
    }

    /// Checks whether a limit may be written: all its values in the range, and the limit of
    /// `mark_ce` above its threshold, also after the switch has rounded them. `unlimited` has no
    /// value.
    ///
    /// # Errors
    /// As for [`Self::value`], or two values that are inconsistent.
    pub fn limit(&self, limit: &Limit) -> Result<(), Refusal> {
        let held = limit.rounded(self.unit_bytes);
        let sense = limit.check().and_then(|()| held.check());
        sense.map_err(|m| Refusal::new("bytes", m))?;
        let mut values = limit.bytes().into_iter().chain(limit.refuses_at_bytes());
        values.try_for_each(|bytes| self.value(bytes))
    }

    /// Returns the nearest value to `bytes` that may be written.
    pub fn nearest(&self, bytes: u64) -> u64 {
        bytes.max(self.least()).min(self.max_bytes)
    }

    /// Returns the nearest limit to `limit` that may be written. If a threshold rises into the
    /// range, its limit rises by as much; if the range leaves too little room above the threshold,
    /// the threshold is lowered. `None` if there is no such limit of this kind.
    pub fn nearest_limit(&self, limit: &Limit) -> Option<Limit> {
        let nearest = match *limit {
            Limit::Unlimited => return Some(*limit),
            Limit::MarkCe {
                threshold_bytes,
                limit_bytes: Some(refuses),
            } => {
                let threshold = self.nearest(threshold_bytes);
                let moved = refuses.saturating_add(threshold.saturating_sub(threshold_bytes));
                let refuses = self.nearest(moved.max(threshold.saturating_add(self.unit())));
                let below = refuses.saturating_sub(self.unit());
                limit.with_bytes(threshold.min(below), Some(refuses))
            }
            Limit::MarkCe {
                threshold_bytes: bytes,
                ..
            }
            | Limit::DropTail { limit_bytes: bytes } => limit.with_bytes(self.nearest(bytes), None),
        };
        self.limit(&nearest).is_ok().then_some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RANGE: Range = Range {
        min_bytes: 1_000,
        max_bytes: 100_000,
        unit_bytes: 1,
    };

    fn mark(threshold_bytes: u64, limit_bytes: u64) -> Limit {
        Limit::MarkCe {
            threshold_bytes,
            limit_bytes: Some(limit_bytes),
        }
    }

    #[test]
    fn values_and_ends() {
        assert!(RANGE.value(1_000).is_ok() && RANGE.value(100_000).is_ok());
        assert!(RANGE.value(999).unwrap_err().message.contains("min_limit"));
        let above = RANGE.value(100_001).unwrap_err();
        assert_eq!(above.field, "bytes");
        assert_eq!(RANGE.nearest(5), 1_000);
        assert_eq!(RANGE.nearest(60_000_000), 100_000);
        assert_eq!(RANGE.nearest(5_000), 5_000);
    }

    #[test]
    fn the_switch_rounds_down_into_the_range_or_not_at_all() {
        let cells = Range {
            unit_bytes: 80,
            ..RANGE
        };
        // The switch would hold 1039 as 960.
        assert!(cells.value(1_039).unwrap_err().message.contains("960"));
        assert_eq!(cells.nearest(5), 1_040);
        assert!(cells.value(1_040).is_ok());
        let none = Range {
            max_bytes: 1_039,
            ..cells
        };
        assert!(none.is_empty() && !cells.is_empty());
        let tail = Limit::DropTail { limit_bytes: 5_000 };
        assert_eq!(none.nearest_limit(&tail), None);
    }

    #[test]
    fn both_values_are_in_the_range() {
        let refused = |l: Limit| RANGE.limit(&l).unwrap_err().message;
        assert!(RANGE.limit(&mark(50_000, 100_000)).is_ok());
        assert!(RANGE.limit(&Limit::Unlimited).is_ok());
        assert!(refused(mark(50_000, 100_001)).contains("100001 is above"));
        assert!(refused(mark(10, 100_000)).contains("10 is below"));
        assert!(refused(mark(60_000, 50_000)).contains("not above the threshold"));
        let far = mark(200_000, 400_000);
        assert_eq!(RANGE.nearest_limit(&far), Some(mark(99_999, 100_000)));
        // The room above the threshold is unchanged.
        assert_eq!(
            RANGE.nearest_limit(&mark(10, 500)),
            Some(mark(1_000, 1_490))
        );
        let one = Range {
            max_bytes: 1_000,
            ..RANGE
        };
        assert_eq!(one.nearest_limit(&far), None);
    }

    proptest! {
        #[test]
        fn the_nearest_limit_may_be_written(
            (min_bytes, max_bytes) in (0_u64..10_000, 0_u64..200_000),
            unit_bytes in 1_u32..200,
            (threshold_bytes, room) in (0_u64..100_000_000, proptest::option::of(1_u64..100_000_000)),
            marks in any::<bool>(),
        ) {
            let range = Range { min_bytes, max_bytes, unit_bytes };
            let limit_bytes = room.map(|r| threshold_bytes + r);
            let limit = if marks {
                Limit::MarkCe { threshold_bytes, limit_bytes }
            } else {
                Limit::DropTail { limit_bytes: threshold_bytes }
            };
            match range.nearest_limit(&limit) {
                Some(nearest) => {
                    let held = nearest.rounded(unit_bytes);
                    for bytes in held.bytes().into_iter().chain(held.refuses_at_bytes()) {
                        prop_assert!((min_bytes..=max_bytes).contains(&bytes), "{held}");
                    }
                    prop_assert_eq!(nearest.action(), limit.action());
                    prop_assert!(held.check().is_ok(), "{}", held);
                }
                // There is no such limit: the range has no value, or not two.
                None => {
                    let two = u64::from(marks && room.is_some());
                    let unit = u64::from(unit_bytes);
                    prop_assert!(min_bytes.div_ceil(unit) + two > max_bytes / unit);
                }
            }
            if range.limit(&limit).is_ok() {
                let held = range.nearest_limit(&limit).map(|l| l.rounded(unit_bytes));
                prop_assert_eq!(held, Some(limit.rounded(unit_bytes)));
            }
        }
    }
}
