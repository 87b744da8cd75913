// SPDX-License-Identifier: Apache-2.0
//! Counters of a listener, for any transport.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::truth::ListenerTruth;

/// Counters of one listener, shared with its connections.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    connections: AtomicU64,
    bytes: AtomicU64,
    errors: AtomicU64,
}

impl Counters {
    pub(crate) fn connected(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.errors.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the counters for the truth.
    pub(crate) fn truth(&self, address: String) -> ListenerTruth {
        ListenerTruth {
            address,
            connections: self.connections.load(Ordering::Relaxed),
            bytes_received: self.bytes.load(Ordering::Relaxed),
            errors: self.errors.load(Ordering::Relaxed),
        }
    }
}
