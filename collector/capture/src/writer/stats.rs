// SPDX-License-Identifier: Apache-2.0
//! Counters of a writer.

use crate::error::CaptureError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Shared {
    written: AtomicU64,
    lost: AtomicU64,
    /// Why rows are being lost now.
    failure: Mutex<Option<String>>,
}

/// Handle to a writer's counters, readable from other threads.
#[derive(Clone, Debug, Default)]
pub struct WriterStats(Arc<Shared>);

impl WriterStats {
    /// Number of rows in complete files on disk.
    pub fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Number of rows that found the queue full or could not be written.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Returns why nothing can be written at present; `None` if writing works.
    pub fn failure(&self) -> Option<String> {
        self.0.failure.lock().ok().and_then(|f| f.clone())
    }

    pub(super) fn add_written(&self, rows: u64) {
        self.0.written.fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn add_lost(&self, rows: u64) {
        self.0.lost.fetch_add(rows, Ordering::Relaxed);
    }

    pub(super) fn fail(&self, error: &CaptureError) {
        let Ok(mut failure) = self.0.failure.lock() else {
            return;
        };
        if failure.is_none() {
            tracing::error!("the capture cannot be written: {error}");
        }
        *failure = Some(error.to_string());
    }

    /// Records that a file was completed, which clears a failure.
    pub(super) fn works(&self) {
        let Ok(mut failure) = self.0.failure.lock() else {
            return;
        };
        if failure.take().is_some() {
            let lost = self.lost();
            tracing::warn!(lost, "the capture is written again, but lacks rows");
        }
    }
}
