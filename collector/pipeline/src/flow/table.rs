// SPDX-License-Identifier: Apache-2.0
//! All flows, bounded in number.
//!
//! A flow may be looked up and prefetched ahead of its turn. The plain form is [`FlowTable::find`]
//! at its turn; `pipeline/fast_path_tests.rs` checks that the two agree (`together_or_one_by_one`).
//! Justified by the benchmark rows "decode, flow, join, intervals" of `make bench-collector`, with
//! 1000 flows and more.

use super::ids::FlowIds;
use super::index::{FlowHint, Index, PackedKey};
use super::segment_memory::SegmentMemory;
use super::state::Flow;
use crate::prefetch;
use int_report::FlowKey;

/// Number of flows compared to find one to evict, or one that forgets its segments.
const SCAN: usize = 64;

/// Bytes of a flow that each packet and sample needs.
const PREFETCHED_BYTES: usize = 384;

/// Flows by five-tuple. When full, the longest idle of the next few is evicted.
#[derive(Debug)]
pub(crate) struct FlowTable {
    index: Index,
    slots: Vec<Flow>,
    max: usize,
    hand: usize,
    ids: FlowIds,
    /// Number of flows evicted because the table was full.
    pub evicted: u64,
    pub memory: SegmentMemory,
    /// Number of segments, gaps and waiting packets forgotten because those of all flows took too
    /// much memory.
    pub segments_evicted: u64,
}

impl FlowTable {
    /// Creates a table of at most `max` flows, with ids from `ids`, whose segments together take at
    /// most `max_segment_bytes`.
    pub(crate) fn new(max: usize, max_segment_bytes: usize, ids: FlowIds) -> Self {
        Self {
            index: Index::default(),
            slots: Vec::new(),
            max: max.max(1),
            hand: 0,
            ids,
            evicted: 0,
            memory: SegmentMemory::new(max_segment_bytes),
            segments_evicted: 0,
        }
    }

    /// Five-tuples of the flows that are remembered.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &FlowKey> {
        self.slots.iter().map(|f| &f.key)
    }

    pub(crate) fn active(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn find(&self, key: &FlowKey) -> Option<u32> {
        self.index.find(PackedKey::of(key), |slot| {
            self.slots.get(slot as usize).is_some_and(|f| f.key == *key)
        })
    }

    /// Whether [`FlowTable::prefetch_index`] is worth its cost.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        self.index.is_large()
    }

    /// Prefetches what [`FlowTable::look_ahead`] will need.
    #[inline(always)]
    pub(crate) fn prefetch_index(&self, key: PackedKey) {
        self.index.prefetch(key);
    }

    /// Looks a flow up ahead of its turn and prefetches it. Only [`FlowTable::confirm`] shows
    /// whether it is the one sought: that reads the flow, which is not in the cache yet.
    #[inline]
    pub(crate) fn look_ahead(&self, key: PackedKey) -> Option<FlowHint> {
        let slot = self.index.find(key, |_| true)?;
        if let Some(flow) = self.slots.get(slot as usize) {
            prefetch::lines(flow, PREFETCHED_BYTES);
        }
        Some(FlowHint { slot, key })
    }

    /// The slot of a hint, if the flow there is the one sought.
    #[inline]
    pub(crate) fn confirm(&self, hint: Option<FlowHint>) -> Option<u32> {
        let hint = hint?;
        let flow = self.slots.get(hint.slot as usize)?;
        (flow.packed == hint.key && hint.key.is_whole()).then_some(hint.slot)
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<&Flow> {
        self.slots.get(slot as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut Flow> {
        self.slots.get_mut(slot as usize)
    }

    /// A flow, and the segment memory of all flows, to add segments to the flow.
    #[inline]
    pub(crate) fn with_memory(&mut self, slot: u32) -> Option<(&mut Flow, &mut SegmentMemory)> {
        Some((self.slots.get_mut(slot as usize)?, &mut self.memory))
    }

    /// Keeps the segments of all flows within their memory.
    #[inline(always)]
    pub(crate) fn bound_segments(&mut self) {
        if self.memory.is_over() {
            self.evict_segments();
        }
    }

    /// Has one of the next few flows forget its segments, until there is room: flows without
    /// samples, which are not of a known host, go first, then the longest idle.
    ///
    /// Flows that take less than half of their share keep their segments. The other flows take at
    /// least half of the memory, so that one is found soon.
    #[cold]
    #[inline(never)]
    fn evict_segments(&mut self) {
        // Number of flows examined since one took much.
        let mut without = 0;
        while self.memory.is_over() && without < self.slots.len() + SCAN {
            let half_share = self.memory.taken_bytes / (2 * self.slots.len());
            let takes_much = |f: &Flow| f.bytes() > half_share;
            let victim = self.lowest(|f| takes_much(f).then_some((f.probed, f.last_rx_ns)));
            let Some(flow) = victim.and_then(|v| self.slots.get_mut(v)) else {
                without += SCAN;
                continue;
            };
            without = 0;
            self.segments_evicted += flow.forget_ports(&mut self.memory) as u64;
        }
    }

    /// Prefetches the place where the flow's next packet will be noted.
    #[inline]
    pub(crate) fn prefetch_newest(&self, hint: FlowHint) {
        let flow = self.slots.get(hint.slot as usize);
        if let Some(port) = flow.and_then(|f| f.ports.first()) {
            port.prefetch_newest();
        }
    }

    /// Prefetches the segments that the flow's next sample concerns.
    #[inline]
    pub(crate) fn prefetch_oldest(&self, hint: FlowHint) {
        if let Some(flow) = self.slots.get(hint.slot as usize) {
            flow.prefetch_samples();
            if let Some(port) = flow.ports.first() {
                port.prefetch_oldest();
            }
        }
    }

    /// Inserts a new flow; returns its slot.
    pub(crate) fn insert(&mut self, key: FlowKey, rx_ns: u64, node: u16, time_ns: u64) -> u32 {
        let flow = Flow::new(key, self.ids.take(), rx_ns, node, time_ns);
        let slot = if self.slots.len() < self.max {
            self.slots.push(flow);
            self.slots.len() - 1
        } else {
            let victim = self.lowest(|f| Some(f.last_rx_ns)).unwrap_or(0);
            self.evicted += 1;
            let old = std::mem::replace(&mut self.slots[victim], flow);
            self.memory.give_back(old.bytes());
            self.index.remove(old.packed, victim as u32);
            victim
        };
        self.index.insert(PackedKey::of(&key), slot as u32);
        slot as u32
    }

    /// Replaces an ended flow by a new one with the same five-tuple.
    pub(crate) fn renew(&mut self, slot: u32, rx_ns: u64, node: u16, time_ns: u64) {
        if let Some(flow) = self.slots.get_mut(slot as usize) {
            self.memory.give_back(flow.bytes());
            *flow = Flow::new(flow.key, self.ids.take(), rx_ns, node, time_ns);
        }
    }

    /// Returns the flow with the lowest rank, of the next few that have a rank.
    fn lowest<R: Ord>(&mut self, rank: impl Fn(&Flow) -> Option<R>) -> Option<usize> {
        let flows = self.slots.len();
        let next = (0..SCAN.min(flows)).map(|step| (self.hand + step) % flows);
        let ranked = next.filter_map(|i| Some((rank(&self.slots[i])?, i)));
        let lowest = ranked.min_by(|a, b| a.0.cmp(&b.0));
        self.hand = (self.hand + SCAN) % flows.max(1);
        lowest.map(|(_, i)| i)
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
    fn tables_that_share_ids_give_none_twice_and_larger_ones_to_younger_flows() {
        let ids = FlowIds::default();
        let mut tables = [(); 2].map(|()| FlowTable::new(16, usize::MAX, ids.clone()));
        let mut given = Vec::new();
        for port in 0..4 {
            for t in &mut tables {
                let slot = t.insert(key(port), 0, 0, 0);
                given.push(t.get(slot).unwrap().id);
            }
        }
        tables[0].renew(0, 0, 0, 0);
        given.push(tables[0].get(0).unwrap().id);
        assert_eq!(given, (1..=9).collect::<Vec<u64>>());
    }

    #[test]
    fn addresses_of_both_kinds_are_kept_apart() {
        let mut t = FlowTable::new(16, usize::MAX, FlowIds::default());
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
        let mut t = FlowTable::new(16, usize::MAX, FlowIds::default());
        for i in 0..16 {
            let s = t.insert(key(i), 100 + u64::from(i), 0, 0);
            t.get_mut(s).unwrap().last_rx_ns = if i == 7 { 1 } else { 200 };
        }
        t.insert(key(100), 300, 0, 0);
        assert_eq!((t.active(), t.evicted), (16, 1));
        assert!(t.find(&key(7)).is_none());
        assert!(t.find(&key(8)).is_some());
        assert_eq!(t.get(t.find(&key(100)).unwrap()).unwrap().id, 17);
    }
}
