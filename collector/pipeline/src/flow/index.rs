// SPDX-License-Identifier: Apache-2.0
//! The index of the flow table: maps a five-tuple to the slot of its flow.
//!
//! It takes eight bytes per flow, so that more of it stays in the core's caches. The plain form is
//! a `HashMap` from five-tuple to slot; the property test `agrees_with_a_map` below checks that the
//! two agree. Justified by the benchmark rows "decode, flow, join, intervals" of
//! `make bench-collector` with 10 000 flows and more.

use crate::prefetch;
use int_report::{FastPath, FlowKey};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

const LEAST: usize = 64;

/// A five-tuple in two words: all of it for IPv4, a digest for IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedKey(u64, u64);

/// Second word of digests; ports and protocol take 40 bits.
const DIGEST: u64 = u64::MAX;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product ^ product >> 64) as u64
}

impl PackedKey {
    /// Whether equal words prove equal five-tuples.
    #[inline]
    pub(crate) fn is_whole(self) -> bool {
        self.1 != DIGEST
    }

    /// Key of a report on the fast path, without building the five-tuple.
    #[inline(always)]
    pub(crate) fn of_fast_path(report: &FastPath<'_>) -> Self {
        Self(report.addresses(), u64::from(report.ports()) << 8 | 6)
    }

    #[inline]
    pub(crate) fn of(key: &FlowKey) -> Self {
        let ports =
            u64::from(key.src_port) << 24 | u64::from(key.dst_port) << 8 | u64::from(key.protocol);
        if let (IpAddr::V4(src), IpAddr::V4(dst)) = (key.src, key.dst) {
            let addresses = u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits());
            return Self(addresses, ports);
        }
        Self::digest(key, ports)
    }

    fn digest(key: &FlowKey, ports: u64) -> Self {
        let half = |address: IpAddr| {
            let bits = match address {
                IpAddr::V4(a) => a.to_ipv6_mapped().to_bits(),
                IpAddr::V6(a) => a.to_bits(),
            };
            fold(
                bits as u64 ^ 0x9e37_79b9_7f4a_7c15,
                (bits >> 64) as u64 ^ 0xa076_1d64_78bd_642f,
            )
        };
        let addresses = fold(
            half(key.src) ^ 0xe703_7ed1_a0b4_28db,
            half(key.dst) ^ 0x8ebc_6af0_9c88_c6e3,
        );
        Self(addresses ^ ports << 20, DIGEST)
    }
}

/// Probable slot of a flow, from a lookup ahead of its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowHint {
    pub slot: u32,
    pub(super) key: PackedKey,
}

/// An open hash table of eight bytes per place: half a hash and a slot. Only the flow itself shows
/// whether it is the one sought.
#[derive(Debug)]
pub(crate) struct Index {
    /// Hash in the upper half, slot plus one in the lower; 0 if free.
    places: Vec<u64>,
    used: usize,
    /// Random, so that nobody can choose addresses that collide.
    seed: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            places: vec![0; LEAST],
            used: 0,
            seed: RandomState::new().hash_one(0u8),
        }
    }
}

impl Index {
    #[inline]
    fn hash(&self, key: PackedKey) -> u32 {
        (fold(key.0 ^ self.seed, key.1 ^ 0x9e37_79b9_7f4a_7c15) >> 16) as u32
    }

    /// Whether the index is too large for the core's own caches.
    #[inline(always)]
    pub(super) fn is_large(&self) -> bool {
        self.places.len() >= 2 * prefetch::MANY_FLOWS
    }

    /// Prefetches the place where a search for a key begins.
    #[inline(always)]
    pub(super) fn prefetch(&self, key: PackedKey) {
        let mask = self.places.len() - 1;
        if let Some(place) = self.places.get(self.hash(key) as usize & mask) {
            prefetch::start(place);
        }
    }

    /// The first slot with the key's hash for which `is` holds.
    #[inline]
    pub(super) fn find(&self, key: PackedKey, is: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = self.hash(key);
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let place = *self.places.get(at)?;
            if place == 0 {
                return None;
            }
            if (place >> 32) as u32 == hash {
                let slot = place as u32 - 1;
                if is(slot) {
                    return Some(slot);
                }
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds a flow that is not there yet.
    pub(super) fn insert(&mut self, key: PackedKey, slot: u32) {
        if self.places.len() < 2 * (self.used + 1) {
            let length = self.places.len() * 2;
            let old = std::mem::replace(&mut self.places, vec![0; length]);
            for place in old.into_iter().filter(|&p| p != 0) {
                self.enter(place);
            }
        }
        self.enter(u64::from(self.hash(key)) << 32 | (u64::from(slot) + 1));
        self.used += 1;
    }

    fn enter(&mut self, place: u64) {
        let mask = self.places.len() - 1;
        let mut at = (place >> 32) as usize & mask;
        while let Some(free) = self.places.get_mut(at) {
            if *free == 0 {
                *free = place;
                return;
            }
            at = (at + 1) & mask;
        }
    }

    /// Removes a flow; the entries after it move up.
    pub(super) fn remove(&mut self, key: PackedKey, slot: u32) {
        let gone = u64::from(self.hash(key)) << 32 | (u64::from(slot) + 1);
        let mask = self.places.len() - 1;
        let mut hole = (gone >> 32) as usize & mask;
        while let Some(&place) = self.places.get(hole)
            && place != gone
        {
            if place == 0 {
                return;
            }
            hole = (hole + 1) & mask;
        }
        self.used -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let place = self.places.get(at).copied().unwrap_or(0);
            if place == 0 {
                break;
            }
            let home = (place >> 32) as usize & mask;
            // The entry may move into the hole unless that is before its home.
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                if let Some(p) = self.places.get_mut(hole) {
                    *p = place;
                }
                hole = at;
            }
        }
        if let Some(p) = self.places.get_mut(hole) {
            *p = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn agrees_with_a_map(steps in prop::collection::vec((any::<bool>(), 0u64..200), 0..600)) {
            let mut index = Index::default();
            let mut map = HashMap::new();
            for (slot, (add, n)) in (0..).zip(steps) {
                let key = PackedKey(n, n % 7);
                if add && !map.contains_key(&n) {
                    index.insert(key, slot);
                    map.insert(n, slot);
                } else if let Some(slot) = map.remove(&n) {
                    index.remove(key, slot);
                }
            }
            for n in 0..200 {
                let slot = map.get(&n).copied();
                prop_assert_eq!(index.find(PackedKey(n, n % 7), |s| Some(s) == slot), slot);
            }
        }
    }
}
