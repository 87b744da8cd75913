// SPDX-License-Identifier: Apache-2.0
//! The sink without threads or a clock, for simulations.

use crate::inserter::{Attempt, Inserter, Job};
use crate::writer::{Message, Writer};
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The threads' work in steps. Times are since the start.
pub struct SinkSteps {
    pub(crate) writer: Writer,
    pub(crate) receiver: Receiver<Message>,
    inserter: Inserter,
    job: Option<Job>,
    opened: Duration,
    /// Earliest time of the next attempt.
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

    /// Number of rows taken by the writer that are not yet in a batch on the disk.
    pub fn open_rows(&self) -> u64 {
        self.writer.open_rows()
    }

    /// Takes the queued rows and puts due batches into the spool.
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

    /// Inserts batches from the spool until an attempt fails or none is left.
    pub fn insert(&mut self, now: Duration) {
        while now >= self.next {
            let waiting = || self.inserter.queue.try_pop().map(Job::new);
            let Some(mut job) = self.job.take().or_else(waiting) else {
                return;
            };
            match self.inserter.attempt(&mut job) {
                Attempt::Done => {}
                Attempt::Again(pause) => {
                    self.next = now + pause;
                    self.job = Some(job);
                }
            }
        }
    }

    /// Takes the remaining rows of a closed sink and puts them into the spool.
    pub fn end(mut self) {
        while let Ok(message) = self.receiver.try_recv() {
            self.writer.take(message);
        }
        self.writer.seal();
    }
}
