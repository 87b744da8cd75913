// SPDX-License-Identifier: Apache-2.0
//! How long packets of an egress queue may take until their reports come: the recent queueing
//! delay.
//!
//! A packet counts as arrived when it came to the queue, but is reported when it left. The
//! intervals of the whole node stay open for that long, and reports that claim long delays must not
//! hold up everything. A queue forwards packets in the order of their arrival, so that a genuine
//! longer delay looks like this:
//!
//! * nearly all packets that leave in an interval have it, not just some;
//! * it grows no faster than time passes.
//!
//! Other delays are not waited for, and old delays are forgotten.

/// Longest queueing delay that is waited for.
const MAX_DELAY_NS: u64 = 10_000_000_000;
/// Number of intervals with a longer delay before that delay is believed.
const CONFIRMATIONS: u32 = 4;
/// Share of an interval's packets that must have the longer delay: this many of [`OF_PACKETS`].
const MOST_PACKETS: u64 = 3;
const OF_PACKETS: u64 = 4;
/// The delay of a queue with few packets grows by at most this many intervals from one interval
/// with packets to the next.
const MAX_GROWTH_INTERVALS: u64 = 10;
/// A delay is remembered for at least this long, and at most twice as long.
const MEMORY_NS: u64 = 10_000_000_000;

/// Packets that left in one interval after a longer delay than the believed one.
#[derive(Clone, Copy, Debug)]
struct Longer {
    interval: u64,
    packets: u64,
    least_ns: u64,
}

/// The longest recent delay of one egress queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DelayAllowance {
    /// Longest delay believed in this period; `before_ns` is that of the period before.
    pub current_ns: u64,
    before_ns: u64,
    period: u64,
    /// The interval that has not been judged yet.
    open: Option<Longer>,
    /// Number of intervals whose packets had a longer delay than the believed one; the least of
    /// these delays; and the number of intervals by which the believed delay may grow.
    intervals: u32,
    least_ns: u64,
    growth_intervals: u64,
    last_interval: u64,
}

impl DelayAllowance {
    /// The longest delay believed, ns.
    #[inline]
    pub(super) fn longest_ns(&self) -> u64 {
        self.current_ns.max(self.before_ns)
    }

    /// Whether a delay needs [`DelayAllowance::longer`].
    pub(super) fn exceeded_by(&self, delay_ns: u64) -> bool {
        delay_ns > self.current_ns
    }

    /// Returns the interval whose longer delays have not been judged yet, unless it is `interval`.
    pub(super) fn unjudged(&self, interval: u64) -> Option<u64> {
        let open = self.open?;
        (open.interval != interval).then_some(open.interval)
    }

    /// Takes a delay longer than that of this period, of a packet that left in interval `interval`.
    pub(super) fn longer(&mut self, delay_ns: u64, interval: u64) {
        match &mut self.open {
            Some(open) if open.interval == interval => {
                open.packets += 1;
                open.least_ns = open.least_ns.min(delay_ns);
            }
            // Of an earlier interval, which is not judged again.
            Some(open) if open.interval > interval => {}
            open => {
                *open = Some(Longer {
                    interval,
                    packets: 1,
                    least_ns: delay_ns,
                });
            }
        }
    }

    /// Judges the longer delays of interval `interval`, in which `left` packets left the queue so
    /// far; returns whether the believed delay grew.
    pub(super) fn judge(&mut self, interval: u64, left: u64, interval_ns: u64) -> bool {
        let Some(open) = self.open.take_if(|open| open.interval == interval) else {
            return false;
        };
        if interval <= self.last_interval || OF_PACKETS * open.packets < MOST_PACKETS * left {
            return false;
        }
        let passed = interval.saturating_sub(self.last_interval);
        self.growth_intervals += passed.clamp(1, MAX_GROWTH_INTERVALS);
        self.last_interval = interval;
        self.least_ns = match self.intervals {
            0 => open.least_ns,
            _ => self.least_ns.min(open.least_ns),
        };
        self.intervals += 1;
        if self.intervals < CONFIRMATIONS {
            return false;
        }
        let before = self.longest_ns();
        let growth_ns = self.growth_intervals.saturating_mul(interval_ns);
        let reached_ns = before.saturating_add(growth_ns);
        let believed_ns = self.least_ns.min(reached_ns).min(MAX_DELAY_NS);
        self.current_ns = self.current_ns.max(believed_ns);
        self.intervals = 0;
        self.growth_intervals = 0;
        self.longest_ns() > before
    }

    /// Forgets delays that are old at `time_ns`; returns whether the longest delay shrank.
    pub(super) fn forget(&mut self, time_ns: u64) -> bool {
        let period = time_ns / MEMORY_NS;
        if period <= self.period {
            return false;
        }
        let longest = self.longest_ns();
        self.before_ns = if period == self.period + 1 {
            self.current_ns
        } else {
            0
        };
        self.current_ns = 0;
        self.intervals = 0;
        self.growth_intervals = 0;
        self.period = period;
        self.longest_ns() < longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;
    const INTERVAL: u64 = 10 * MS;

    /// Judges an interval in which `longer` of `left` packets have the delay.
    fn interval(a: &mut DelayAllowance, delay: u64, number: u64, longer: u64, left: u64) -> bool {
        for _ in 0..longer {
            if a.exceeded_by(delay) {
                a.longer(delay, number);
            }
        }
        a.judge(number, left, INTERVAL)
    }

    #[test]
    fn one_report_or_one_datagram_of_reports_is_not_believed() {
        let mut a = DelayAllowance::default();
        for _ in 0..12 {
            assert!(!interval(&mut a, 10 * S, 7, 1, 1));
        }
        assert!(!interval(&mut a, 10 * S, 7, 12, 12));
        assert_eq!(a.longest_ns(), 0);
    }

    #[test]
    fn a_queue_that_fills_is_followed() {
        let mut a = DelayAllowance::default();
        for number in 0..100u64 {
            interval(&mut a, number * INTERVAL / 2, number, 20, 20);
        }
        // Half a second, minus what the last four intervals added.
        assert!(a.longest_ns() >= 460 * MS, "{}", a.longest_ns());
    }

    #[test]
    fn a_few_among_others_that_contradict_are_not_believed() {
        let mut a = DelayAllowance::default();
        for number in 0..1_000 {
            interval(&mut a, 10 * S, number, 10, 20);
        }
        assert_eq!(a.longest_ns(), 0);
    }

    #[test]
    fn a_long_delay_is_believed_no_faster_than_time_passes() {
        let mut a = DelayAllowance::default();
        let mut last = 0;
        for number in 0..400 {
            interval(&mut a, 3 * S, 5_000 + number, 5, 5);
            assert!(a.longest_ns() <= (number + MAX_GROWTH_INTERVALS) * INTERVAL);
            assert!(a.longest_ns() >= last);
            last = a.longest_ns();
        }
        assert_eq!(a.longest_ns(), 3 * S);
        // An occasional packet of a forged queue.
        let mut a = DelayAllowance::default();
        for number in 1..=100 {
            interval(&mut a, 10 * S, 1_000 * number, 1, 1);
        }
        assert_eq!(a.longest_ns(), 100 * MAX_GROWTH_INTERVALS * INTERVAL);
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut a = DelayAllowance::default();
        a.forget(100 * S);
        for number in 10_000..10_400 {
            interval(&mut a, 3 * S, number, 1, 1);
        }
        assert_eq!(a.longest_ns(), 3 * S);
        assert!(!a.forget(111 * S), "remembered for one period more");
        assert_eq!(a.longest_ns(), 3 * S);
        // A known delay is believed again at once.
        for number in 11_100..11_104 {
            interval(&mut a, 3 * S, number, 1, 1);
        }
        assert_eq!(a.current_ns, 3 * S);
        assert!(!a.forget(121 * S));
        assert!(a.forget(131 * S));
        assert_eq!(a.longest_ns(), 0);
    }
}
