// SPDX-License-Identifier: Apache-2.0
//! Closed intervals leave in updates of bounded size: a receiver takes messages
//! up to a limit, and memory that is given back in small pieces is used again
//! while it is still in the caches.

use tidemark_proto::telemetry::{FlowInterval, Update};

/// Records of flows in one update.
const MAX_FLOW_INTERVALS: usize = 4096;
/// Records of links after which an update ends with its interval.
const MAX_LINK_INTERVALS: usize = 1024;
/// Drops after which an update ends with its interval.
const MAX_DROPS: usize = 4096;

/// The update that is being filled, and where full ones go.
pub(super) struct Batch<'a> {
    pub update: Update,
    out: &'a mut dyn FnMut(Update),
}

impl<'a> Batch<'a> {
    /// Begins with what was gathered before.
    pub(super) fn new(gathered: Update, out: &'a mut dyn FnMut(Update)) -> Self {
        Self {
            update: gathered,
            out,
        }
    }

    /// Makes room for so many records of flows, or for as many as an update holds.
    pub(super) fn reserve(&mut self, records: usize) {
        let flows = &mut self.update.flow_intervals;
        flows.reserve(records.min(MAX_FLOW_INTERVALS.saturating_sub(flows.len())));
    }

    /// Adds a record; `left`: how many will follow.
    #[inline]
    pub(super) fn push(&mut self, record: FlowInterval, left: usize) {
        self.update.flow_intervals.push(record);
        if self.update.flow_intervals.len() >= MAX_FLOW_INTERVALS {
            self.hand_on();
            self.reserve(left);
        }
    }

    /// An interval is complete: hands on what it made too large.
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

    /// Hands on what is left.
    pub(super) fn finish(mut self) {
        self.hand_on();
    }

    /// The update gathered so far, to be handed on another time.
    pub(super) fn into_gathered(self) -> Update {
        self.update
    }
}
