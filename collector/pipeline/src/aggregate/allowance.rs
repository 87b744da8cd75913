// SPDX-License-Identifier: Apache-2.0
//! How long the packets of an egress queue may be under way before their reports
//! come: the queueing delay seen lately.
//!
//! A packet counts as arrived when it came to the queue, and is reported when it
//! left. Intervals stay open for that long. One report that claims a long delay
//! must not hold up everything, so a longer delay is believed once packets of
//! several intervals had it; and what was long ago is forgotten.

/// Queueing delay that is waited for at most.
const MAX_DELAY_NS: u64 = 10_000_000_000;
/// Intervals with a longer delay, before it is believed.
const CONFIRMATIONS: u32 = 4;
/// A delay is remembered for this long, up to twice as long.
const MEMORY_NS: u64 = 10_000_000_000;

/// The longest delay of one egress queue lately.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DelayAllowance {
    /// Longest believed in this period and in the one before.
    current_ns: u64,
    before_ns: u64,
    period: u64,
    /// Intervals with a longer delay than is believed, and the least of those
    /// delays.
    intervals: u32,
    least_ns: u64,
    last_interval: u64,
}

impl DelayAllowance {
    /// The longest delay believed, ns.
    #[inline]
    pub(super) fn longest_ns(&self) -> u64 {
        self.current_ns.max(self.before_ns)
    }

    /// The longest delay believed in this period, ns.
    pub(super) fn current_ns(&self) -> u64 {
        self.current_ns
    }

    /// Whether a delay needs [`DelayAllowance::longer`].
    pub(super) fn exceeded_by(&self, delay_ns: u64) -> bool {
        delay_ns > self.current_ns
    }

    /// Takes a delay beyond that of this period, of a packet that left in the
    /// interval of that number; true when more is believed than before.
    pub(super) fn longer(&mut self, delay_ns: u64, interval: u64) -> bool {
        let delay_ns = delay_ns.min(MAX_DELAY_NS);
        if delay_ns <= self.current_ns {
            return false;
        }
        self.least_ns = match self.intervals {
            0 => delay_ns,
            _ => self.least_ns.min(delay_ns),
        };
        if self.intervals == 0 || self.last_interval != interval {
            self.intervals += 1;
            self.last_interval = interval;
        }
        if self.intervals < CONFIRMATIONS {
            return false;
        }
        self.intervals = 0;
        let before = self.longest_ns();
        self.current_ns = self.least_ns;
        self.longest_ns() > before
    }

    /// Forgets what is long ago by `time_ns`; true when less is waited for.
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
        self.period = period;
        self.longest_ns() < longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;

    #[test]
    fn one_report_or_one_datagram_of_reports_is_not_believed() {
        let mut a = DelayAllowance::default();
        for _ in 0..12 {
            assert!(!a.longer(10 * S, 7));
        }
        assert_eq!(a.longest_ns(), 0);
    }

    #[test]
    fn a_queue_that_fills_is_followed() {
        let mut a = DelayAllowance::default();
        for interval in 0..100u64 {
            let delay = interval * 10 * MS / 2;
            if a.exceeded_by(delay) {
                a.longer(delay, interval);
            }
        }
        // Half a second, less what the last four intervals added.
        assert!(a.longest_ns() >= 460 * MS, "{}", a.longest_ns());
    }

    #[test]
    fn what_was_long_ago_is_forgotten() {
        let mut a = DelayAllowance::default();
        a.forget(100 * S);
        for interval in 10_000..10_004 {
            a.longer(3 * S, interval);
        }
        assert_eq!(a.longest_ns(), 3 * S);
        assert!(!a.forget(111 * S), "remembered for one period more");
        assert_eq!(a.longest_ns(), 3 * S);
        assert!(a.forget(121 * S));
        assert_eq!(a.longest_ns(), 0);
    }
}
