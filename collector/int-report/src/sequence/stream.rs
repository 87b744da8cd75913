// SPDX-License-Identifier: Apache-2.0
//! One stream of numbered datagrams.

/// How a datagram stood to those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// First of the stream.
    First,
    /// The next number.
    InOrder,
    /// `lost` numbers were skipped (some may still arrive late).
    Gap {
        /// How many.
        lost: u32,
    },
    /// Arrived after a higher number; no longer counted as lost.
    Late,
    /// Seen before.
    Duplicate,
    /// Too far behind to tell late from duplicate; loss is not corrected.
    Stale,
    /// The sender began again.
    Restart,
}

/// Totals of a stream. `received` counts every datagram, so that
/// `received = distinct + duplicates` with `stale` ones among the distinct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams received.
    pub received: u64,
    /// Numbers skipped and not arrived since.
    pub lost: u64,
    /// Arrived after a higher number.
    pub late: u64,
    /// Datagrams that came again.
    pub duplicate: u64,
    /// Datagrams too old to be told from repeated ones.
    pub stale: u64,
    /// Times that the numbers began again.
    pub restarts: u64,
    /// Silences so long, at the rate before them, that the number may have
    /// wrapped wholly: `lost` may be short by multiples of its range.
    pub ambiguous_gaps: u64,
}

impl Counts {
    /// Adds the totals of another stream.
    pub fn add(&mut self, other: &Counts) {
        self.received += other.received;
        self.lost += other.lost;
        self.late += other.late;
        self.duplicate += other.duplicate;
        self.stale += other.stale;
        self.restarts += other.restarts;
        self.ambiguous_gaps += other.ambiguous_gaps;
    }
}

/// Bounds of the judgement.
#[derive(Clone, Copy, Debug)]
pub struct StreamConfig {
    /// Numbers behind the newest that are remembered; rounded up to a power of
    /// two of at least 64. Must exceed the reordering between the receiver's
    /// threads. Memory: one bit each.
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

/// A jump of more than this onto a number below [`RESTART_FIRST`] is taken as a
/// restart, not as loss, when no clock says better.
const RESTART_JUMP: u32 = 65_536;
const RESTART_FIRST: u32 = 1_024;

/// Accounting of one stream.
#[derive(Clone, Debug)]
pub struct Stream {
    counts: Counts,
    /// Bit n % window: number n (within the window) has arrived.
    seen: Box<[u64]>,
    /// Places in `seen`, a power of two.
    window: u32,
    mask: u32,
    half: u32,
    highest: u32,
    /// Numbers from the first to the highest, saturating at the window: older
    /// ones were never counted as lost.
    span: u32,
    started: bool,
    newest_ns: Option<u64>,
    /// Smoothed distance of datagrams, for judging silences.
    interval_ns: f64,
    /// A silence in which half the range of numbers would have passed.
    longest_ns: f64,
    /// Half the range of numbers.
    half_range: f64,
    restart_step_ns: u64,
}

impl Stream {
    /// `sequence_bits`: 22 in v2.0, 32 before (clamped to 8..=32).
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
            counts: Counts::default(),
            seen: vec![0; (window as usize).div_ceil(64)].into_boxed_slice(),
            window,
            mask: if bits == 32 {
                u32::MAX
            } else {
                (1 << bits) - 1
            },
            half: 1 << (bits - 1),
            highest: 0,
            span: 0,
            started: false,
            newest_ns: None,
            interval_ns: 0.0,
            longest_ns: 0.0,
            half_range: f64::from(1u32 << (bits - 1)),
            restart_step_ns: config.restart_step_ns,
        }
    }

    /// Totals so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Accounts for one datagram. `time_ns`: the node's unwrapped time of it,
    /// which tells a restart (clock back) from loss; `None` when unknown.
    #[inline(always)]
    pub fn observe(&mut self, sequence: u32, time_ns: Option<u64>) -> Outcome {
        let sequence = sequence & self.mask;
        self.counts.received += 1;
        if !self.started {
            self.begin(sequence, time_ns);
            return Outcome::First;
        }
        let ahead = sequence.wrapping_sub(self.highest) & self.mask;
        if ahead == 1 && !self.clock_stepped_back(time_ns) {
            self.next(sequence);
            self.note_time(time_ns, 1);
            return Outcome::InOrder;
        }
        self.observe_any(sequence, ahead, time_ns)
    }

    /// One that is not the next.
    #[inline(never)]
    fn observe_any(&mut self, sequence: u32, ahead: u32, time_ns: Option<u64>) -> Outcome {
        if self.clock_stepped_back(time_ns) {
            return self.restart(sequence, time_ns);
        }
        let behind = (self.mask.wrapping_sub(ahead).wrapping_add(1)) & self.mask;
        if ahead != 0 && ahead < self.half {
            self.ahead(sequence, ahead, time_ns)
        } else if behind < self.window() {
            self.within_window(sequence, behind)
        } else {
            self.far_behind(sequence, ahead, time_ns)
        }
    }

    #[inline(always)]
    fn window(&self) -> u32 {
        self.window
    }

    fn begin(&mut self, sequence: u32, time_ns: Option<u64>) {
        self.seen.fill(0);
        self.started = true;
        self.highest = sequence;
        self.span = 1;
        self.mark(sequence);
        self.newest_ns = time_ns;
        self.interval_ns = 0.0;
    }

    fn restart(&mut self, sequence: u32, time_ns: Option<u64>) -> Outcome {
        self.counts.restarts += 1;
        self.begin(sequence, time_ns);
        Outcome::Restart
    }

    fn clock_stepped_back(&self, time_ns: Option<u64>) -> bool {
        match (time_ns, self.newest_ns) {
            (Some(now), Some(newest)) => newest.saturating_sub(now) > self.restart_step_ns,
            _ => false,
        }
    }

    fn ahead(&mut self, sequence: u32, ahead: u32, time_ns: Option<u64>) -> Outcome {
        let clock_runs_on = matches!((time_ns, self.newest_ns), (Some(_), Some(_)));
        if ahead > RESTART_JUMP && sequence < RESTART_FIRST && !clock_runs_on {
            return self.restart(sequence, time_ns);
        }
        self.counts.lost += u64::from(ahead - 1);
        self.advance(sequence, ahead);
        self.note_time(time_ns, ahead);
        if ahead == 1 {
            Outcome::InOrder
        } else {
            Outcome::Gap { lost: ahead - 1 }
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
        }
        Outcome::Late
    }

    /// More than the window behind: an old datagram, a restart, or the loss of
    /// more than half the range of numbers. The clock decides if there is one.
    fn far_behind(&mut self, sequence: u32, ahead: u32, time_ns: Option<u64>) -> Outcome {
        let newer = match (time_ns, self.newest_ns) {
            (Some(now), Some(newest)) => Some(now > newest),
            _ => None,
        };
        if sequence < RESTART_FIRST && newer != Some(false) {
            return self.restart(sequence, time_ns);
        }
        if newer == Some(true) {
            self.counts.lost += u64::from(ahead - 1);
            self.advance(sequence, ahead);
            self.note_time(time_ns, ahead);
            return Outcome::Gap { lost: ahead - 1 };
        }
        self.counts.stale += 1;
        Outcome::Stale
    }

    /// Makes `sequence`, the next one, the highest: what leaves the window has
    /// its place.
    #[inline(always)]
    fn next(&mut self, sequence: u32) {
        self.highest = sequence;
        if self.span < self.window {
            self.span += 1;
        }
        self.mark(sequence);
    }

    /// Makes `sequence` the highest and forgets what leaves the window.
    fn advance(&mut self, sequence: u32, ahead: u32) {
        if ahead >= self.window() {
            self.seen.fill(0);
        } else {
            for step in 1..=ahead {
                self.clear(self.highest.wrapping_add(step));
            }
        }
        self.highest = sequence;
        self.span = self.span.saturating_add(ahead).min(self.window());
        self.mark(sequence);
    }

    #[inline(always)]
    fn note_time(&mut self, time_ns: Option<u64>, ahead: u32) {
        let Some(now) = time_ns else { return };
        let Some(newest) = self.newest_ns else {
            self.newest_ns = Some(now);
            return;
        };
        let Some(elapsed) = now.checked_sub(newest) else {
            return;
        };
        self.newest_ns = Some(now);
        // Signed, as processors convert at once; 292 years.
        let elapsed = elapsed.min(i64::MAX as u64) as i64 as f64;
        if elapsed > self.longest_ns && self.interval_ns > 0.0 {
            self.counts.ambiguous_gaps += 1;
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
        let bit = sequence & (self.window() - 1);
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
