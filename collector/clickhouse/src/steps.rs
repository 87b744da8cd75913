// SPDX-License-Identifier: Apache-2.0
//! The sink without threads and a clock, for simulations.

use crate::inserter::{Attempt, Inserter, Job};
use crate::writer::{Message, Writer};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Steps of the threads. Times are since the start.
pub struct SinkSteps {
    pub(crate) writer: Writer,
    pub(crate) receiver: Receiver<Message>,
    inserter: Inserter,
    job: Option<Job>,
    opened: Duration,
    /// The next attempt is not made before.
    next: Duration,
}

impl SinkSteps {
    pub(crate) fn new(writer: Writer, receiver: Receiver<Message>, inserter: Inserter) -> Self {
        Self {
            writer,
            receiver,
            inserter,
            job: None,
            opened: Duration::ZERO,
            next: Duration::ZERO,
        }
    }

    /// Rows that are in no batch on the disk yet, of those taken.
    pub fn open_rows(&self) -> u64 {
        self.writer.open_rows()
    }

    /// Takes the rows that wait, and puts batches that are due into the spool.
    pub fn write(&mut self, now: Duration) {
        while let Ok(message) = self.receiver.try_recv() {
            self.writer.take(message);
            self.seal_if_due(now);
        }
        self.seal_if_due(now);
    }

    fn seal_if_due(&mut self, now: Duration) {
        if self.writer.seal_if_due(now.saturating_sub(self.opened)) {
            self.opened = now;
        }
    }

    /// Inserts what waits in the spool, up to an attempt that fails.
    pub fn insert(&mut self, now: Duration) {
        while now >= self.next {
            let waiting = || self.inserter.queue.try_pop().map(Job::new);
            let Some(mut job) = self.job.take().or_else(waiting) else {
                return;
            };
            match self.inserter.attempt(&mut job) {
                Attempt::Done => self.inserter.queue.done(job.bytes()),
                Attempt::Again(pause) => {
                    self.next = now + pause;
                    self.job = Some(job);
                }
            }
        }
    }

    /// Takes what is left of a sink that was closed, and puts it into the spool.
    pub fn end(mut self) {
        while let Ok(message) = self.receiver.try_recv() {
            self.writer.take(message);
        }
        self.writer.seal();
    }
}
