// SPDX-License-Identifier: Apache-2.0
//! The input line of a port.
//!
//! A super-frame arrives at one instant, but its segments would have arrived one after
//! the other, at the rate of the sender's device. They wait here for their times, and
//! frames behind them wait for them.

use std::collections::VecDeque;

use crate::super_frame::Cutter;

use crate::wire::Pace;

/// A line without a rate of its own is taken to be this many times as fast as the fastest
/// port that has a rate.
const TIMES_THE_FASTEST_PORT: u64 = 10;
/// Most bytes that wait on a line without a rate of its own. A longer backlog shows that the
/// line is faster than assumed: the oldest frames enter at once.
const MOST_WAITING_BYTES: usize = 256 << 10;
/// Most bytes that wait on a line with a rate of its own. Further frames are dropped, as a
/// sender's device drops them.
const BUFFER_BYTES: usize = 16 << 20;

/// Returns the rate assumed for lines without one of their own; 0: no port has a rate.
pub(crate) fn usual_rate_bps(fastest_port_bps: u64) -> u64 {
    fastest_port_bps.saturating_mul(TIMES_THE_FASTEST_PORT)
}

/// A frame or super-frame that waits.
#[derive(Debug)]
pub(crate) enum Waiting {
    Frame(Vec<u8>),
    SuperFrame(Cutter),
}

impl Waiting {
    /// Returns the total size of its frames.
    fn bytes(&self) -> usize {
        match self {
            Self::Frame(f) => f.len(),
            Self::SuperFrame(c) => c.bytes_left(),
        }
    }
}

/// Result of [`Line::join`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// The frame waits; holds the time of the event to schedule, unless one is scheduled.
    Waits(Option<u64>),
    /// As [`Self::Waits`], and the backlog is so long that its first frame has to enter now.
    TooMuch(Option<u64>),
    /// The line has no room: dropped.
    Dropped,
}

/// The input line of one port.
#[derive(Debug, Default)]
pub(crate) struct Line {
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// Time at which the last frame that entered has passed.
    free_at_ns: u64,
    pace: Pace,
    /// Whether an event is scheduled.
    scheduled: bool,
    /// Frames dropped because the backlog was full.
    pub dropped_packets: u64,
    /// Frames that entered early because the backlog was too long.
    pub early_packets: u64,
}

impl Line {
    /// Returns whether a single frame that arrives at `now_ns` has to wait. On a line
    /// without a rate of its own, a single frame keeps its arrival time unless other
    /// frames wait already.
    pub(crate) fn holds(&self, own_rate_bps: Option<u64>, now_ns: u64) -> bool {
        let own = own_rate_bps.is_some_and(|r| r != 0);
        !self.waiting.is_empty() || own && self.free_at_ns > now_ns
    }

    /// Accounts for a frame that passes without waiting.
    pub(crate) fn pass(&mut self, frame_bytes: usize, rate_bps: u64, now_ns: u64) {
        self.free_at_ns = self.free_at_ns.max(now_ns) + self.pace.time_ns(frame_bytes, rate_bps);
    }

    /// Appends `what` to the backlog.
    pub(crate) fn join(&mut self, what: Waiting, own_rate_bps: Option<u64>, now_ns: u64) -> Joined {
        let bytes = what.bytes();
        let own = own_rate_bps.is_some();
        if own && self.waiting_bytes + bytes > BUFFER_BYTES {
            self.dropped_packets += match what {
                Waiting::Frame(_) => 1,
                Waiting::SuperFrame(c) => c.segments_left() as u64,
            };
            return Joined::Dropped;
        }
        self.waiting.push_back(what);
        self.waiting_bytes += bytes;
        let event = (!self.scheduled).then(|| self.free_at_ns.max(now_ns));
        self.scheduled = true;
        if !own && self.waiting_bytes > MOST_WAITING_BYTES {
            Joined::TooMuch(event)
        } else {
            Joined::Waits(event)
        }
    }

    /// Returns whether the backlog is too long.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting_bytes > MOST_WAITING_BYTES
    }

    /// Writes the next frame that waits to `out`, at its time or earlier. The buffer of a
    /// super-frame that is done goes to `spare`. Returns `false` if none waits.
    pub(crate) fn next_into(
        &mut self,
        out: &mut Vec<u8>,
        spare: &mut Vec<Vec<u8>>,
        rate_bps: u64,
        now_ns: u64,
    ) -> bool {
        let before = match self.waiting.front_mut() {
            None => return false,
            Some(Waiting::Frame(f)) => {
                out.clear();
                out.extend_from_slice(f);
                f.len()
            }
            Some(Waiting::SuperFrame(c)) => {
                c.next_into(out);
                out.len()
            }
        };
        self.waiting_bytes = self.waiting_bytes.saturating_sub(before);
        let done = match self.waiting.front() {
            Some(Waiting::SuperFrame(c)) => c.next_bytes() == 0,
            _ => true,
        };
        if done {
            match self.waiting.pop_front() {
                Some(Waiting::SuperFrame(c)) => spare.push(c.into_buffer()),
                Some(Waiting::Frame(f)) => spare.push(f),
                None => {}
            }
        }
        self.pass(before, rate_bps, now_ns);
        true
    }

    /// Ends the current event and returns the time of the next, if a frame waits.
    pub(crate) fn next_event(&mut self, now_ns: u64) -> Option<u64> {
        self.scheduled = !self.waiting.is_empty();
        self.scheduled.then(|| self.free_at_ns.max(now_ns))
    }

    /// Returns the bytes that wait.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Resets the clock; nothing waits.
    pub(crate) fn restart_clock(&mut self) {
        self.free_at_ns = 0;
    }
}
