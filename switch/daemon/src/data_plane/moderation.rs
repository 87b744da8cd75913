// SPDX-License-Identifier: Apache-2.0
//! Interrupt moderation, like that of network devices (`ethtool -C … rx-usecs`).
//!
//! If frames and events follow each other closely, the data-plane thread handles those of an
//! interval in one pass and rests in between: frames that leave back to back are merged, and hosts
//! and the collector get the core meanwhile. Each frame keeps its arrival time and each event its
//! logical time, so reports do not change; frames leave later by up to an interval.

/// Most passes that may follow each other immediately after a pause.
const BURST_PASSES: u64 = 4;

/// Limits how often passes begin.
pub(super) struct Moderation {
    interval_ns: u64,
    /// Time at which all passes so far would have ended, had each taken the interval.
    taken_until_ns: u64,
}

impl Moderation {
    /// Allows one pass per `interval_ns` in the long run; 0: no limit.
    pub(super) fn new(interval_ns: u64) -> Self {
        Self {
            interval_ns,
            taken_until_ns: 0,
        }
    }

    /// Returns the earliest start of the pass after the one that began at `began_ns`.
    pub(super) fn next_pass_ns(&mut self, began_ns: u64) -> u64 {
        self.taken_until_ns = self.taken_until_ns.max(began_ns) + self.interval_ns;
        self.taken_until_ns
            .saturating_sub(BURST_PASSES * self.interval_ns)
            .max(began_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL_NS: u64 = 50_000;

    /// Returns the start of each pass if work for the next arrives `gap_ns` later.
    fn passes(interval_ns: u64, gap_ns: u64, count: usize) -> Vec<u64> {
        let mut m = Moderation::new(interval_ns);
        let mut at = 1_000_000;
        std::iter::repeat_with(|| {
            let began = at;
            at = m.next_pass_ns(began).max(began + gap_ns);
            began
        })
        .take(count)
        .collect()
    }

    #[test]
    fn dense_work_is_handled_once_in_an_interval() {
        let passes = passes(INTERVAL_NS, 6_000, 100);
        let gaps: Vec<u64> = passes.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(
            gaps[..BURST_PASSES as usize - 1]
                .iter()
                .all(|g| *g == 6_000)
        );
        assert!(
            gaps[2 * BURST_PASSES as usize..]
                .iter()
                .all(|g| *g == INTERVAL_NS)
        );
    }

    #[test]
    fn sparse_work_is_handled_at_its_time() {
        let passes = passes(INTERVAL_NS, INTERVAL_NS + 1, 1000);
        assert!(passes.windows(2).all(|w| w[1] - w[0] == INTERVAL_NS + 1));
    }

    #[test]
    fn an_interval_of_zero_holds_nothing_back() {
        let passes = passes(0, 1, 1000);
        assert!(passes.windows(2).all(|w| w[1] - w[0] == 1));
    }
}
