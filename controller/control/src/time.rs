// SPDX-License-Identifier: Apache-2.0
//! Time of the host, given by the caller.

/// A moment, on both clocks of the host.
///
/// Durations are measured on the monotonic clock. The Unix time, which may be set back at any time,
/// is used in what is stored and shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timestamp {
    /// Monotonic clock, ns since an arbitrary epoch; negative before it.
    pub monotonic_ns: i64,
    /// Unix time, ms.
    pub unix_ms: u64,
}

impl Timestamp {
    /// Returns the time since an earlier moment, s; 0 if it is not earlier.
    pub fn since_s(self, earlier: Timestamp) -> f64 {
        let ns = self.monotonic_ns.saturating_sub(earlier.monotonic_ns);
        ns.max(0) as f64 / 1e9
    }

    /// Returns whether this moment is at or after `other`.
    pub fn reached(self, other: Timestamp) -> bool {
        self.monotonic_ns >= other.monotonic_ns
    }

    /// Returns the moment `span_s` seconds later.
    pub fn plus_s(self, span_s: f64) -> Self {
        let ns = nanoseconds(span_s);
        Self {
            monotonic_ns: self.monotonic_ns.saturating_add_unsigned(ns),
            unix_ms: self.unix_ms.saturating_add(ns / 1_000_000),
        }
    }

    /// Returns the moment that another run of the program stored as `unix_ms`, at most `most_s`
    /// from now.
    pub(crate) fn at_unix_ms(self, unix_ms: u64, most_s: f64) -> Self {
        let ahead_ms = unix_ms.saturating_sub(self.unix_ms);
        let ago_ms = self.unix_ms.saturating_sub(unix_ms);
        let ahead_ns = ahead_ms.saturating_mul(1_000_000).min(nanoseconds(most_s));
        let monotonic_ns = self
            .monotonic_ns
            .saturating_sub_unsigned(ago_ms.saturating_mul(1_000_000))
            .saturating_add_unsigned(ahead_ns);
        Self {
            monotonic_ns,
            unix_ms,
        }
    }
}

/// Converts seconds to whole nanoseconds; 0 for negative values and NaN.
pub(crate) fn nanoseconds(s: f64) -> u64 {
    (s * 1e9) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_monotonic() {
        let t = Timestamp {
            monotonic_ns: 5_000_000_000,
            unix_ms: 100_000,
        };
        let later = t.plus_s(1.5);
        assert_eq!(
            (later.monotonic_ns, later.unix_ms),
            (6_500_000_000, 101_500)
        );
        assert_eq!(later.since_s(t), 1.5);
        assert_eq!(t.since_s(later), 0.0);
        assert!(later.reached(t) && later.reached(later) && !t.reached(later));
    }

    /// A controller whose uptime is shorter than the age of the moment.
    #[test]
    fn a_stored_moment_may_lie_before_the_epoch() {
        let now = Timestamp {
            monotonic_ns: 1,
            unix_ms: 1_000_000,
        };
        let stored = now.at_unix_ms(400_000, 60.0);
        assert_eq!(now.since_s(stored), 600.0);
        // A wall clock that was set back does not extend a rest.
        let ahead = now.at_unix_ms(u64::MAX, 60.0);
        assert_eq!(ahead.since_s(now), 60.0);
    }
}
