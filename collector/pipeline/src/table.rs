// SPDX-License-Identifier: Apache-2.0
//! All flows, bounded in number.

use crate::flow::Flow;
use int_report::FlowKey;
use rustc_hash::FxHashMap;
use std::net::IpAddr;

/// How many flows are looked at to find one to evict.
const SCAN: usize = 64;

/// A five-tuple packed so that it is hashed and compared in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct V4Key(u64, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct V6Key(u128, u128, u64);

/// Slots by five-tuple, a table for each length of key.
#[derive(Debug, Default)]
struct Index {
    v4: FxHashMap<V4Key, u32>,
    v6: FxHashMap<V6Key, u32>,
}

#[inline]
fn ports(key: &FlowKey) -> u64 {
    u64::from(key.src_port) << 32 | u64::from(key.dst_port) << 16 | u64::from(key.protocol)
}

#[inline]
fn v6(key: &FlowKey) -> V6Key {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(a) => a.to_ipv6_mapped().to_bits(),
        IpAddr::V6(a) => a.to_bits(),
    };
    V6Key(bits(key.src), bits(key.dst), ports(key))
}

#[inline]
fn v4(key: &FlowKey) -> Option<V4Key> {
    let (IpAddr::V4(src), IpAddr::V4(dst)) = (key.src, key.dst) else {
        return None;
    };
    let addresses = u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits());
    Some(V4Key(addresses, ports(key)))
}

impl Index {
    #[inline]
    fn get(&self, key: &FlowKey) -> Option<u32> {
        match v4(key) {
            Some(packed) => self.v4.get(&packed).copied(),
            None => self.v6.get(&v6(key)).copied(),
        }
    }

    fn insert(&mut self, key: &FlowKey, slot: u32) {
        match v4(key) {
            Some(packed) => self.v4.insert(packed, slot),
            None => self.v6.insert(v6(key), slot),
        };
    }

    fn remove(&mut self, key: &FlowKey) {
        match v4(key) {
            Some(packed) => self.v4.remove(&packed),
            None => self.v6.remove(&v6(key)),
        };
    }
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
        self.index.get(key)
    }

    #[inline]
    pub fn get(&self, slot: u32) -> Option<&Flow> {
        self.slots.get(slot as usize)
    }

    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> Option<&mut Flow> {
        self.slots.get_mut(slot as usize)
    }

    /// Has a flow brought near to the core while something else is done.
    #[inline]
    pub fn prefetch(&self, slot: u32) {
        if let Some(flow) = self.slots.get(slot as usize) {
            near(flow);
        }
    }

    /// The same for what a flow's packets are added to.
    #[inline]
    pub fn prefetch_packets(&self, slot: u32) {
        if let Some(point) = self.slots.get(slot as usize).and_then(|f| f.points.first()) {
            for place in point.ends().into_iter().flatten() {
                line(place);
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
            self.index.remove(&old.key);
            victim
        };
        self.index.insert(&key, slot as u32);
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

/// Asks for every cache line of a value.
#[inline]
fn near<T>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of::<T>()).step_by(64) {
        line(start.wrapping_add(offset));
    }
}

/// Asks for a cache line; a hint, without effect on any result.
#[inline]
fn line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that a program could see, and never
    // faults, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
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
