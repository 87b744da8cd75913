// SPDX-License-Identifier: Apache-2.0
//! Groups closed intervals into updates of bounded size: a receiver limits the size of messages,
//! and memory freed in small pieces is reused while it is still in the caches.

use tidemark_proto::telemetry::{FlowInterval, Update};

/// Maximum number of flow records in one update.
const MAX_FLOW_INTERVALS: usize = 4096;
/// Number of link records after which an update ends with its interval.
const MAX_LINK_INTERVALS: usize = 1024;
/// Number of drops after which an update ends with its interval.
const MAX_DROPS: usize = 4096;

/// The update being filled, and the receiver of full updates.
pub(super) struct Batch<'a> {
    pub update: Update,
    out: &'a mut dyn FnMut(Update),
}

impl<'a> Batch<'a> {
    /// Starts with an update that may already hold records.
    pub(super) fn new(gathered: Update, out: &'a mut dyn FnMut(Update)) -> Self {
        Self {
            update: gathered,
            out,
        }
    }

    /// Reserves room for `records` flow records, or for as many as an update holds.
    pub(super) fn reserve(&mut self, records: usize) {
        let flows = &mut self.update.flow_intervals;
        flows.reserve(records.min(MAX_FLOW_INTERVALS.saturating_sub(flows.len())));
    }

    /// Adds a record; `left` more will follow.
    #[inline]
    pub(super) fn push(&mut self, record: FlowInterval, left: usize) {
        self.update.flow_intervals.push(record);
        if self.update.flow_intervals.len() >= MAX_FLOW_INTERVALS {
            self.hand_on();
            self.reserve(left);
        }
    }

    /// Ends an interval: hands on the update if it has become too large.
    pub(super) fn interval_ended(&mut self) {
        let Update {
            link_intervals,
            drops,
            ..
        } = &self.update;
        if link_intervals.len() >= MAX_LINK_INTERVALS || drops.len() >= MAX_DROPS {
            self.hand_on();
        }
    }

    #[cold]
    fn hand_on(&mut self) {
        (self.out)(std::mem::take(&mut self.update));
    }

    /// Hands on the last update.
    pub(super) fn finish(mut self) {
        self.hand_on();
    }

    /// Returns the update filled so far, to be handed on later.
    pub(super) fn into_gathered(self) -> Update {
        self.update
    }
}
