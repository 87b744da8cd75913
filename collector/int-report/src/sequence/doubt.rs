// SPDX-License-Identifier: Apache-2.0
//! Judges whether the numbers of a stream come from one sender.
//!
//! Numbers that contradict each other repeatedly come from several senders with one identity, or
//! are forged. It is then unknown which numbers are missing, so nothing counts as lost until
//! datagrams follow each other again.

use super::counts::{Counts, Outcome};

/// Weight of a contradiction. A datagram in order reduces the accumulated weight by a quarter.
const WEIGHT: u32 = 16;
/// A doubt begins with four contradictions in a row, or two for each datagram in order.
const DOUBT: u32 = 4 * WEIGHT;
/// Maximum weight: twenty datagrams in order end any doubt.
const MOST: u32 = 512;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doubt {
    level: u32,
    /// Losses that were counted before the first of the contradictions.
    before: [u64; 2],
    holds: bool,
}

/// Returns the reports counted as lost, and how many of them are estimated.
pub(super) fn lost(counts: &Counts) -> [u64; 2] {
    [counts.lost, counts.lost_estimated]
}

impl Doubt {
    /// Notes a datagram in order.
    #[inline(always)]
    pub(super) fn calm(&mut self) {
        if self.level > 0 {
            self.level -= self.level / 4 + 1;
            self.holds &= self.level > 0;
        }
    }

    /// Judges an outcome; `before` is [`lost`] before the outcome.
    pub(super) fn judge(
        &mut self,
        outcome: Outcome,
        before: [u64; 2],
        counts: &mut Counts,
    ) -> Outcome {
        if matches!(
            outcome,
            Outcome::Restart | Outcome::Implausible | Outcome::Doubtful { .. }
        ) {
            if self.level == 0 {
                self.before = before;
            }
            self.level = (self.level + WEIGHT).min(MOST);
        }
        let begins = !self.holds && self.level >= DOUBT;
        if !self.holds && !begins {
            return outcome;
        }
        self.holds = true;
        let kept = match begins {
            true => [before[0].min(self.before[0]), before[1].min(self.before[1])],
            false => before,
        };
        let taken_back = match outcome {
            Outcome::Doubtful { not_lost } => u64::from(not_lost),
            _ => 0,
        };
        let kept = [
            kept[0].saturating_sub(taken_back),
            kept[1].min(counts.lost_estimated),
        ];
        let not_lost = before[0] - kept[0];
        counts.lost_in_doubt += counts.lost.saturating_sub(kept[0]);
        [counts.lost, counts.lost_estimated] = kept;
        match outcome {
            Outcome::Duplicate | Outcome::Stale => outcome,
            _ => Outcome::Doubtful {
                not_lost: u32::try_from(not_lost).unwrap_or(u32::MAX),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream::{Stream, StreamConfig};
    use super::*;

    /// A cheap, repeatable pseudo-random number.
    fn random(n: u64) -> u64 {
        let x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
    }

    #[test]
    fn made_up_numbers_leave_nothing_lost() {
        let mut stream = Stream::new(22, &StreamConfig::default());
        let mut told = 0i64;
        let mut tell = |outcome| match outcome {
            Outcome::Gap { lost } => told += i64::from(lost),
            Outcome::Late => told -= 1,
            Outcome::Doubtful { not_lost } => told -= i64::from(not_lost),
            _ => {}
        };
        const MS: u64 = 1_000_000;
        let (mut number, mut now) = (0, 5_000 * MS);
        for n in 0..200_000u64 {
            now += MS / 10;
            // Ten forged datagrams for each of the sender's own, with times around the present.
            if (50_000..150_000).contains(&n) && n % 11 > 0 {
                let time = now + random(2 * n) % (3000 * MS) - 1500 * MS;
                tell(stream.observe(random(2 * n + 1) as u32, Some(time)));
            } else {
                number += 1;
                tell(stream.observe(number, Some(now)));
            }
        }
        let counts = stream.counts;
        assert!(counts.lost < 1000, "{counts:?}");
        assert_eq!(told.max(0) as u64, counts.lost, "rows tell as much");
        // In order again: numbers missing from now on count.
        let before = counts.lost;
        for _ in 0..3 {
            number += 101;
            now += 10 * MS;
            stream.observe(number, Some(now));
            for _ in 0..10 {
                number += 1;
                now += MS / 10;
                stream.observe(number, Some(now));
            }
        }
        assert_eq!(stream.counts.lost - before, 300);
    }

    #[test]
    fn few_made_up_numbers_leave_little_lost() {
        for every in [1, 2, 3, 4, 8, 16, 64, 256] {
            let mut stream = Stream::new(22, &StreamConfig::default());
            let (mut number, mut now) = (0, 5_000_000_000u64);
            for n in 0..200_000u64 {
                now += if n % 100 == 0 { 90_000_000 } else { 0 };
                if n % every == every - 1 && n < 150_000 {
                    let time = now + random(2 * n) % 1_550_000_000 - 1_500_000_000;
                    stream.observe(random(2 * n + 1) as u32, Some(time));
                } else {
                    number += 1;
                    stream.observe(number, Some(now));
                }
            }
            let counts = stream.counts;
            assert!(counts.lost < 30_000, "1 in {every}: {counts:?}");
        }
    }

    /// Like a flood in an exporter's name: dated back by up to 1.5 s, among bursts.
    #[test]
    fn made_up_numbers_among_bursts_are_no_restart() {
        let mut stream = Stream::new(22, &StreamConfig::default());
        let (mut number, mut now, mut n) = (0u32, 5_000_000_000u64, 0u64);
        for _ in 0..2500 {
            for _ in 0..11 {
                (n, now) = (n + 1, now + 6_000);
                if random(3 * n) % 100 < 12 {
                    let time = now + random(3 * n + 2) % 1_550_000_000 - 1_500_000_000;
                    stream.observe(random(3 * n + 1) as u32, Some(time));
                } else {
                    number += 1;
                    stream.observe(number, Some(now));
                }
            }
            now += 9_900_000;
        }
        let counts = stream.counts;
        assert!(counts.lost < 10_000 && counts.restarts < 3, "{counts:?}");
    }

    /// By chance, or on purpose, one forged number confirms another.
    #[test]
    fn a_jump_that_the_sender_has_not_made_is_taken_back() {
        let mut stream = Stream::new(22, &StreamConfig::default());
        let mut now = 1_000_000_000u64;
        for n in 0..1000 {
            now += 1_000_000;
            stream.observe(n, Some(now));
        }
        stream.observe(2_000_000, Some(now + 50_000_000));
        let jump = stream.observe(2_000_001, Some(now + 50_000_001));
        let Outcome::Gap { lost } = jump else {
            panic!("{jump:?}");
        };
        let mut told = i64::from(lost);
        for n in 1000..2000 {
            now += 1_000_000;
            match stream.observe(n, Some(now)) {
                Outcome::Doubtful { not_lost } => told -= i64::from(not_lost),
                Outcome::Gap { lost } => told += i64::from(lost),
                _ => {}
            }
        }
        assert_eq!((stream.counts.lost, told), (0, 0), "{:?}", stream.counts);
    }

    #[test]
    fn outages_and_restarts_of_one_sender_are_no_doubt() {
        let mut stream = Stream::new(22, &StreamConfig::default());
        let (mut number, mut now, mut missing) = (0u32, 1_000_000_000u64, 0);
        for n in 0..100u32 {
            for _ in 0..20 {
                number += 1;
                now += 1_000_000;
                stream.observe(number, Some(now));
            }
            number += 20_000;
            now += 20_000_000_000;
            missing += 20_000;
            if n % 10 == 9 {
                missing -= 20_000;
                number = 0;
                stream.clock_restarted();
            }
        }
        let counts = stream.counts;
        assert_eq!(
            (counts.lost, counts.lost_in_doubt),
            (missing, 0),
            "{counts:?}"
        );
    }
}
