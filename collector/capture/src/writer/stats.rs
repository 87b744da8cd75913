// SPDX-License-Identifier: Apache-2.0
//! Counters of a writer.

use crate::error::CaptureError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Shared {
    written: AtomicU64,
    lost: AtomicU64,
    failure: Mutex<Option<String>>,
}

/// Counters of a writer, readable from other threads.
#[derive(Clone, Debug, Default)]
pub struct WriterStats(Arc<Shared>);

impl WriterStats {
    /// Rows given to Parquet.
    pub fn written(&self) -> u64 {
        self.0.written.load(Ordering::Relaxed)
    }

    /// Rows that found the queue full or the writer stopped.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    /// Why the writer stopped, if it did.
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
        tracing::error!("capture stopped: {error}");
        if let Ok(mut f) = self.0.failure.lock() {
            f.get_or_insert_with(|| error.to_string());
        }
    }
}
