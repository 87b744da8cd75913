// SPDX-License-Identifier: Apache-2.0
//! Initial state for a new subscriber: the known flows and clocks.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use tidemark_proto::telemetry::{ClockMapping, FlowInfo, Update};

/// Flows per message: keeps messages below gRPC's limit of 4 MiB.
pub(super) const FLOWS_PER_MESSAGE: usize = 8192;

/// Flows and clocks learned from updates.
#[derive(Default)]
pub(super) struct Known {
    flows: BTreeMap<u64, FlowInfo>,
    pub clocks: Vec<ClockMapping>,
}

impl Known {
    /// Learns from an update; beyond `max_flows`, the oldest flows are forgotten.
    pub(super) fn learn(&mut self, update: &Update, max_flows: usize) {
        for flow in &update.flows {
            self.flows.insert(flow.flow_id, flow.clone());
        }
        while self.flows.len() > max_flows {
            self.flows.pop_first();
        }
        for clock in &update.clocks {
            let known = self
                .clocks
                .iter_mut()
                .find(|c| c.node_id == clock.node_id && c.host == clock.host);
            match known {
                Some(c) => c.clone_from(clock),
                None => self.clocks.push(clock.clone()),
            }
        }
    }
}

/// Known flows and clocks, shared with the subscribers' [`FirstUpdates`].
pub(super) type Shared = Arc<Mutex<Known>>;

/// First updates of one subscriber, read from the known state as the subscriber takes them: a
/// subscriber that does not read costs nothing. Later flows come in ordinary updates.
pub(super) struct FirstUpdates {
    known: Shared,
    after: Bound<u64>,
    until: u64,
    messages: usize,
    with_clocks: bool,
}

impl FirstUpdates {
    /// Creates the updates for everything known now.
    pub(super) fn new(known: &Shared) -> Self {
        let now = known.lock();
        Self {
            known: Arc::clone(known),
            after: Bound::Unbounded,
            until: now.flows.last_key_value().map_or(0, |(&id, _)| id),
            messages: now.flows.len().div_ceil(FLOWS_PER_MESSAGE).max(1),
            with_clocks: true,
        }
    }
}

impl Iterator for FirstUpdates {
    type Item = Update;

    fn next(&mut self) -> Option<Update> {
        self.messages = self.messages.checked_sub(1)?;
        let known = self.known.lock();
        let flows: Vec<FlowInfo> = match self.after {
            // All flows have been sent; a range may not end before it begins.
            Bound::Excluded(last) if last >= self.until => Vec::new(),
            after => {
                let left = known.flows.range((after, Bound::Included(self.until)));
                let flows = left.map(|(_, flow)| flow.clone());
                flows.take(FLOWS_PER_MESSAGE).collect()
            }
        };
        if let Some(last) = flows.last() {
            self.after = Bound::Excluded(last.flow_id);
        }
        let clocks = match std::mem::take(&mut self.with_clocks) {
            true => known.clocks.clone(),
            false => Vec::new(),
        };
        Some(Update {
            flows,
            clocks,
            ..Update::default()
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.messages, Some(self.messages))
    }
}

impl ExactSizeIterator for FirstUpdates {}
