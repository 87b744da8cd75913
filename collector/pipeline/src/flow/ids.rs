// SPDX-License-Identifier: Apache-2.0
//! Ids of flows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Assigns flow ids in the order in which flows are first seen. Parallel pipelines share one
/// counter, so that ids are unique and a newer flow always has a larger id.
#[derive(Clone, Debug)]
pub struct FlowIds(Arc<AtomicU64>);

impl Default for FlowIds {
    /// Starts at 1.
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(1)))
    }
}

impl FlowIds {
    /// Takes the next id.
    pub(crate) fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
