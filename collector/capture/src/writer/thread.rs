// SPDX-License-Identifier: Apache-2.0
//! The writer's thread, which runs the steps in real time.

use super::steps::WriterSteps;
use crate::error::CaptureError;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

/// Runs until the sender is gone.
pub(super) fn run(mut steps: WriterSteps) -> Result<(), CaptureError> {
    let started = Instant::now();
    loop {
        let left = steps.tables.left(started.elapsed());
        match steps.receiver.recv_timeout(left) {
            Ok(message) => steps.tables.take(message, started.elapsed())?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return steps.end(started.elapsed()),
        }
        steps.tables.rotate_if_due(started.elapsed())?;
    }
}
