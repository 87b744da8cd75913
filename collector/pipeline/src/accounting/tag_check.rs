// SPDX-License-Identifier: Apache-2.0
//! Checks reports of a node that has a key: their tag must match, and they must not be a recording.

use super::refusals::RefusalReason;
use super::time::Times;
use int_report::keys::ReportKeys;
use int_report::tag::{Run, Tagged};

/// No path reorders by more than this; within it, sequence numbers detect a report sent again. A
/// number recurs within it only at 4 M reports/s.
const MAX_AGE_NS: u64 = 1_000_000_000;
/// Parts of a node that number their reports separately: 6 bits.
const PARTS: usize = 64;
/// Replay window, in datagrams of a run: a tenth of a second at 600 k/s.
const WINDOW: u64 = 65_536;
const WORDS: usize = (WINDOW / 64) as usize;

/// Keys of a node, and the newest datagrams received from it.
#[derive(Debug)]
pub(super) struct TagCheck {
    keys: ReportKeys,
    runs: Option<Runs>,
    /// Newest time of each part, for an exporter that does not state its run.
    newest_ns: Box<[u64; PARTS]>,
}

/// Replay window of an exporter's runs: one run at a time, each datagram once (RFC 4303, 3.4.3).
#[derive(Debug)]
struct Runs {
    newest: Run,
    /// Datagrams up to this number are refused.
    floor: Option<u64>,
    /// A bit for each of the last [`WINDOW`] datagrams, by number.
    came: Box<[u64; WORDS]>,
}

/// A datagram whose tag matches a key and that was not accepted before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verified {
    /// Whether the datagram is the first of a run, and reports of the node came before.
    pub begins_run: bool,
    /// Whether the tag states a run.
    pub has_run: bool,
}

impl TagCheck {
    /// Creates a check; datagrams up to `newest`, of an earlier collector start, are refused.
    pub(super) fn new(keys: ReportKeys, newest: Option<Run>) -> Self {
        Self {
            keys,
            runs: newest.map(|run| Runs::new(run, Some(run.datagram))),
            newest_ns: Box::new([0; PARTS]),
        }
    }

    /// Returns the newest datagram accepted.
    pub(super) fn newest(&self) -> Option<Run> {
        self.runs.as_ref().map(|runs| runs.newest)
    }

    /// Checks a tag. `seen_before`: whether reports of the node were accepted since the start.
    #[inline(never)]
    pub(super) fn verify(
        &mut self,
        tagged: Option<&Tagged<'_>>,
        seen_before: bool,
    ) -> Result<Verified, RefusalReason> {
        let tagged = tagged.ok_or(RefusalReason::NoTag)?;
        if !self.keys.verify(tagged) {
            return Err(RefusalReason::WrongTag);
        }
        let Some(run) = tagged.run else {
            // Once an exporter states its run it always does, or older recordings would pass.
            return match self.runs {
                None => Ok(Verified::default()),
                Some(_) => Err(RefusalReason::Replayed),
            };
        };
        let begins_run = match &mut self.runs {
            Some(runs) if run.boot <= runs.newest.boot => {
                if !runs.take(run) {
                    return Err(RefusalReason::Replayed);
                }
                false
            }
            runs => {
                *runs = Some(Runs::new(run, None));
                seen_before
            }
        };
        Ok(Verified {
            begins_run,
            has_run: true,
        })
    }

    /// Checks by time whether a report is replayed, for an exporter that does not state its run.
    #[inline(never)]
    pub(super) fn is_replayed(&mut self, hw_id: u8, times: &Times) -> bool {
        if times.restarted {
            self.newest_ns.fill(0);
        }
        let time_ns = times.egress_ns.max(times.ingress_ns);
        let Some(newest_ns) = self.newest_ns.get_mut(usize::from(hw_id) % PARTS) else {
            return true;
        };
        *newest_ns = time_ns.max(*newest_ns);
        newest_ns.saturating_sub(time_ns) > MAX_AGE_NS
    }
}

impl Runs {
    fn new(newest: Run, floor: Option<u64>) -> Self {
        let mut runs = Self {
            newest,
            floor,
            came: Box::new([0; WORDS]),
        };
        runs.mark(newest.datagram);
        runs
    }

    /// Marks a datagram as seen; false if it is a duplicate, too old to tell, or of an earlier run.
    fn take(&mut self, run: Run) -> bool {
        let number = run.datagram;
        let newest = self.newest.datagram;
        let is_old = self.floor.is_some_and(|floor| number <= floor)
            || newest.saturating_sub(number) >= WINDOW;
        if run.boot < self.newest.boot || is_old {
            return false;
        }
        if number > newest {
            // Datagrams in between may still come; their bits still hold numbers of a window ago.
            let between = (number - newest).min(WINDOW);
            for n in (0..between).map(|back| number - back) {
                *self.word(n) &= !(1 << (n % 64));
            }
            self.newest = run;
        } else if *self.word(number) & (1 << (number % 64)) != 0 {
            return false;
        }
        self.mark(number);
        true
    }

    fn mark(&mut self, number: u64) {
        *self.word(number) |= 1 << (number % 64);
    }

    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
    fn word(&mut self, number: u64) -> &mut u64 {
        &mut self.came[(number % WINDOW / 64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// Agrees with a set of the datagrams received, for any order and any gaps.
        #[test]
        fn each_datagram_of_a_run_is_taken_once(
            floor in prop::option::of(0u64..500_000),
            steps in prop::collection::vec((0u64..3, 0u64..200_000), 1..400),
        ) {
            let first = floor.unwrap_or(250_000);
            let mut runs = Runs::new(Run { boot: 5, datagram: first }, floor);
            let (mut newest, mut came) = (first, BTreeSet::from([first]));
            for (kind, by) in steps {
                let datagram = match kind {
                    0 => newest + by % 70,
                    1 => newest + by,
                    _ => newest.saturating_sub(by),
                };
                let is_new = datagram + WINDOW > newest
                    && floor.is_none_or(|f| datagram > f)
                    && came.insert(datagram);
                prop_assert_eq!(runs.take(Run { boot: 5, datagram }), is_new, "{}", datagram);
                let of_earlier = Run { boot: 4, datagram: newest + 1 };
                prop_assert!(!runs.take(of_earlier));
                newest = newest.max(datagram);
            }
        }
    }
}
