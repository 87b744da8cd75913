// SPDX-License-Identifier: Apache-2.0
//! Records which pipelines know a flow.

use int_report::FlowKey;
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Minimum and maximum number of slots of a table, 8 bytes each.
const SLOTS: std::ops::RangeInclusive<usize> = 1 << 12..=1 << 22;
/// Slots per flow, enough that few flows share a slot.
const SLOTS_PER_FLOW: usize = 4;

/// The pipelines that know each flow, as bits in a slot that the hash of its two endpoints selects.
/// Flows that share a slot share their bits, which costs only a useless look-up. Both directions of
/// a connection use one slot.
///
/// There are two tables. Every pipeline sets the bits of all its flows in the current table again
/// and again; [`FlowShards::rotate`] clears the older table and makes it the current one, so that
/// the bits of ended flows also go.
#[derive(Debug)]
pub struct FlowShards {
    tables: [Box<[AtomicU64]>; 2],
    current: AtomicUsize,
}

impl FlowShards {
    /// Creates tables for `max_flows` flows.
    pub fn new(max_flows: usize) -> Self {
        let slots = max_flows.saturating_mul(SLOTS_PER_FLOW);
        let slots = slots
            .clamp(*SLOTS.start(), *SLOTS.end())
            .next_power_of_two();
        let table = || (0..slots).map(|_| AtomicU64::new(0)).collect();
        Self {
            tables: [table(), table()],
            current: AtomicUsize::new(0),
        }
    }

    fn slot(&self, key: &FlowKey) -> usize {
        let (a, b) = ((key.src, key.src_port), (key.dst, key.dst_port));
        let mut hasher = FxHasher::default();
        (a.min(b), a.max(b), key.protocol).hash(&mut hasher);
        hasher.finish() as usize & (self.tables[0].len() - 1)
    }

    /// Records that a pipeline knows a flow.
    pub fn set(&self, key: &FlowKey, shard: usize) {
        let slot = self.slot(key);
        let current = self.current.load(Ordering::Relaxed) & 1;
        if let Some(bits) = self.tables[current].get(slot) {
            let bit = 1 << (shard as u32 & 63);
            // Most bits are set already, and a read does not take the cache line from others.
            if bits.load(Ordering::Relaxed) & bit == 0 {
                bits.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// Returns the pipelines that know a flow, one bit each; 0 if none does yet.
    #[inline]
    pub fn of(&self, key: &FlowKey) -> u64 {
        let slot = self.slot(key);
        let bits = |table: &[AtomicU64]| table.get(slot).map_or(0, |b| b.load(Ordering::Relaxed));
        bits(&self.tables[0]) | bits(&self.tables[1])
    }

    /// Forgets the flows that no pipeline has set since the rotation before.
    pub fn rotate(&self) {
        let next = (self.current.load(Ordering::Relaxed) + 1) & 1;
        for bits in &self.tables[next] {
            bits.store(0, Ordering::Relaxed);
        }
        self.current.store(next, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(port: u16) -> FlowKey {
        FlowKey {
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
            src_port: port,
            dst_port: 80,
            protocol: 6,
        }
    }

    #[test]
    fn both_directions_are_where_one_was_seen() {
        let flows = FlowShards::new(100);
        assert_eq!(flows.of(&key(1)), 0);
        flows.set(&key(1), 3);
        flows.set(&key(1), 5);
        assert_eq!(flows.of(&key(1)), 1 << 3 | 1 << 5);
        assert_eq!(flows.of(&key(1).reversed()), flows.of(&key(1)));
    }

    #[test]
    fn what_is_not_said_again_goes_after_two_rotations() {
        let flows = FlowShards::new(100);
        flows.set(&key(1), 0);
        flows.set(&key(2), 1);
        flows.rotate();
        assert_eq!((flows.of(&key(1)), flows.of(&key(2))), (1, 2));
        flows.set(&key(1), 0);
        flows.rotate();
        assert_eq!((flows.of(&key(1)), flows.of(&key(2))), (1, 0));
    }

    #[test]
    fn flows_spread_over_the_slots() {
        let flows = FlowShards::new(1000);
        for port in 0..1000 {
            flows.set(&key(port), usize::from(port) % 64);
        }
        let alone = (0..1000).filter(|&p| flows.of(&key(p)).count_ones() == 1);
        assert!(alone.count() > 600);
    }
}
