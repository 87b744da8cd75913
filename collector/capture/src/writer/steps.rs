// SPDX-License-Identifier: Apache-2.0
//! The work of the writer's thread in steps, for simulations without a thread or a clock.

use super::tables::{Message, Tables};
use crate::error::CaptureError;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// The writer thread's work in steps. Times are since the start.
pub struct WriterSteps {
    pub(super) tables: Tables,
    pub(super) receiver: Receiver<Message>,
}

impl WriterSteps {
    /// Takes the queued messages and completes files that are due.
    ///
    /// # Errors
    /// The error that stopped the writer, if it does not go on.
    pub fn step(&mut self, now: Duration) -> Result<(), CaptureError> {
        while let Ok(message) = self.receiver.try_recv() {
            self.tables.take(message, now)?;
            self.tables.rotate_if_due(now)?;
        }
        self.tables.rotate_if_due(now)
    }

    /// Takes the remaining messages of a [closed](super::CaptureWriter::close) writer
    /// and completes all files.
    ///
    /// # Errors
    /// Rows could not be written.
    pub fn end(mut self, now: Duration) -> Result<(), CaptureError> {
        while let Ok(message) = self.receiver.try_recv() {
            self.tables.take(message, now)?;
        }
        self.tables.end(now)
    }
}
