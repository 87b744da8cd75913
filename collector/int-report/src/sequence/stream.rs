// SPDX-License-Identifier: Apache-2.0
//! One stream of numbered datagrams.

use super::counts::{Counts, Outcome};
use super::doubt::{Doubt, lost};

/// Limits for judging a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamConfig {
    /// How many numbers behind the newest are remembered; rounded up to a power of two of at least
    /// 64. Must exceed the reordering between the receiver's threads. Memory: one bit each.
    pub window: u32,
    /// A clock that stepped back by more than this has restarted.
    pub restart_step_ns: u64,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            window: 16_384,
            restart_step_ns: 1_000_000_000,
        }
    }
}

/// A number that comes this often without a time is not a sequence number.
const REPEATS_WITHOUT_CLOCK: u64 = 8;
/// How far ahead a number of a stream without a clock may be: its rate is unknown.
const MAX_JUMP_WITHOUT_CLOCK: u32 = 65_536;
/// A datagram continues from a number if it is at most this far ahead.
const MAX_SUCCESSION: u32 = 64;
/// A number this close to the number before a jump shows that there was no jump.
const MAX_RETURN: u32 = 16_384;
/// A confirmed jump onto a number below this is a restart, not loss, unless a clock shows
/// otherwise.
const RESTART_FIRST: u32 = 1_024;
/// A jump that would need more than this many times the rate before it is not
/// explained by that rate.
const MAX_RATE_RATIO: f64 = 64.0;
/// Nor is a jump loss if it would need more than this many times the rate after it.
const MAX_BURST_RATIO: f64 = 4.0;

/// Time over which the rate for counting an outage is measured, so that bursts do not matter.
const PACE_NS: u64 = 1_000_000_000;
/// Numbers of fewer bits wrap within that time.
const PACED_BITS: u32 = 22;

/// Rate of the numbers over the last whole [`PACE_NS`].
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Number and time at which the measurement began, and when it ends.
    from: u32,
    since_ns: u64,
    until_ns: u64,
    per_ns: f64,
}

impl Pace {
    #[cold]
    fn measure(&mut self, highest: u32, mask: u32, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.since_ns);
        if mask >= (1 << PACED_BITS) - 1 && elapsed_ns <= 2 * PACE_NS {
            let numbers = highest.wrapping_sub(self.from) & mask;
            self.per_ns = f64::from(numbers) / elapsed_ns as f64;
        }
        self.begin(highest, now_ns);
    }

    fn begin(&mut self, highest: u32, now_ns: u64) {
        self.from = highest;
        self.since_ns = now_ns;
        self.until_ns = now_ns.saturating_add(PACE_NS);
    }
}

/// A jump that waits for its confirmation.
#[derive(Clone, Copy, Debug)]
struct Jump {
    sequence: u32,
    time_ns: Option<u64>,
    /// Number of numbered datagrams received, including the jump.
    received: u64,
}

/// The number that recurs, if any: some of the senders do not number their datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct Repeated {
    sequence: u32,
    /// Time of the last datagram that had it.
    time_ns: Option<u64>,
    /// Number of datagrams that had it.
    times: u64,
    /// [`Repeated::HOLD`] for each of them, minus other datagrams that were not the next.
    weight: u64,
    /// Whether it is a constant and not a sequence number.
    is_constant: bool,
}

impl Repeated {
    /// Number of other datagrams that a repetition outweighs.
    const HOLD: u64 = 16;

    /// Takes a datagram that is not the next, with its distance ahead; returns whether its number
    /// is a constant.
    fn observe(&mut self, sequence: u32, ahead: u32, time_ns: Option<u64>) -> bool {
        if self.sequence != sequence || self.weight == 0 {
            if (1..=MAX_SUCCESSION).contains(&ahead) {
                return false;
            }
            self.weight = self.weight.saturating_sub(1);
            if self.weight == 0 || self.times == 1 {
                *self = Self {
                    sequence,
                    time_ns,
                    times: 1,
                    weight: Self::HOLD,
                    is_constant: false,
                };
            }
            return false;
        }
        self.times += 1;
        self.weight += Self::HOLD;
        // A datagram that comes again has the same time.
        let is_another = match (time_ns, self.time_ns) {
            (Some(now), Some(then)) => now != then,
            _ => self.times > REPEATS_WITHOUT_CLOCK,
        };
        self.time_ns = time_ns;
        self.is_constant |= is_another;
        is_another
    }
}

/// Accounting of one stream.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    /// Totals so far.
    pub counts: Counts,
    /// Bit n % window: number n (within the window) has arrived.
    seen: Box<[u64]>,
    /// Number of places in `seen`, a power of two.
    window: u32,
    mask: u32,
    half: u32,
    highest: u32,
    /// Numbers from the first to the highest, saturating at the window: older
    /// ones were never counted as lost.
    span: u32,
    started: bool,
    newest_ns: Option<u64>,
    /// Time of the datagram with the highest number.
    highest_ns: Option<u64>,
    /// Smoothed time between datagrams, for judging silences.
    interval_ns: f64,
    /// A silence in which half the range of numbers would have passed.
    longest_ns: f64,
    /// Half the range of numbers.
    half_range: f64,
    pace: Pace,
    restart_step_ns: u64,
    jump: Option<Jump>,
    /// The number before the last jump that was accepted, and how many losses it counted.
    jumped: Option<(u32, u64)>,
    repeated: Repeated,
    doubt: Doubt,
    /// Whether a constant cannot be told from the numbers because there are no times: then no
    /// number of this stream shows any loss.
    is_untold: bool,
    /// The first number, and how many are missing between it and the next, if any are.
    first_gap: Option<(u32, u32)>,
    /// The number after the last gap, and how many are missing in it.
    last_gap: Option<(u32, u32)>,
}

impl Stream {
    /// Creates a stream; `sequence_bits` is 22 in v2.0, 32 before (clamped to 8..=32).
    #[must_use]
    pub fn new(sequence_bits: u8, config: &StreamConfig) -> Self {
        let bits = u32::from(sequence_bits).clamp(8, 32);
        // Below half the range, or "behind" and "ahead" would overlap.
        let window = config
            .window
            .clamp(64, 1 << 20)
            .next_power_of_two()
            .min(1 << (bits - 2));
        Self {
            seen: vec![0; (window as usize).div_ceil(64)].into_boxed_slice(),
            window,
            mask: if bits == 32 {
                u32::MAX
            } else {
                (1 << bits) - 1
            },
            half: 1 << (bits - 1),
            half_range: f64::from(1u32 << (bits - 1)),
            restart_step_ns: config.restart_step_ns,
            ..Self::default()
        }
    }

    /// Accounts for one datagram. `time_ns` is its unwrapped node time, which tells a restart
    /// (clock back) from loss; `None` if unknown.
    #[inline(always)]
    pub fn observe(&mut self, sequence: u32, time_ns: Option<u64>) -> Outcome {
        let sequence = sequence & self.mask;
        self.counts.received += 1;
        if self.is_untold && time_ns.is_none() {
            self.counts.unnumbered += 1;
            return Outcome::Unnumbered { not_lost: 0 };
        }
        if !self.started {
            return self.first(sequence, time_ns);
        }
        let ahead = sequence.wrapping_sub(self.highest) & self.mask;
        if ahead == 1 {
            self.next(sequence);
            self.doubt.calm();
            self.note_time(time_ns, 1);
            return Outcome::InOrder;
        }
        let before = lost(&self.counts);
        let outcome = self.observe_any(sequence, ahead, time_ns);
        self.doubt.judge(outcome, before, &mut self.counts)
    }

    /// Notes that the node's clock restarts with the next datagram: a number that came before is
    /// then no duplicate.
    pub fn clock_restarted(&mut self) {
        self.started = false;
    }

    /// Takes the first datagram of the stream, or of a restarted clock.
    #[inline(never)]
    fn first(&mut self, sequence: u32, time_ns: Option<u64>) -> Outcome {
        if self.counts.received == 1 {
            self.begin(sequence, time_ns);
            return Outcome::First;
        }
        let ahead = sequence.wrapping_sub(self.highest) & self.mask;
        let goes_on = (1..self.half).contains(&ahead);
        if !goes_on || self.clock_stepped_back(time_ns) {
            return self.restart(sequence, time_ns);
        }
        self.started = true;
        if ahead > self.window / 2 {
            return self.jump(sequence, ahead, time_ns);
        }
        self.newest_ns = None;
        self.ahead(ahead, sequence, time_ns)
    }

    /// Takes a datagram that is not the next.
    #[inline(never)]
    fn observe_any(&mut self, sequence: u32, ahead: u32, time_ns: Option<u64>) -> Outcome {
        let is_constant = self.repeated.observe(sequence, ahead, time_ns);
        if is_constant || ahead == 0 && self.is_another(time_ns) {
            self.counts.unnumbered += 1;
            self.repeated.is_constant |= self.repeated.sequence == sequence;
            let others = self.counts.late > 0 || !self.has_no_number();
            if time_ns.is_none() && others {
                return self.give_up();
            }
            return Outcome::Unnumbered {
                not_lost: self.take_back(sequence),
            };
        }
        if ahead != 0 && self.has_no_number() {
            self.begin(sequence, time_ns);
            return Outcome::First;
        }
        let behind = (self.mask.wrapping_sub(ahead).wrapping_add(1)) & self.mask;
        // A longer jump, or one that the rate cannot explain, is accepted once the next datagram
        // continues from it. If it was forged or damaged all the same, it is taken back: the
        // numbers it skipped still come, and lie within the window.
        if ahead != 0 && ahead <= self.window / 2 && self.is_possible(ahead, time_ns) {
            self.ahead(ahead, sequence, time_ns)
        } else if behind < self.window && !self.has_wrapped(time_ns) {
            self.within_window(sequence, behind)
        } else if ahead < self.half || !self.is_old(sequence, time_ns) {
            self.jump(sequence, ahead, time_ns)
        } else {
            self.counts.stale += 1;
            Outcome::Stale
        }
    }

    /// Whether only a constant has come so far.
    fn has_no_number(&self) -> bool {
        self.span == 1 && self.repeated.is_constant && self.repeated.sequence == self.highest
    }

    /// Takes back all losses and counts no more: none of them is known.
    fn give_up(&mut self) -> Outcome {
        self.is_untold = true;
        let not_lost = std::mem::take(&mut self.counts.lost);
        Outcome::Unnumbered {
            not_lost: u32::try_from(not_lost).unwrap_or(u32::MAX),
        }
    }

    /// Takes back the losses after a first number, or before a number far ahead, that has turned
    /// out to be a constant.
    fn take_back(&mut self, sequence: u32) -> u32 {
        let mut lost = 0;
        for gap in [&mut self.first_gap, &mut self.last_gap] {
            if let Some((_, missing)) = gap.take_if(|(end, _)| *end == sequence) {
                lost += missing;
            }
        }
        if sequence == self.highest {
            // The next number begins the stream.
            self.span = 1;
        }
        let lost = u32::try_from(self.counts.lost).map_or(lost, |all| all.min(lost));
        self.counts.lost -= u64::from(lost);
        lost
    }

    /// Number of datagrams with a number of their own.
    fn numbered(&self) -> u64 {
        self.counts.received - self.counts.unnumbered
    }

    fn begin(&mut self, sequence: u32, time_ns: Option<u64>) {
        self.seen.fill(0);
        self.started = true;
        self.highest = sequence;
        self.span = 1;
        self.mark(sequence);
        self.newest_ns = time_ns;
        self.highest_ns = time_ns;
        self.interval_ns = 0.0;
        self.pace = Pace::default();
        self.pace.begin(sequence, time_ns.unwrap_or(0));
    }

    fn restart(&mut self, sequence: u32, time_ns: Option<u64>) -> Outcome {
        self.counts.restarts += 1;
        let returns = self.returns(sequence);
        let refuted = self.jumped.take_if(|_| returns);
        self.begin(sequence, time_ns);
        // The sender continues from before the jump: it has not jumped.
        let Some((_, lost)) = refuted else {
            return Outcome::Restart;
        };
        self.counts.lost = self.counts.lost.saturating_sub(lost);
        self.counts.lost_estimated = self.counts.lost_estimated.min(self.counts.lost);
        Outcome::Doubtful {
            not_lost: u32::try_from(lost).unwrap_or(u32::MAX),
        }
    }

    /// Whether a number is near the number before the last jump.
    fn returns(&self, sequence: u32) -> bool {
        let apart = |from: u32| sequence.wrapping_sub(from).wrapping_add(MAX_RETURN) & self.mask;
        (self.jumped).is_some_and(|(from, _)| apart(from) <= 2 * MAX_RETURN)
    }

    fn clock_stepped_back(&self, time_ns: Option<u64>) -> bool {
        match (time_ns, self.newest_ns) {
            (Some(now), Some(newest)) => newest.saturating_sub(now) > self.restart_step_ns,
            _ => false,
        }
    }

    fn ahead(&mut self, ahead: u32, sequence: u32, time_ns: Option<u64>) -> Outcome {
        self.lose(ahead - 1, sequence);
        self.advance(sequence, ahead);
        self.note_time(time_ns, ahead);
        if ahead == 1 {
            Outcome::InOrder
        } else {
            Outcome::Gap { lost: ahead - 1 }
        }
    }

    /// Counts `lost` numbers missing before a number.
    fn lose(&mut self, lost: u32, sequence: u32) {
        if lost > 0 {
            self.counts.lost += u64::from(lost);
            self.last_gap = Some((sequence, lost));
            if self.span == 1 {
                self.first_gap = Some((self.highest, lost));
            }
        }
    }

    /// Judges a number far ahead, or more than half the range behind: loss, a restart, or a number
    /// that means nothing.
    fn jump(&mut self, sequence: u32, ahead: u32, time_ns: Option<u64>) -> Outcome {
        let goes_on = |jump: &Jump| {
            let step = sequence.wrapping_sub(jump.sequence) & self.mask;
            jump.received + 1 == self.numbered() && (1..=MAX_SUCCESSION).contains(&step)
        };
        let Some(first) = self.jump.filter(goes_on) else {
            self.jump = Some(Jump {
                sequence,
                time_ns,
                received: self.numbered(),
            });
            self.counts.implausible += 1;
            return Outcome::Implausible;
        };
        self.jump = None;
        self.counts.implausible -= 1;
        let step = sequence.wrapping_sub(first.sequence) & self.mask;
        if self.returns(first.sequence) || self.begins_anew(&first, step, ahead, time_ns) {
            let outcome = self.restart(first.sequence, first.time_ns);
            self.ahead(step, sequence, time_ns);
            return outcome;
        }
        let wrapped = self.wrapped(ahead, time_ns);
        self.counts.lost += wrapped;
        self.counts.lost_estimated += wrapped;
        // The datagram before has come, so it is not lost.
        let lost = ahead.saturating_sub(2);
        self.jumped = Some((self.highest, u64::from(lost) + wrapped));
        self.lose(lost, first.sequence);
        self.advance(sequence, ahead);
        self.mark(first.sequence);
        if let Some(now_ns) = time_ns {
            self.pace.begin(sequence, now_ns);
        }
        self.note_time(time_ns, ahead);
        let wrapped = u32::try_from(wrapped).unwrap_or(u32::MAX);
        Outcome::Gap {
            lost: lost.saturating_add(wrapped),
        }
    }

    /// How many numbers would have passed since the newest datagram, at the pace before.
    fn expected(&self, time_ns: Option<u64>) -> f64 {
        let (Some(now), Some(newest)) = (time_ns, self.newest_ns) else {
            return 0.0;
        };
        now.saturating_sub(newest) as f64 * self.pace.per_ns
    }

    /// Whether more than half the range of numbers would have passed: a number just behind the
    /// newest is then of another round.
    fn has_wrapped(&self, time_ns: Option<u64>) -> bool {
        self.expected(time_ns) > self.half_range
    }

    /// Size of the whole ranges of numbers that passed unseen before a confirmed jump. A number
    /// close ahead shows none: after a pause without traffic, the numbering continues.
    fn wrapped(&self, ahead: u32, time_ns: Option<u64>) -> u64 {
        let rounds = (self.expected(time_ns) - f64::from(ahead)) / (2.0 * self.half_range);
        (rounds.round().max(0.0) as u64).saturating_mul(u64::from(self.mask) + 1)
    }

    /// Whether `ahead` numbers can have passed since the newest datagram. After a first datagram,
    /// no rate is known that could explain many.
    fn is_possible(&self, ahead: u32, time_ns: Option<u64>) -> bool {
        let (Some(now), Some(newest)) = (time_ns, self.newest_ns) else {
            return self.newest_ns.is_none() || ahead <= MAX_SUCCESSION;
        };
        ahead <= MAX_SUCCESSION || self.explains(ahead, now.saturating_sub(newest))
    }

    /// Whether the rate so far explains `ahead` numbers in that time.
    fn explains(&self, ahead: u32, elapsed_ns: u64) -> bool {
        self.interval_ns > 0.0
            && f64::from(ahead) <= MAX_RATE_RATIO * (1.0 + elapsed_ns as f64 / self.interval_ns)
    }

    /// Whether a confirmed jump is a new numbering: neither the rate before it nor that of the two
    /// datagrams after it, `step` numbers apart, explains the loss of all numbers skipped.
    /// Otherwise, a forged or damaged number that another confirms by chance would count as up to
    /// half the range of losses.
    fn begins_anew(&self, first: &Jump, step: u32, ahead: u32, time_ns: Option<u64>) -> bool {
        let low = first.sequence < RESTART_FIRST;
        let (Some(now), Some(then), Some(newest)) = (time_ns, first.time_ns, self.newest_ns) else {
            let no_clock = time_ns.is_none() && first.time_ns.is_none() && self.newest_ns.is_none();
            return low || !no_clock || ahead > MAX_JUMP_WITHOUT_CLOCK;
        };
        let elapsed_ns = now.saturating_sub(newest);
        let apart_ns = now.saturating_sub(then);
        let at_their_rate = f64::from(step) * elapsed_ns as f64 / apart_ns as f64;
        let explained = self.explains(ahead, elapsed_ns)
            || apart_ns > 0 && f64::from(ahead) <= MAX_BURST_RATIO * at_their_rate;
        low && ahead >= self.half || !explained
    }

    /// Whether a datagram with the highest number is a different one: a datagram that comes again
    /// has the same time.
    fn is_another(&self, time_ns: Option<u64>) -> bool {
        let only_number = self.span == 1;
        match (time_ns, self.highest_ns) {
            (Some(now), Some(then)) => now != then || self.has_no_number(),
            _ => only_number && self.counts.duplicate >= REPEATS_WITHOUT_CLOCK,
        }
    }

    fn within_window(&mut self, sequence: u32, behind: u32) -> Outcome {
        if self.is_marked(sequence) {
            self.counts.duplicate += 1;
            return Outcome::Duplicate;
        }
        self.mark(sequence);
        self.counts.late += 1;
        if behind < self.span {
            self.counts.lost = self.counts.lost.saturating_sub(1);
            if let Some((_, missing)) = &mut self.last_gap {
                *missing = missing.saturating_sub(1);
            }
        }
        Outcome::Late
    }

    /// Whether a datagram more than the window behind is an old one. The clock decides, if there is
    /// one.
    fn is_old(&self, sequence: u32, time_ns: Option<u64>) -> bool {
        match (time_ns, self.newest_ns) {
            (Some(now), Some(newest)) => now <= newest,
            _ => sequence >= RESTART_FIRST,
        }
    }

    /// Makes `sequence`, the next number, the highest: it takes the place of the number that leaves
    /// the window.
    #[inline(always)]
    fn next(&mut self, sequence: u32) {
        self.highest = sequence;
        if self.span < self.window {
            self.span += 1;
        }
        self.mark(sequence);
    }

    /// Makes `sequence` the highest and forgets the numbers that leave the window.
    fn advance(&mut self, sequence: u32, ahead: u32) {
        if ahead >= self.window {
            self.seen.fill(0);
        } else {
            for step in 1..=ahead {
                self.clear(self.highest.wrapping_add(step));
            }
        }
        self.highest = sequence;
        self.span = self.span.saturating_add(ahead).min(self.window);
        self.mark(sequence);
    }

    #[inline(always)]
    fn note_time(&mut self, time_ns: Option<u64>, ahead: u32) {
        self.highest_ns = time_ns;
        let Some(now) = time_ns else { return };
        let Some(newest) = self.newest_ns else {
            self.newest_ns = Some(now);
            return;
        };
        let Some(elapsed) = now.checked_sub(newest) else {
            return;
        };
        self.newest_ns = Some(now);
        if now >= self.pace.until_ns {
            self.pace.measure(self.highest, self.mask, now);
        }
        // Signed, because processors convert that in one instruction; 292 years.
        let elapsed = elapsed.min(i64::MAX as u64) as i64 as f64;
        if elapsed > self.longest_ns && self.interval_ns > 0.0 {
            return;
        }
        let interval = if ahead == 1 {
            elapsed
        } else {
            elapsed / f64::from(ahead)
        };
        self.interval_ns = if self.interval_ns == 0.0 {
            interval
        } else {
            self.interval_ns + (interval - self.interval_ns) / 64.0
        };
        self.longest_ns = self.interval_ns * self.half_range;
    }

    #[inline]
    fn slot(&self, sequence: u32) -> (usize, u64) {
        let bit = sequence & (self.window - 1);
        ((bit / 64) as usize, 1 << (bit % 64))
    }

    #[inline]
    fn mark(&mut self, sequence: u32) {
        let (word, bit) = self.slot(sequence);
        if let Some(word) = self.seen.get_mut(word) {
            *word |= bit;
        }
    }

    #[inline]
    fn clear(&mut self, sequence: u32) {
        let (word, bit) = self.slot(sequence);
        if let Some(word) = self.seen.get_mut(word) {
            *word &= !bit;
        }
    }

    fn is_marked(&self, sequence: u32) -> bool {
        let (word, bit) = self.slot(sequence);
        self.seen.get(word).is_some_and(|word| word & bit != 0)
    }
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
