// SPDX-License-Identifier: Apache-2.0
//! Due events in order of time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    Serve(u32),
    Arrive(u32),
    /// The first frame that waits on the line of this port may enter.
    Receive(u32),
    Reinject,
}

/// Time, order of scheduling, event.
type Due = (u64, u64, Event);

#[derive(Debug, Default)]
pub(crate) struct Events {
    later: BinaryHeap<Reverse<Due>>,
    /// Events due as soon as they arise, in order of time: nearly all events, if no port has a
    /// rate or delay.
    immediate: VecDeque<Due>,
    sequence: u64,
}

impl Events {
    pub(crate) fn is_empty(&self) -> bool {
        self.later.is_empty() && self.immediate.is_empty()
    }

    /// Returns the time of the first event.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let later = self.later.peek().map(|Reverse(e)| e);
        let all = later.into_iter().chain(self.immediate.front());
        all.min().map(|(t, _, _)| *t)
    }

    /// Takes the first event that is due at or before `until_ns`.
    #[inline]
    pub(crate) fn next_due(&mut self, until_ns: u64) -> Option<(u64, Event)> {
        let first = self.immediate.front();
        let (t, _, event) = match (first, self.later.peek()) {
            (Some(e), later) if later.is_none_or(|Reverse(l)| e < l) => {
                if e.0 > until_ns {
                    return None;
                }
                self.immediate.pop_front()?
            }
            (_, Some(Reverse(l))) if l.0 <= until_ns => self.later.pop()?.0,
            _ => return None,
        };
        Some((t, event))
    }

    /// Schedules an event; of events at one time, the first scheduled comes first.
    #[inline]
    pub(crate) fn schedule(&mut self, time_ns: u64, now_ns: u64, event: Event) {
        self.sequence += 1;
        let due = (time_ns, self.sequence, event);
        if time_ns <= now_ns && self.immediate.back().is_none_or(|b| *b < due) {
            self.immediate.push_back(due);
        } else {
            self.later.push(Reverse(due));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_order_of_time_then_of_scheduling() {
        let mut e = Events::default();
        for (time, port) in [(5, 1), (3, 2), (5, 3), (0, 4), (3, 5)] {
            e.schedule(time, 3, Event::Serve(port));
        }
        assert_eq!(e.next_ns(), Some(0));
        let mut order = Vec::new();
        while let Some((t, Event::Serve(port))) = e.next_due(4) {
            order.push((t, port));
        }
        assert_eq!(order, [(0, 4), (3, 2), (3, 5)]);
        assert_eq!(e.next_due(4), None);
        assert!(!e.is_empty());
        assert_eq!(e.next_due(5), Some((5, Event::Serve(1))));
        assert_eq!(e.next_due(5), Some((5, Event::Serve(3))));
        assert!(e.is_empty());
        assert_eq!(e.next_ns(), None);
    }
}
