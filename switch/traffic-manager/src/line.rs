// SPDX-License-Identifier: Apache-2.0
//! The line that frames come in on.
//!
//! A super-frame comes at one instant, but its segments would have come one after
//! the other, at the rate of the sender's device. They wait here for their times,
//! and what comes behind them waits for them.

use std::collections::VecDeque;

use crate::super_frame::Cutter;

use crate::wire::Pace;

/// Without a rate of its own, a line is this many times as fast as the fastest
/// port that has one.
const TIMES_THE_FASTEST_PORT: u64 = 10;
/// Bytes that wait on a line without a rate of its own. More shows that the line
/// is faster than was taken: the oldest are let in at once.
const MOST_WAITING_BYTES: usize = 256 << 10;
/// Bytes that wait on a line with a rate of its own. More is dropped, as a
/// sender's device drops it.
const BUFFER_BYTES: usize = 16 << 20;

/// The rate of the lines that have none of their own; 0: no port has one.
pub(crate) fn usual_rate_bps(fastest_port_bps: u64) -> u64 {
    fastest_port_bps.saturating_mul(TIMES_THE_FASTEST_PORT)
}

/// Frame or super-frame that waits.
#[derive(Debug)]
pub(crate) enum Waiting {
    Frame(Vec<u8>),
    SuperFrame(Cutter),
}

impl Waiting {
    /// Bytes of all of its frames.
    fn bytes(&self) -> usize {
        match self {
            Self::Frame(f) => f.len(),
            Self::SuperFrame(c) => c.bytes_left(),
        }
    }
}

/// Answer of the line to one more.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// It waits; with the time of the event to schedule, if there is none yet.
    Waits(Option<u64>),
    /// As [`Self::Waits`], and so much waits that the first is to be let in now.
    TooMuch(Option<u64>),
    /// There is no room.
    Dropped,
}

/// The line of one port.
#[derive(Debug, Default)]
pub(crate) struct Line {
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    /// When the last frame that was let in has passed.
    free_at_ns: u64,
    pace: Pace,
    /// An event is under way.
    scheduled: bool,
    /// Frames dropped because too much waited.
    pub dropped_packets: u64,
    /// Frames let in early because too much waited.
    pub early_packets: u64,
}

impl Line {
    /// Whether a single frame that comes at `now_ns` is to wait. Where the rate is
    /// not the line's own, a single frame keeps the time at which it came,
    /// unless others wait already.
    pub(crate) fn holds(&self, own_rate_bps: Option<u64>, now_ns: u64) -> bool {
        let own = own_rate_bps.is_some_and(|r| r != 0);
        !self.waiting.is_empty() || own && self.free_at_ns > now_ns
    }

    /// A frame passes that did not wait.
    pub(crate) fn pass(&mut self, frame_bytes: usize, rate_bps: u64, now_ns: u64) {
        self.free_at_ns = self.free_at_ns.max(now_ns) + self.pace.time_ns(frame_bytes, rate_bps);
    }

    /// Puts `what` at the end.
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

    /// Whether more waits than may.
    pub(crate) fn is_over(&self) -> bool {
        self.waiting_bytes > MOST_WAITING_BYTES
    }

    /// The next frame that waits, written to `out`, at its time or earlier. The
    /// buffer of a super-frame that is done comes back. False: none waits.
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

    /// The event is handled: when the next is due, if something waits.
    pub(crate) fn next_event(&mut self, now_ns: u64) -> Option<u64> {
        self.scheduled = !self.waiting.is_empty();
        self.scheduled.then(|| self.free_at_ns.max(now_ns))
    }

    /// Bytes that wait.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Resets the clock while nothing waits.
    pub(crate) fn restart_clock(&mut self) {
        self.free_at_ns = 0;
    }
}
