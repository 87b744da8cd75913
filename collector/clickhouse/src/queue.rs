// SPDX-License-Identifier: Apache-2.0
//! Queue of batches between the writer and the inserters.

use crate::spool::Spooled;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Most bytes of bodies that are kept in memory as well as in the spool, so that nothing is read
/// back while the server keeps up.
const MEMORY_BYTES: u64 = 64 << 20;

/// A batch to insert; if it has no body, the body is read from its file.
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
    /// Whether no more batches will be pushed.
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
    /// Appends a batch left by an earlier start.
    pub(crate) fn push_left(&self, batch: Spooled) {
        self.state.lock().spool_bytes += batch.bytes;
        self.push(batch, None);
    }

    /// Appends a batch whose room was taken by [`Self::take_room`].
    pub(crate) fn push(&self, batch: Spooled, body: Option<Vec<u8>>) {
        let mut s = self.state.lock();
        let body = body.filter(|b| s.memory_bytes + b.len() as u64 <= MEMORY_BYTES);
        s.memory_bytes += body.as_ref().map_or(0, |b| b.len() as u64);
        s.waiting.push_back(Waiting { batch, body });
        self.changed.notify_all();
    }

    /// Reserves `bytes` of the spool's `max`; waits for room if `wait`. Returns whether
    /// there was room.
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

    /// Waits for the next batch; `None` if there will be none or the deadline has passed.
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

    /// Returns the next batch without waiting.
    pub(crate) fn try_pop(&self) -> Option<Waiting> {
        self.state.lock().pop()
    }

    /// Releases the room of a batch that is stored, given up, or not in the spool.
    pub(crate) fn done(&self, bytes: u64) {
        let mut s = self.state.lock();
        s.spool_bytes = s.spool_bytes.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Marks the queue as complete: no more batches come. Inserters end at the deadline.
    pub(crate) fn complete(&self, deadline: Option<Instant>) {
        let mut s = self.state.lock();
        s.complete = true;
        s.deadline = deadline;
        self.changed.notify_all();
    }

    /// Sleeps between attempts; returns false if the deadline has passed.
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
