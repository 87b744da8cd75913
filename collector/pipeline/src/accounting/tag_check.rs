// SPDX-License-Identifier: Apache-2.0
//! Checks the reports of a node with a key: that they have it, and that they are no recording.

use super::refusals::RefusalReason;
use super::time::Times;
use int_report::keys::ReportKeys;
use int_report::tag::{Run, Tagged};

/// Beyond this no path reorders; within it, numbers tell a report sent again.
/// Twice as many numbers pass in it only at 4 M reports/s.
const MAX_AGE_NS: u64 = 1_000_000_000;
/// Parts of a node that number their reports: 6 bits.
const PARTS: usize = 64;
/// Datagrams of a run that may come after a later one: a tenth of a second at 600 k/s.
const WINDOW: u64 = 65_536;
const WORDS: usize = (WINDOW / 64) as usize;

/// Keys of a node, and the newest that came of it.
#[derive(Debug)]
pub(super) struct TagCheck {
    keys: ReportKeys,
    runs: Option<Runs>,
    /// Of each part of an exporter that does not say its run.
    newest_ns: Box<[u64; PARTS]>,
}

/// Runs of an exporter: one at a time, and each datagram once (RFC 4303, 3.4.3).
#[derive(Debug)]
struct Runs {
    newest: Run,
    /// Nothing up to it is taken.
    floor: Option<u64>,
    /// A bit for each of the last [`WINDOW`] datagrams, by number.
    came: Box<[u64; WORDS]>,
}

/// A datagram with a tag of the key that was not taken before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Verified {
    /// It is the first of a run, and another came before.
    pub begins_run: bool,
    /// It says its run.
    pub has_run: bool,
}

impl TagCheck {
    /// `newest`: of an earlier start of the collector; nothing up to it is taken.
    pub(super) fn new(keys: ReportKeys, newest: Option<Run>) -> Self {
        Self {
            keys,
            runs: newest.map(|run| Runs::new(run, Some(run.datagram))),
            newest_ns: Box::new([0; PARTS]),
        }
    }

    /// The newest datagram that was taken.
    pub(super) fn newest(&self) -> Option<Run> {
        self.runs.as_ref().map(|runs| runs.newest)
    }

    /// `seen_before`: reports of the node were taken since the collector's start.
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
            // Who says its run does so for good, or a recording from before would pass.
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

    /// Of an exporter that does not say its run, by time.
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

    /// Notes a datagram; false for one that came before, is too old to tell, or is of an earlier run.
    fn take(&mut self, run: Run) -> bool {
        let number = run.datagram;
        let newest = self.newest.datagram;
        let is_old = self.floor.is_some_and(|floor| number <= floor)
            || newest.saturating_sub(number) >= WINDOW;
        if run.boot < self.newest.boot || is_old {
            return false;
        }
        if number > newest {
            // Numbers in between may still come; their places are of a window ago.
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
        /// As a set of what came says it, for any order and any gaps.
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
