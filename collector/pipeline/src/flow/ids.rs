// SPDX-License-Identifier: Apache-2.0
//! Numbers of flows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Gives flows their numbers, in the order in which they are seen. Parallel pipelines share one, so
/// that no two give the same number and a larger one is always that of a younger flow.
#[derive(Clone, Debug)]
pub struct FlowIds(Arc<AtomicU64>);

impl Default for FlowIds {
    /// From 1 on.
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(1)))
    }
}

impl FlowIds {
    /// The next number.
    pub(crate) fn take(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}
