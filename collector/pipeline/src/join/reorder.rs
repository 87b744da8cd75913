// SPDX-License-Identifier: Apache-2.0
//! Reorder buffer: host events are held back briefly, so that the reports of the packets they
//! acknowledge come first, and sorted by their time, because CPUs are read in turn.

use crate::flow::{FlowHint, FlowTable, PackedKey};
use std::collections::VecDeque;

/// How many places an event can move back when it is sorted by its time.
const SORT_DEPTH: usize = 256;

/// Maximum number of events held back. Beyond it, the oldest are released: hosts may push faster
/// than time passes.
pub(crate) const MAX_EVENTS: usize = if cfg!(test) { 512 } else { 1 << 18 };

// 48 MiB.
const _: () = assert!(size_of::<HostEvent>() <= 192);

/// An event of a host that waits for its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostEvent {
    due_rx_ns: u64,
    pub host: u16,
    pub event: tcp_probe::Event,
    /// Probable slot of its flow, if that was looked up ahead.
    pub hint: Option<FlowHint>,
    /// Whether another pipeline has it as well, and counts it.
    pub is_copy: bool,
}

impl HostEvent {
    /// Whether it belongs after `other`, an event of the same host.
    #[inline]
    fn is_after(&self, other: &Self) -> bool {
        self.host == other.host && self.event.time_ns() > other.event.time_ns()
    }

    /// Prefetches what looking up the flow of a sample will need.
    #[inline(always)]
    pub(crate) fn prefetch_index(&self, flows: &FlowTable) {
        if let tcp_probe::Event::Probe(s) = &self.event {
            flows.prefetch_index(PackedKey::of(&s.flow));
        }
    }

    /// Looks up and prefetches the flow of a sample.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self, flows: &FlowTable) {
        if let tcp_probe::Event::Probe(s) = &self.event {
            self.hint = flows.look_ahead(PackedKey::of(&s.flow));
        }
    }

    /// Whether it has been held long enough.
    #[inline]
    pub(crate) fn is_due(&self, now_rx_ns: u64) -> bool {
        self.due_rx_ns <= now_rx_ns
    }
}

/// Events in the order in which they are given to flows.
#[derive(Debug)]
pub(crate) struct ReorderBuffer {
    pub events: VecDeque<HostEvent>,
    hold_ns: u64,
}

impl ReorderBuffer {
    pub(crate) fn new(hold_ns: u64) -> Self {
        Self {
            events: VecDeque::new(),
            hold_ns,
        }
    }

    /// Adds an event that came at `now_rx_ns`.
    #[inline]
    pub(crate) fn push(
        &mut self,
        now_rx_ns: u64,
        host: u16,
        event: tcp_probe::Event,
        is_copy: bool,
    ) {
        let event = HostEvent {
            due_rx_ns: now_rx_ns.saturating_add(self.hold_ns),
            host,
            event,
            hint: None,
            is_copy,
        };
        let sorted = self.events.back().is_none_or(|b| !b.is_after(&event));
        self.events.push_back(event);
        if !sorted {
            self.sort_last();
        }
    }

    /// Moves the last event to its place by time; due times stay ascending.
    #[cold]
    fn sort_last(&mut self) {
        let mut i = self.events.len() - 1;
        let floor = i.saturating_sub(SORT_DEPTH);
        while i > floor && self.events[i - 1].is_after(&self.events[i]) {
            let due = self.events[i].due_rx_ns;
            self.events[i].due_rx_ns = self.events[i - 1].due_rx_ns;
            self.events[i - 1].due_rx_ns = due;
            self.events.swap(i, i - 1);
            i -= 1;
        }
    }

    /// Removes the events held back of a host; returns how many there were.
    pub(crate) fn forget_host(&mut self, host: u16) -> u64 {
        let before = self.events.len();
        self.events.retain(|e| e.host != host);
        (before - self.events.len()) as u64
    }

    /// Whether more events are held back than allowed.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.events.len() > MAX_EVENTS
    }

    /// Whether the oldest event is due.
    #[inline]
    pub(crate) fn is_due(&self, now_rx_ns: u64) -> bool {
        self.events.front().is_some_and(|e| e.is_due(now_rx_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::sample;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a stable sort by time, per host.
        #[test]
        fn events_of_a_host_come_out_in_the_order_of_their_times(
            events in prop::collection::vec((0u16..2, 0u64..50), 1..100),
        ) {
            let mut buffer = ReorderBuffer::new(5);
            for (n, &(host, time_ns)) in events.iter().enumerate() {
                buffer.push(n as u64, host, sample(1, time_ns, n as u32, 0, 10), false);
            }
            let out = std::mem::take(&mut buffer.events);
            prop_assert_eq!(out.len(), events.len());
            let due: Vec<u64> = out.iter().map(|e| e.due_rx_ns).collect();
            prop_assert!(due.is_sorted(), "{:?}", due);
            if events.iter().all(|e| e.0 == 0) {
                let mut times: Vec<u64> = events.iter().map(|e| e.1).collect();
                times.sort_unstable();
                prop_assert_eq!(out.iter().map(|e| e.event.time_ns()).collect::<Vec<_>>(), times);
            }
        }
    }

    #[test]
    fn an_event_is_held_back() {
        let mut buffer = ReorderBuffer::new(20);
        buffer.push(100, 0, sample(1, 7, 0, 0, 10), false);
        buffer.push(101, 0, sample(1, 3, 0, 0, 10), false);
        assert!(!buffer.is_due(119));
        assert!(buffer.is_due(120));
        let times: Vec<u64> = std::mem::take(&mut buffer.events)
            .iter()
            .map(|e| e.event.time_ns())
            .collect();
        assert_eq!(times, [3, 7]);
    }
}
