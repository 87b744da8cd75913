// SPDX-License-Identifier: Apache-2.0
//! All flows, bounded in number.

use crate::flow::Flow;
use crate::index::{Index, Packed};
use crate::prefetch;
use int_report::FlowKey;

/// How many flows are looked at to find one to evict.
const SCAN: usize = 64;

/// The part of a flow that each packet and sample needs.
const FETCHED_BYTES: usize = 384;

/// A slot that is probably the flow's.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    pub slot: u32,
    key: Packed,
}

/// Flows by five-tuple. When full, the longest idle of the next few goes.
#[derive(Debug)]
pub struct FlowTable {
    index: Index,
    slots: Vec<Flow>,
    max: usize,
    hand: usize,
    next_id: u64,
    evicted: u64,
}

impl FlowTable {
    pub fn new(max: usize) -> Self {
        Self {
            index: Index::default(),
            slots: Vec::new(),
            max: max.max(1),
            hand: 0,
            next_id: 1,
            evicted: 0,
        }
    }

    pub fn active(&self) -> usize {
        self.slots.len()
    }

    /// Flows pushed out because the table was full.
    pub fn evicted(&self) -> u64 {
        self.evicted
    }

    #[inline]
    pub fn find(&self, key: &FlowKey) -> Option<u32> {
        self.index.find(Packed::of(key), |slot| {
            self.slots.get(slot as usize).is_some_and(|f| f.key == *key)
        })
    }

    /// Finds a flow ahead of its use and has it brought near. Whether it is the
    /// one sought is not looked at yet.
    #[inline]
    pub fn find_ahead(&self, key: Packed) -> Option<Found> {
        let slot = self.index.find(key, |_| true)?;
        self.prefetch(slot);
        Some(Found { slot, key })
    }

    /// The slot of a flow found before, if it is its.
    #[inline]
    pub fn still(&self, found: Option<Found>) -> Option<u32> {
        let found = found?;
        let flow = self.slots.get(found.slot as usize)?;
        (flow.packed == found.key && found.key.is_whole()).then_some(found.slot)
    }

    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Flow> {
        self.slots.get(slot as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Flow> {
        self.slots.get_mut(slot as usize)
    }

    /// Has a flow brought near to the core while something else is done: the
    /// part that packets and samples need.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Some(flow) = self.slots.get(slot as usize) {
            prefetch::lines(flow, FETCHED_BYTES);
        }
    }

    /// The same for what a flow's packets are added to.
    #[inline]
    pub fn prefetch_packets(&self, slot: u32) {
        if let Some(point) = self.slots.get(slot as usize).and_then(|f| f.points.first()) {
            point.prefetch_ends();
        }
    }

    /// The same for the packets that a flow's next sample tells of.
    #[inline]
    pub fn prefetch_oldest(&self, slot: u32) {
        if let Some(flow) = self.slots.get(slot as usize) {
            flow.prefetch_samples();
            if let Some(point) = flow.points.first() {
                point.prefetch_fronts();
            }
        }
    }

    /// Slot of a new flow.
    pub fn insert(&mut self, key: FlowKey, rx_ns: u64, node: u16, time_ns: u64) -> u32 {
        let flow = Flow::new(key, self.next_id, rx_ns, node, time_ns);
        self.next_id += 1;
        let slot = if self.slots.len() < self.max {
            self.slots.push(flow);
            self.slots.len() - 1
        } else {
            let victim = self.victim();
            self.evicted += 1;
            let old = std::mem::replace(&mut self.slots[victim], flow);
            self.index.remove(old.packed, victim as u32);
            victim
        };
        self.index.insert(Packed::of(&key), slot as u32);
        slot as u32
    }

    /// Puts a new flow of the same five-tuple in the place of an ended one.
    pub fn renew(&mut self, slot: u32, rx_ns: u64, node: u16, time_ns: u64) {
        let id = self.next_id;
        if let Some(flow) = self.get_mut(slot) {
            *flow = Flow::new(flow.key, id, rx_ns, node, time_ns);
            self.next_id += 1;
        }
    }

    fn victim(&mut self) -> usize {
        let mut best = self.hand % self.slots.len();
        for step in 0..SCAN.min(self.slots.len()) {
            let i = (self.hand + step) % self.slots.len();
            if self.slots[i].last_rx_ns < self.slots[best].last_rx_ns {
                best = i;
            }
        }
        self.hand = (self.hand + SCAN) % self.slots.len();
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(port: u16) -> FlowKey {
        FlowKey {
            src: "10.0.0.1".parse().unwrap(),
            dst: "10.0.0.2".parse().unwrap(),
            src_port: port,
            dst_port: 2,
            protocol: 6,
        }
    }

    #[test]
    fn addresses_of_both_kinds_are_kept_apart() {
        let mut t = FlowTable::new(16);
        let v4 = key(1);
        let mapped = FlowKey {
            src: "::ffff:10.0.0.1".parse().unwrap(),
            dst: "::ffff:10.0.0.2".parse().unwrap(),
            ..v4
        };
        let a = t.insert(v4, 0, 0, 0);
        assert!(t.find(&mapped).is_none());
        let b = t.insert(mapped, 0, 0, 0);
        assert_eq!((t.find(&v4), t.find(&mapped)), (Some(a), Some(b)));
        assert!(t.find(&v4.reversed()).is_none());
    }

    #[test]
    fn the_idle_flow_goes_first() {
        let mut t = FlowTable::new(16);
        for i in 0..16 {
            let s = t.insert(key(i), 100 + u64::from(i), 0, 0);
            t.get_mut(s).unwrap().last_rx_ns = if i == 7 { 1 } else { 200 };
        }
        t.insert(key(100), 300, 0, 0);
        assert_eq!((t.active(), t.evicted()), (16, 1));
        assert!(t.find(&key(7)).is_none());
        assert!(t.find(&key(8)).is_some());
        assert_eq!(t.get(t.find(&key(100)).unwrap()).unwrap().id, 17);
    }
}
