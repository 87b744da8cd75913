// SPDX-License-Identifier: Apache-2.0
//! The thread that writes, by real time.

use super::message::Message;
use super::tables::Tables;
use crate::error::CaptureError;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

/// Works until nobody sends any more.
pub(super) fn run(mut tables: Tables, receiver: &Receiver<Message>) -> Result<(), CaptureError> {
    let started = Instant::now();
    loop {
        match receiver.recv_timeout(tables.left(started.elapsed())) {
            Ok(message) => tables.take(message, started.elapsed())?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        tables.rotate_if_due(started.elapsed())?;
    }
    tables.end(started.elapsed())
}
