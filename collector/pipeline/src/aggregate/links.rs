// SPDX-License-Identifier: Apache-2.0
//! The egress queues of one node.

use super::allowance::DelayAllowance;
use super::interval::{Interval, LinkIndex};
use super::link::{LinkState, PortQueue, Span};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use tidemark_proto::telemetry::LinkInterval;

/// Maximum number of egress queues per node that the configuration does not name.
const MAX_UNNAMED: usize = 256;

/// Maximum number of egress queues that count as named, of a port that the configuration names.
const MAX_NAMED: usize = 8;

/// Longest queueing delay that is waited for at a queue that the configuration does not name, if it
/// names others: a forged port must not delay the real ones. Later rows are counted (`rows_late`).
const MAX_UNNAMED_DELAY_NS: u64 = 100_000_000;

/// State carried from interval to interval for each egress queue.
#[derive(Debug, Default)]
pub(super) struct Links {
    named_ports: BTreeSet<u32>,
    /// `None` if the queue was forgotten; the place is reused.
    states: Vec<Option<(PortQueue, LinkState)>>,
    index: FxHashMap<PortQueue, LinkIndex>,
    /// Indexes in the order of ports and queues.
    sorted: Vec<LinkIndex>,
    unnamed: usize,
    /// The queue looked up last: packets of a queue come in runs.
    last: Option<(PortQueue, LinkIndex)>,
}

impl Links {
    pub(super) fn new(named_ports: BTreeSet<u32>) -> Self {
        Self {
            named_ports,
            ..Self::default()
        }
    }

    /// Returns the index of an egress queue; `None` if there are too many.
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
            None => self.add(key)?,
        };
        self.last = Some((key, i));
        Some(i)
    }

    fn add(&mut self, key: PortQueue) -> Option<LinkIndex> {
        let named = self.named_ports.contains(&key.0) && {
            let states = self.states.iter().flatten();
            states.filter(|(k, s)| k.0 == key.0 && s.named).count() < MAX_NAMED
        };
        if !named {
            if self.unnamed >= MAX_UNNAMED {
                return None;
            }
            self.unnamed += 1;
        }
        let new = Some((key, LinkState::new(named)));
        let i = match self.states.iter().position(Option::is_none) {
            Some(free) => {
                self.states[free] = new;
                free
            }
            None => {
                self.states.push(new);
                self.states.len() - 1
            }
        };
        self.index.insert(key, i);
        let states = &self.states;
        let place = |&i: &LinkIndex| states[i].as_ref().map(|(key, _)| *key);
        let at = self.sorted.partition_point(|i| place(i) < Some(key));
        self.sorted.insert(at, i);
        Some(i)
    }

    /// Returns the recent delay of an egress queue.
    #[inline]
    pub(super) fn delay_mut(&mut self, link: LinkIndex) -> Option<&mut DelayAllowance> {
        let (_, state) = self.states.get_mut(link)?.as_mut()?;
        Some(&mut state.delay)
    }

    /// Returns the longest delay that is waited for at any egress queue, ns.
    pub(super) fn longest_delay_ns(&self) -> u64 {
        let believed_ns = |(_, state): &(PortQueue, LinkState)| {
            let longest_ns = state.delay.longest_ns();
            if self.named_ports.is_empty() || state.named {
                longest_ns
            } else {
                longest_ns.min(MAX_UNNAMED_DELAY_NS)
            }
        };
        let states = self.states.iter().flatten();
        states.map(believed_ns).max().unwrap_or(0)
    }

    /// Resets the queues after the node's clock restarted.
    pub(super) fn restart(&mut self) {
        for (_, state) in self.states.iter_mut().flatten() {
            state.restart();
        }
    }

    /// Adds the records of an interval, in the order of ports and queues: of every queue that has
    /// been seen, except unnamed queues that have been quiet for a second. Forged queues cost
    /// nothing more.
    pub(super) fn records(
        &mut self,
        node_id: u32,
        span: Span,
        interval: &mut Interval,
        to: &mut Vec<LinkInterval>,
    ) {
        for &i in &self.sorted {
            let Some(Some((key, state))) = self.states.get_mut(i) else {
                continue;
            };
            if !state.named && state.is_quiet(span.start_ns) && !interval.has(i) {
                continue;
            }
            let totals = interval.links.get_mut(i).and_then(Option::as_deref_mut);
            to.push(state.record(totals, node_id, *key, span));
        }
    }

    /// Forgets delays, and queues that the configuration does not name, that are old at `time_ns`.
    /// `open` tells whether an open interval has packets of a queue.
    pub(super) fn forget(&mut self, time_ns: u64, open: impl Fn(LinkIndex) -> bool) {
        for i in 0..self.states.len() {
            let Some(Some((key, state))) = self.states.get_mut(i) else {
                continue;
            };
            state.delay.forget(time_ns);
            let key = *key;
            if state.named || !state.is_silent(time_ns) || open(i) {
                continue;
            }
            self.states[i] = None;
            self.index.remove(&key);
            self.sorted.retain(|&link| link != i);
            self.unnamed -= 1;
            self.last = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::PostcardRow;

    const S: u64 = 1_000_000_000;

    fn records(links: &mut Links, second: u64, interval: &mut Interval) -> Vec<LinkInterval> {
        let mut records = Vec::new();
        let span = Span {
            start_ns: second * S,
            duration_ns: S,
        };
        links.records(1, span, interval, &mut records);
        records
    }

    #[test]
    fn unnamed_links_are_bounded_and_named_ones_have_their_places() {
        let mut links = Links::new([7].into());
        let unnamed = 10_000..10_000 + MAX_UNNAMED as u32;
        for port in unnamed.rev() {
            assert!(links.index((port, 0)).is_some());
        }
        assert_eq!(links.index((99_999, 0)), None);
        assert!(links.index((7, 0)).is_some());
        assert!(links.index((7, 3)).is_some());
        assert_eq!(links.index((7, 3)), links.index((7, 3)));
        let mut interval = Interval::default();
        let empty = records(&mut links, 1, &mut interval);
        assert_eq!(empty.len(), MAX_UNNAMED + 2);
        let third = links.index((7, 3)).unwrap();
        interval.link(third).arrival(&PostcardRow::default());
        let of_port = |records: &[LinkInterval]| -> Vec<u32> {
            let of_port = records.iter().filter(|r| r.port == 7);
            of_port.map(|r| r.queue).collect()
        };
        // One queue is not silent because another one is busy.
        assert_eq!(of_port(&empty), [0, 3]);
        let with_packets = records(&mut links, 2, &mut interval);
        assert_eq!(of_port(&with_packets), [0, 3]);
        let records = records(&mut links, 3, &mut interval);
        assert_eq!(of_port(&records), [0, 3]);
        assert!(records.is_sorted_by_key(|r| (r.port, r.queue)));
    }

    #[test]
    fn queues_of_a_named_port_are_bounded() {
        let mut links = Links::new([7].into());
        for queue in 0..=255 {
            assert!(links.index((7, queue)).is_some());
        }
        let mut interval = Interval::default();
        assert_eq!(records(&mut links, 1, &mut interval).len(), 256);
        links.forget(12 * S, |_| false);
        let left = records(&mut links, 13, &mut interval);
        assert_eq!(left.len(), MAX_NAMED);
        assert_eq!(links.unnamed, 0);
    }

    /// Has every packet of a queue wait for `delay_ns`, until that is believed.
    fn wait(links: &mut Links, key: PortQueue, delay_ns: u64) {
        let link = links.index(key).unwrap();
        let delay = links.delay_mut(link).unwrap();
        for interval in 1..=40 {
            delay.longer(delay_ns, interval);
            delay.judge(interval, 1, S);
        }
        assert_eq!(delay.longest_ns(), delay_ns);
    }

    #[test]
    fn a_made_up_port_holds_up_no_named_one() {
        let mut links = Links::new([7].into());
        wait(&mut links, (8, 0), 9 * S);
        assert_eq!(links.longest_delay_ns(), MAX_UNNAMED_DELAY_NS);
        wait(&mut links, (7, 0), 3 * S);
        assert_eq!(links.longest_delay_ns(), 3 * S);
        // If no port is named, all are treated alike.
        let mut links = Links::new(BTreeSet::new());
        wait(&mut links, (8, 0), 9 * S);
        assert_eq!(links.longest_delay_ns(), 9 * S);
    }

    #[test]
    fn silent_links_are_forgotten_unless_they_are_named() {
        let mut links = Links::new([7].into());
        let (named, stranger) = (links.index((7, 0)).unwrap(), links.index((8, 0)).unwrap());
        let mut interval = Interval::default();
        for i in [named, stranger] {
            interval.link(i).arrival(&PostcardRow::default());
        }
        assert_eq!(records(&mut links, 1, &mut interval).len(), 2);
        for second in 2..12 {
            links.forget(second * S, |_| false);
            // The stranger's last packet was in second 1.
            let expected = if second < 4 { 2 } else { 1 };
            let records = records(&mut links, second, &mut interval);
            assert_eq!(records.len(), expected, "{second}");
        }
        links.forget(13 * S, |i| i == stranger);
        interval.link(stranger).arrival(&PostcardRow::default());
        let known_still = records(&mut links, 13, &mut interval);
        assert_eq!(known_still.len(), 2);
        assert_eq!(known_still[1].first_start_ns, S);
        links.forget(24 * S, |_| true);
        assert_eq!(records(&mut links, 24, &mut interval).len(), 1);
        links.forget(25 * S, |_| false);
        assert_eq!(records(&mut links, 25, &mut interval).len(), 1);
        // Its place is used again, and its count starts again.
        assert_eq!(links.index((9, 0)), Some(stranger));
        let again = links.index((8, 0)).unwrap();
        interval.link(again).arrival(&PostcardRow::default());
        let records = records(&mut links, 30, &mut interval);
        let first = records.iter().find(|r| r.port == 8).unwrap().first_start_ns;
        assert_eq!(first, 30 * S);
    }
}
