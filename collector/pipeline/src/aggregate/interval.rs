// SPDX-License-Identifier: Apache-2.0
//! Counters of one node over one interval.

use super::flows::Flows;
use super::link::LinkTotals;
use tidemark_proto::telemetry::Drop;

/// Index of an egress queue among the queues of its node.
pub(super) type LinkIndex = usize;

/// Totals of one node over one interval.
#[derive(Debug, Default)]
pub(super) struct Interval {
    /// Totals by [`LinkIndex`].
    pub links: Vec<Option<Box<LinkTotals>>>,
    pub flows: Flows,
    pub drops: Vec<Drop>,
}

impl Interval {
    /// Totals of an egress queue.
    #[inline]
    pub(super) fn link(&mut self, link: LinkIndex) -> &mut LinkTotals {
        if self.links.len() <= link {
            self.enlarge(link);
        }
        self.links[link].get_or_insert_default()
    }

    /// Whether the interval has packets of an egress queue.
    pub(super) fn has(&self, link: LinkIndex) -> bool {
        let totals = self.links.get(link).and_then(Option::as_deref);
        totals.is_some_and(LinkTotals::has_packets)
    }

    /// Number of packets that left an egress queue.
    pub(super) fn departures(&self, link: LinkIndex) -> u64 {
        let totals = self.links.get(link).and_then(Option::as_deref);
        totals.map_or(0, LinkTotals::departures)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let links = self.links.iter().flatten().map(|l| l.memory_bytes());
        let places = self.links.capacity() * size_of::<Option<Box<LinkTotals>>>();
        let drops = self.drops.capacity() * size_of::<Drop>();
        size_of::<Self>() + links.sum::<usize>() + places + drops + self.flows.memory_bytes()
    }

    #[cold]
    fn enlarge(&mut self, link: LinkIndex) {
        self.links.resize_with(link + 1, || None);
    }
}
