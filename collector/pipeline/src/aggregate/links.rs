// SPDX-License-Identifier: Apache-2.0
//! The egress queues of one node.

use super::interval::{Interval, LinkIndex};
use super::link::{LinkKey, LinkState, Span};
use rustc_hash::FxHashMap;
use tidemark_proto::telemetry::LinkInterval;

/// Egress queues per node.
const MAX_LINKS: usize = 4096;

/// Port and queue of an egress queue.
pub(super) type PortQueue = (u32, u8);

/// What is carried from interval to interval for each egress queue.
#[derive(Debug, Default)]
pub(super) struct Links {
    states: Vec<(PortQueue, LinkState)>,
    index: FxHashMap<PortQueue, LinkIndex>,
    /// In the order of ports and queues.
    sorted: Vec<LinkIndex>,
    /// The queue looked up last: packets of a queue come in runs.
    last: Option<(PortQueue, LinkIndex)>,
}

impl Links {
    /// Index of an egress queue; `None` when there are too many.
    #[inline]
    pub(super) fn index(&mut self, key: PortQueue) -> Option<LinkIndex> {
        if let Some((last_key, last)) = self.last
            && last_key == key
        {
            return Some(last);
        }
        self.find(key)
    }

    #[inline(never)]
    fn find(&mut self, key: PortQueue) -> Option<LinkIndex> {
        let i = match self.index.get(&key) {
            Some(&i) => i,
            None if self.states.len() >= MAX_LINKS => return None,
            None => self.add(key),
        };
        self.last = Some((key, i));
        Some(i)
    }

    fn add(&mut self, key: PortQueue) -> LinkIndex {
        let i = self.states.len();
        self.states.push((key, LinkState::default()));
        self.index.insert(key, i);
        self.sorted.push(i);
        let states = &self.states;
        self.sorted.sort_unstable_by_key(|&i| states[i].0);
        i
    }

    /// The node's clock restarted.
    pub(super) fn restart(&mut self) {
        for (_, state) in &mut self.states {
            state.restart();
        }
    }

    /// Adds the record of every queue for an interval, in the order of ports and
    /// queues.
    pub(super) fn records(
        &mut self,
        node_id: u32,
        span: Span,
        interval: &mut Interval,
        to: &mut Vec<LinkInterval>,
    ) {
        for &i in &self.sorted {
            let Some(((port, queue), state)) = self.states.get_mut(i) else {
                continue;
            };
            let totals = interval.links.get_mut(i).and_then(Option::as_deref_mut);
            let key = LinkKey {
                node_id,
                port: *port,
                queue: *queue,
            };
            to.push(state.record(totals, key, span));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_bounded_and_reported_in_order() {
        let mut links = Links::default();
        let last = MAX_LINKS as u32 - 1;
        for port in std::iter::once(last).chain(0..last) {
            assert!(links.index((port, 0)).is_some());
        }
        assert_eq!(links.index((99_999, 0)), None);
        assert_eq!(links.index((5, 0)), links.index((5, 0)));
        let mut records = Vec::new();
        let span = Span {
            start_ns: 10,
            duration_ns: 10,
        };
        links.records(1, span, &mut Interval::default(), &mut records);
        assert_eq!(records.len(), MAX_LINKS);
        assert!(records.is_sorted_by_key(|r| r.port));
    }
}
