// SPDX-License-Identifier: Apache-2.0
//! Batches that wait for the server, between the writer and the inserters.

use crate::spool::Spooled;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Bodies kept in memory in addition to the spool, so that with a server that keeps up we need not
/// read what was just written.
const MEMORY_BYTES: u64 = 64 << 20;

/// A batch to insert; without a body it is read from its file.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub batch: Spooled,
    pub body: Option<Vec<u8>>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    memory_bytes: u64,
    spool_bytes: u64,
    /// No more will come.
    complete: bool,
    deadline: Option<Instant>,
}

impl State {
    fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.waiting.pop_front()?;
        self.memory_bytes -= waiting.body.as_ref().map_or(0, |b| b.len() as u64);
        Some(waiting)
    }
}

/// The queue of batches; the writer and the inserters share it.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

impl Queue {
    /// Appends a batch that a former start left.
    pub(crate) fn push_left(&self, batch: Spooled) {
        self.state.lock().spool_bytes += batch.bytes;
        self.push(batch, None);
    }

    /// Appends a batch; it has taken its room.
    pub(crate) fn push(&self, batch: Spooled, body: Option<Vec<u8>>) {
        let mut s = self.state.lock();
        let body = body.filter(|b| s.memory_bytes + b.len() as u64 <= MEMORY_BYTES);
        s.memory_bytes += body.as_ref().map_or(0, |b| b.len() as u64);
        s.waiting.push_back(Waiting { batch, body });
        self.changed.notify_all();
    }

    /// Takes room for `bytes` below `max`; waits for it when told to. False when
    /// there is none.
    pub(crate) fn take_room(&self, bytes: u64, max: u64, wait: bool) -> bool {
        let mut s = self.state.lock();
        loop {
            if s.spool_bytes.saturating_add(bytes) <= max || (wait && s.spool_bytes == 0) {
                s.spool_bytes += bytes;
                return true;
            }
            if !wait || s.deadline.is_some_and(|d| Instant::now() >= d) {
                return false;
            }
            self.changed.wait_for(&mut s, Duration::from_millis(100));
        }
    }

    /// The next batch; `None` when there will be none, or time is up.
    pub(crate) fn pop(&self) -> Option<Waiting> {
        let mut s = self.state.lock();
        loop {
            if s.deadline.is_some_and(|d| Instant::now() >= d) {
                return None;
            }
            if let Some(waiting) = s.pop() {
                return Some(waiting);
            }
            if s.complete {
                return None;
            }
            self.changed.wait_for(&mut s, Duration::from_millis(100));
        }
    }

    /// The next batch, without waiting for one.
    pub(crate) fn try_pop(&self) -> Option<Waiting> {
        self.state.lock().pop()
    }

    /// Gives back the room of a batch: it is in the server, given up, or not in the spool.
    pub(crate) fn done(&self, bytes: u64) {
        let mut s = self.state.lock();
        s.spool_bytes = s.spool_bytes.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Nothing more will be pushed; inserters end at the deadline.
    pub(crate) fn complete(&self, deadline: Option<Instant>) {
        let mut s = self.state.lock();
        s.complete = true;
        s.deadline = deadline;
        self.changed.notify_all();
    }

    /// Sleeps between attempts; false when time is up.
    pub(crate) fn pause(&self, most: Duration) -> bool {
        let until = Instant::now() + most;
        let mut s = self.state.lock();
        loop {
            let now = Instant::now();
            if s.deadline.is_some_and(|d| now >= d) {
                return false;
            }
            if now >= until {
                return true;
            }
            self.changed
                .wait_for(&mut s, (until - now).min(Duration::from_millis(100)));
        }
    }
}
