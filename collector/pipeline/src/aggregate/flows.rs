// SPDX-License-Identifier: Apache-2.0
//! The flows of one interval.
//!
//! An open hash table instead of a map: clearing it keeps its memory, and it is read in order.
//! Justified by the benchmark row "decode, flow, join, intervals"; `agrees_with_plain_counting`
//! checks that it agrees with a map.

use super::batch::Batch;
use super::config::{MAX_OPEN_BYTES, ROWS_PER_LOOK};
use super::flow::{FlowTotals, Rare};
use super::link::Span;
use crate::prefetch::{self, distance};
use crate::rows::{PostcardRow, ProbeRow};

const LEAST: usize = 64;

/// Totals by flow, port and queue, and an open hash table of their places.
#[derive(Debug, Default)]
pub(super) struct Flows {
    totals: Vec<FlowTotals>,
    /// Flow, port and place of the totals, by which the records are sorted.
    order: Vec<(u64, u32, Place)>,
    /// The hash table; its length is a power of two.
    places: Vec<Place>,
    /// Right shift from a hash to an index in `places`: 64 minus log2 of the length.
    shift: u32,
    /// Values that few intervals have, by index in `totals`, which they would make a line longer.
    rare: Vec<Rare>,
}

/// Queue and index in `totals`, ordered by queue first. The queue would make the totals a cache
/// line longer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place(u32);

const PLACE_BITS: u32 = 24;
/// Maximum number of totals. Intervals are handed on before they hold so many.
const MAX_TOTALS: usize = (1 << PLACE_BITS) - 1;
const _: () =
    assert!(MAX_OPEN_BYTES / size_of::<FlowTotals>() + (ROWS_PER_LOOK as usize) < MAX_TOTALS);

impl Place {
    #[inline(always)]
    fn new(queue: u8, index: usize) -> Self {
        Self(u32::from(queue) << PLACE_BITS | (index as u32 + 1))
    }

    #[inline(always)]
    fn is_free(self) -> bool {
        self.0 == 0
    }

    #[inline(always)]
    fn queue(self) -> u8 {
        (self.0 >> PLACE_BITS) as u8
    }

    /// Index in `totals`; beyond its end if the place is free.
    #[inline(always)]
    fn index(self) -> usize {
        (self.0 as usize & MAX_TOTALS).wrapping_sub(1)
    }
}

/// Steps of prefetching for a flow, each a few rows after the one before.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Fetches the place that tells where the flow's totals are.
    Place,
    /// Fetches the totals; the place is in the cache by now.
    Totals,
}

/// Hashes a flow and a port; the upper bits are used. Flow ids are consecutive, and multiplying by
/// the golden ratio spreads them. A flow at several queues of a port, which is rare, has its places
/// side by side.
#[inline]
fn hash(flow_id: u64, port: u32) -> u64 {
    (flow_id ^ u64::from(port) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Flows {
    #[inline]
    fn place(&mut self, flow_id: u64, port: u32, queue: u8) -> usize {
        let mask = self.places.len().wrapping_sub(1);
        let mut at = (hash(flow_id, port) >> (self.shift & 63)) as usize;
        while let Some(&place) = self.places.get(at)
            && !place.is_free()
        {
            let i = place.index();
            let totals = self.totals.get(i).filter(|_| place.queue() == queue);
            if totals.is_some_and(|t| t.is_of(flow_id, port)) {
                return i;
            }
            at = (at + 1) & mask;
        }
        self.add(flow_id, port, queue)
    }

    /// Prefetches what counting a row of a flow will need, step by step.
    #[inline(always)]
    pub(super) fn prefetch(&self, step: Step, flow_id: u64, port: u32) {
        let at = (hash(flow_id, port) >> (self.shift & 63)) as usize;
        let Some(place) = self.places.get(at) else {
            return;
        };
        match step {
            Step::Place => prefetch::start(place),
            Step::Totals => {
                if let Some(totals) = self.totals.get(place.index()) {
                    prefetch::lines(totals, size_of::<FlowTotals>());
                }
            }
        }
    }

    #[cold]
    fn add(&mut self, flow_id: u64, port: u32, queue: u8) -> usize {
        let i = self.totals.len();
        self.totals.push(FlowTotals::new(flow_id, port));
        self.order.push((flow_id, port, Place::new(queue, i)));
        self.rare.push(Rare::default());
        if self.places.len() < 2 * self.totals.len() {
            let length = (self.places.len() * 2).max(LEAST);
            self.places.clear();
            self.places.resize(length, Place::default());
            self.shift = 64 - length.trailing_zeros();
            for i in 0..self.totals.len() {
                self.enter(i);
            }
        } else {
            self.enter(i);
        }
        i
    }

    /// Enters the totals at an index into the table.
    fn enter(&mut self, i: usize) {
        let Some(&(flow_id, port, entered)) = self.order.get(i) else {
            return;
        };
        let mask = self.places.len().wrapping_sub(1);
        let mut at = (hash(flow_id, port) >> (self.shift & 63)) as usize;
        while let Some(place) = self.places.get_mut(at) {
            if place.is_free() {
                *place = entered;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Counts a packet of a flow that left in this tenth of the interval, or was dropped.
    #[inline]
    pub(super) fn packet(&mut self, row: &PostcardRow, tenth: usize) {
        let i = self.place(row.flow_id, row.port, row.queue);
        if let Some(totals) = self.totals.get_mut(i) {
            totals.packet(row, tenth);
        }
        if Rare::is_in(row)
            && let Some(rare) = self.rare.get_mut(i)
        {
            rare.packet(row);
        }
    }

    /// Counts a sample of a flow's sender in this interval.
    #[inline]
    pub(super) fn sample(&mut self, row: &ProbeRow) {
        let i = self.place(row.flow_id, row.port, row.queue);
        if let Some(totals) = self.totals.get_mut(i) {
            totals.sample(row);
        }
    }

    /// Memory in bytes, including the memory kept for future flows.
    pub(super) fn memory_bytes(&self) -> usize {
        let of_flow = size_of::<FlowTotals>() + size_of::<(u64, u32, Place)>() + size_of::<Rare>();
        self.totals.capacity() * of_flow + self.places.len() * size_of::<Place>()
    }

    /// Number of flows so far.
    pub(super) fn len(&self) -> usize {
        self.totals.len()
    }

    /// Hands on and removes the records, in the order of flows, ports and queues; the memory is
    /// kept.
    pub(super) fn drain(&mut self, node_id: u32, span: Span, to: &mut Batch<'_>) {
        to.reserve(self.totals.len());
        self.order.sort_unstable();
        for (at, &(_, _, place)) in self.order.iter().enumerate() {
            if let Some(&(_, _, ahead)) = self.order.get(at + distance::DRAINED_FLOWS)
                && let Some(totals) = self.totals.get(ahead.index())
            {
                prefetch::lines(totals, size_of::<FlowTotals>());
            }
            let i = place.index();
            if let (Some(totals), Some(rare)) = (self.totals.get(i), self.rare.get(i)) {
                let record = totals.record(*rare, node_id, place.queue(), span);
                to.push(record, self.order.len() - at - 1);
            }
        }
        self.totals.clear();
        self.order.clear();
        self.rare.clear();
        self.places.fill(Place::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp_flags::SYN;
    use tidemark_proto::telemetry::{FlowInterval, Update};

    /// The records of an interval, in order.
    fn drained(f: &mut Flows) -> Vec<FlowInterval> {
        let mut updates = Vec::new();
        let mut hand_on = |update| updates.push(update);
        let mut batch = Batch::new(Update::default(), &mut hand_on);
        let span = Span {
            start_ns: 100,
            duration_ns: 50,
        };
        f.drain(9, span, &mut batch);
        batch.finish();
        let updates = updates.into_iter();
        updates.flat_map(|u: Update| u.flow_intervals).collect()
    }

    #[test]
    fn the_shortest_feedback_time_of_an_interval() {
        let mut f = Flows::default();
        for (flow_id, feedback_rtt_us) in [(1, 0), (1, 25_000), (2, 0), (1, 21_000), (1, 0)] {
            let row = PostcardRow {
                flow_id,
                feedback_rtt_us,
                ..PostcardRow::default()
            };
            f.packet(&row, 0);
        }
        let records = drained(&mut f);
        let told: Vec<u32> = records.iter().map(|r| r.feedback_rtt_us).collect();
        assert_eq!(told, [21_000, 0]);
    }

    #[test]
    fn records_are_in_order_and_complete() {
        let mut f = Flows::default();
        for round in 0..2 {
            for n in 0..3000u64 {
                let row = PostcardRow {
                    flow_id: 1 + n * 7 % 500,
                    port: (n % 3) as u32,
                    ip_bytes: 10,
                    tcp_flags: if n == 1234 { SYN } else { 0 },
                    ..PostcardRow::default()
                };
                f.packet(&row, (n % 10) as usize);
            }
            let out = drained(&mut f);
            assert_eq!(out.len(), 1500, "{round}");
            assert!(out.is_sorted_by_key(|r| (r.flow_id, r.port)));
            assert!(out.iter().all(|r| r.packets == 2 && r.ip_bytes == 20));
            let syn: Vec<_> = out.iter().filter(|r| r.syn).collect();
            assert_eq!(syn.len(), 1);
            assert_eq!((syn[0].flow_id, syn[0].port), (1 + 1234 * 7 % 500, 1));
        }
    }
}
