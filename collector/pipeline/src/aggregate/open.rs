// SPDX-License-Identifier: Apache-2.0
//! The open intervals of one node: consecutive intervals from the oldest that may still change.

use super::config::AggregateConfig;
use super::interval::{Interval, LinkIndex};
use super::link::Span;
use crate::accounting::MAX_TIME_NS;
use std::collections::VecDeque;

/// Longest time that open intervals may span.
const MAX_OPEN_NS: u64 = 120_000_000_000;
/// Maximum number of cleared intervals kept for reuse.
const MAX_SPARE: usize = 64;

/// Rows that could not be counted in the interval they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutOfWindow {
    /// Rows too late: counted in the oldest open interval.
    pub late: u64,
    /// Rows too far ahead: counted in the newest open interval.
    pub ahead: u64,
    /// Intervals handed on early because the open intervals took too much memory.
    pub forced: u64,
    /// Rows of egress queues beyond the limit per node: not counted.
    pub links_refused: u64,
}

/// Consecutive intervals, by the number of the interval (time / length).
#[derive(Debug, Default)]
pub(super) struct OpenIntervals {
    interval_ns: u64,
    /// Number of the oldest open interval; `None` before the first row.
    base: Option<u64>,
    /// Whether intervals before `base` have been handed on.
    closing: bool,
    intervals: VecDeque<Interval>,
    /// Cleared intervals for reuse.
    spare: Vec<Interval>,
}

/// The result of an interval lookup, used while times fall into the interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CachedInterval {
    pub start_ns: u64,
    /// 0 if there was no lookup, or if `offset` is no longer right.
    end_ns: u64,
    /// Place among the open intervals.
    pub offset: usize,
}

impl CachedInterval {
    /// Whether a time falls into the interval.
    #[inline(always)]
    pub(super) fn has(&self, time_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&time_ns)
    }
}

/// Place of an interval, and whether the open intervals moved for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub offset: usize,
    pub moved: bool,
}

impl OpenIntervals {
    pub(super) fn new(config: &AggregateConfig) -> Self {
        Self {
            interval_ns: config.interval_ns,
            ..Self::default()
        }
    }

    /// Forgets all intervals: the node's clock restarted.
    pub(super) fn clear(&mut self) {
        self.base = None;
        self.closing = false;
        self.intervals.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.base.is_none()
    }

    /// Start of the oldest open interval, ns.
    pub(super) fn start_ns(&self) -> Option<u64> {
        Some(self.base? * self.interval_ns)
    }

    /// End of the newest open interval, ns.
    pub(super) fn end_ns(&self) -> Option<u64> {
        let end = self.base? + self.intervals.len() as u64;
        Some(end.saturating_mul(self.interval_ns))
    }

    /// Returns the time up to which to close intervals, and how many these are, so that the rest
    /// take half of `most_bytes`; `None` unless all take more. Cleared intervals are freed first.
    pub(super) fn crowded(&mut self, most_bytes: usize) -> Option<(u64, u64)> {
        let bytes = |i: &Interval| i.memory_bytes();
        let open_bytes: usize = self.intervals.iter().map(bytes).sum();
        let spare_bytes: usize = self.spare.iter().map(bytes).sum();
        if open_bytes + spare_bytes <= most_bytes {
            return None;
        }
        self.spare = Vec::new();
        if open_bytes <= most_bytes {
            return None;
        }
        let mut left_bytes = open_bytes;
        let oldest = self.intervals.iter().take_while(|i| {
            let crowded = left_bytes > most_bytes / 2;
            left_bytes -= bytes(i);
            crowded
        });
        let count = oldest.count() as u64;
        Some(((self.base? + count) * self.interval_ns, count))
    }

    /// Whether an open interval has packets of an egress queue.
    pub(super) fn has(&self, link: LinkIndex) -> bool {
        self.intervals.iter().any(|i| i.has(link))
    }

    /// Number of packets that left a queue in interval `number`; `None` if it is not open.
    pub(super) fn departures(&self, number: u64, link: LinkIndex) -> Option<u64> {
        let offset = usize::try_from(number.checked_sub(self.base?)?).ok()?;
        Some(self.intervals.get(offset)?.departures(link))
    }

    /// Number of the interval that a time falls into.
    #[inline]
    pub(super) fn number(&self, time_ns: u64) -> u64 {
        time_ns.min(MAX_TIME_NS) / self.interval_ns
    }

    #[inline]
    pub(super) fn get(&self, offset: usize) -> Option<&Interval> {
        self.intervals.get(offset)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, offset: usize) -> Option<&mut Interval> {
        self.intervals.get_mut(offset)
    }

    /// Whether interval `number` is at `offset`; it is not if the number is outside the window.
    #[inline]
    pub(super) fn is_at(&self, number: u64, offset: usize) -> bool {
        self.base.is_some_and(|b| b + offset as u64 == number)
    }

    /// Returns a lookup to remember, which is empty unless the interval is at `offset`.
    pub(super) fn cached(&self, number: u64, offset: usize) -> CachedInterval {
        if !self.is_at(number, offset) {
            return CachedInterval::default();
        }
        let start_ns = number * self.interval_ns;
        CachedInterval {
            start_ns,
            end_ns: start_ns.saturating_add(self.interval_ns),
            offset,
        }
    }

    /// Place of an interval among the open ones.
    #[inline]
    pub(super) fn place(&mut self, number: u64, outside: &mut OutOfWindow) -> Place {
        if let Some(offset) = self.base.and_then(|base| number.checked_sub(base))
            && offset < self.intervals.len() as u64
        {
            return Place {
                offset: offset as usize,
                moved: false,
            };
        }
        self.make(number, outside)
    }

    /// End of the longest window that can be open, ns; `u64::MAX` before the first row.
    pub(super) fn most_ns(&self) -> u64 {
        let most = |base: u64| base.saturating_add(self.max_open());
        self.base
            .map_or(u64::MAX, |b| most(b).saturating_mul(self.interval_ns))
    }

    fn max_open(&self) -> u64 {
        (MAX_OPEN_NS / self.interval_ns).max(2)
    }

    #[cold]
    fn make(&mut self, number: u64, outside: &mut OutOfWindow) -> Place {
        let max_open = self.max_open();
        let mut moved = self.base.is_none();
        let base = *self.base.get_or_insert(number);
        let mut offset = match number.checked_sub(base) {
            Some(offset) => offset,
            None if !self.closing && base - number + self.intervals.len() as u64 <= max_open => {
                for _ in number..base {
                    self.intervals.push_front(Interval::default());
                }
                self.base = Some(number);
                moved = true;
                0
            }
            None => {
                outside.late += 1;
                0
            }
        };
        if offset >= max_open && self.intervals.is_empty() {
            // All earlier intervals were handed on, and nothing is known of the time in between.
            self.base = Some(number);
            moved = true;
            offset = 0;
        }
        if offset >= max_open {
            outside.ahead += 1;
            offset = max_open - 1;
        }
        let offset = offset as usize;
        while self.intervals.len() <= offset {
            let interval = self.spare.pop().unwrap_or_default();
            self.intervals.push_back(interval);
        }
        Place { offset, moved }
    }

    /// Closes the intervals that end by `to_ns`, oldest first; `take` gets each. Returns the start
    /// of the oldest open interval, `None` if none was closed.
    pub(super) fn close(
        &mut self,
        to_ns: u64,
        mut take: impl FnMut(Span, &mut Interval),
    ) -> Option<u64> {
        let base = self.base?;
        // A watermark far beyond the data must not make endless empty records.
        let end = self.number(to_ns).min(base.saturating_add(self.max_open()));
        if end <= base {
            return None;
        }
        for number in base..end {
            let mut interval = self.intervals.pop_front().unwrap_or_default();
            let span = Span {
                start_ns: number * self.interval_ns,
                duration_ns: self.interval_ns,
            };
            take(span, &mut interval);
            if self.spare.len() < MAX_SPARE {
                self.spare.push(interval);
            }
        }
        self.base = Some(end);
        self.closing = true;
        Some(end * self.interval_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open() -> (OpenIntervals, OutOfWindow) {
        let config = AggregateConfig {
            interval_ns: 10,
            reorder_ns: 0,
            publish_ns: 0,
        };
        (OpenIntervals::new(&config), OutOfWindow::default())
    }

    #[test]
    fn the_window_grows_both_ways_until_it_closes() {
        let (mut open, mut outside) = open();
        assert_eq!(open.place(7, &mut outside).offset, 0);
        let earlier = open.place(5, &mut outside);
        assert!(earlier.moved && earlier.offset == 0);
        let known = open.place(7, &mut outside);
        assert!(!known.moved && known.offset == 2);
        let mut closed = Vec::new();
        assert_eq!(
            open.close(60, |span, _| closed.push(span.start_ns)),
            Some(60)
        );
        assert_eq!(closed, [50]);
        assert_eq!(open.place(5, &mut outside).offset, 0);
        assert_eq!((outside.late, outside.ahead), (1, 0));
        assert!(!open.is_at(5, 0) && open.is_at(6, 0));
        assert!(!open.cached(5, 0).has(0) && open.cached(6, 0).has(69));
    }

    #[test]
    fn a_number_far_ahead_is_counted_in_the_youngest() {
        let (mut open, mut outside) = open();
        open.interval_ns = MAX_OPEN_NS / 4;
        open.place(1, &mut outside);
        assert_eq!(open.place(1000, &mut outside).offset, 3);
        assert_eq!((outside.late, outside.ahead), (0, 1));
        assert_eq!(open.end_ns(), Some(5 * MAX_OPEN_NS / 4));
    }
}
