// SPDX-License-Identifier: Apache-2.0
//! The work of the writer's thread, which simulations do without a thread and a clock.

use super::tables::{Message, Tables};
use crate::error::CaptureError;
use std::sync::mpsc::Receiver;
use std::time::Duration;

/// Steps of the writing thread. Times are since the start.
pub struct WriterSteps {
    pub(super) tables: Tables,
    pub(super) receiver: Receiver<Message>,
}

impl WriterSteps {
    /// Takes what waits, and completes files that are due.
    ///
    /// # Errors
    /// The error that stops the writer, where it does not go on.
    pub fn step(&mut self, now: Duration) -> Result<(), CaptureError> {
        while let Ok(message) = self.receiver.try_recv() {
            self.tables.take(message, now)?;
            self.tables.rotate_if_due(now)?;
        }
        self.tables.rotate_if_due(now)
    }

    /// Takes what is left of a writer that was [closed](super::CaptureWriter::close),
    /// and completes all files.
    ///
    /// # Errors
    /// Rows that could not be written.
    pub fn end(mut self, now: Duration) -> Result<(), CaptureError> {
        while let Ok(message) = self.receiver.try_recv() {
            self.tables.take(message, now)?;
        }
        self.tables.end(now)
    }
}
