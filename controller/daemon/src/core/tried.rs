// SPDX-License-Identifier: Apache-2.0
//! What a rollback taught: a limit that did not serve this traffic.
//!
//! The advice that led there may come again, since it is made from what is
//! measured at the limit that was gone back to. Without a memory, auto mode
//! would try the same limit after each rest.

use std::time::{Duration, Instant};

/// A limit that was taken back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tried {
    failed_bytes: u64,
    until: Instant,
}

impl Tried {
    /// `memory`: for how long it counts, where nothing else ends it.
    pub fn failed(bytes: u64, memory: Duration) -> Self {
        Self {
            failed_bytes: bytes,
            until: Instant::now() + memory,
        }
    }

    /// Where to go from the limit in force: as advised, but towards the failed
    /// limit at most half of the way there (their geometric mean).
    pub fn bounded(&self, in_force: u64, advised: u64) -> u64 {
        if Instant::now() >= self.until {
            return advised;
        }
        let between = ((in_force as f64) * (self.failed_bytes as f64)).sqrt() as u64;
        match self.failed_bytes.cmp(&in_force) {
            std::cmp::Ordering::Less => advised.max(between),
            std::cmp::Ordering::Greater => advised.min(between),
            std::cmp::Ordering::Equal => advised,
        }
    }

    /// The limit that failed.
    pub fn failed_bytes(&self) -> u64 {
        self.failed_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_limit_is_approached_by_halves() {
        let below = Tried::failed(100, Duration::from_secs(60));
        assert_eq!(below.bounded(400, 90), 200);
        assert_eq!(below.bounded(400, 130), 200);
        assert_eq!(below.bounded(400, 300), 300);
        assert_eq!(below.bounded(400, 900), 900);
        let above = Tried::failed(400, Duration::from_secs(60));
        assert_eq!(above.bounded(100, 500), 200);
        assert_eq!(above.bounded(100, 50), 50);
        // In force again: somebody wants it.
        assert_eq!(above.bounded(400, 900), 900);
    }

    #[test]
    fn it_is_forgotten() {
        let t = Tried::failed(100, Duration::ZERO);
        assert_eq!(t.bounded(400, 90), 90);
    }

    /// The same advice again and again comes nearer, and in ever smaller steps.
    #[test]
    fn repeated_failures_converge() {
        let (in_force, mut tried) = (400, 100);
        for _ in 0..8 {
            let next = Tried::failed(tried, Duration::from_secs(60)).bounded(in_force, 50);
            assert!(next > tried && next < in_force);
            tried = next;
        }
        assert!(tried > 390);
    }
}
