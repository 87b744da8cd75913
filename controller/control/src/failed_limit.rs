// SPDX-License-Identifier: Apache-2.0
//! Memory of a limit that was rolled back.
//!
//! The advice that led to this limit may come again, since it is computed from measurements at the
//! limit to which the rollback returned. Without this memory, auto mode would try the same limit
//! after each rest.

use crate::time::Timestamp;

/// A limit that failed for this traffic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailedLimit {
    /// The limit, bytes.
    pub bytes: u64,
    /// Time at which it is forgotten, unless something ends it earlier.
    pub until: Timestamp,
}

impl FailedLimit {
    /// Returns the next limit: as advised, but towards the failed limit at most the geometric mean
    /// of it and the limit in force. All in bytes.
    pub fn bounded(&self, in_force: u64, advised: u64, now: Timestamp) -> u64 {
        if now.reached(self.until) {
            return advised;
        }
        let between = ((in_force as f64) * (self.bytes as f64)).sqrt() as u64;
        match self.bytes.cmp(&in_force) {
            std::cmp::Ordering::Less => advised.max(between),
            std::cmp::Ordering::Greater => advised.min(between),
            std::cmp::Ordering::Equal => advised,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp {
        monotonic_ns: 0,
        unix_ms: 0,
    };

    fn failed(bytes: u64, memory_s: f64) -> FailedLimit {
        FailedLimit {
            bytes,
            until: NOW.plus_s(memory_s),
        }
    }

    #[test]
    fn a_failed_limit_is_approached_by_halves() {
        let below = failed(100, 60.0);
        assert_eq!(below.bounded(400, 90, NOW), 200);
        assert_eq!(below.bounded(400, 130, NOW), 200);
        assert_eq!(below.bounded(400, 300, NOW), 300);
        assert_eq!(below.bounded(400, 900, NOW), 900);
        let above = failed(400, 60.0);
        assert_eq!(above.bounded(100, 500, NOW), 200);
        assert_eq!(above.bounded(100, 50, NOW), 50);
        // The failed limit is in force again, because someone set it.
        assert_eq!(above.bounded(400, 900, NOW), 900);
    }

    #[test]
    fn it_is_forgotten() {
        assert_eq!(failed(100, 0.0).bounded(400, 90, NOW), 90);
        assert_eq!(failed(100, 5.0).bounded(400, 90, NOW.plus_s(4.9)), 200);
        assert_eq!(failed(100, 5.0).bounded(400, 90, NOW.plus_s(5.0)), 90);
    }

    /// Repeated advice approaches the failed limit in ever smaller steps.
    #[test]
    fn repeated_failures_converge() {
        let (in_force, mut tried) = (400, 100);
        for _ in 0..8 {
            let next = failed(tried, 60.0).bounded(in_force, 50, NOW);
            assert!(next > tried && next < in_force);
            tried = next;
        }
        assert!(tried > 390);
    }
}
