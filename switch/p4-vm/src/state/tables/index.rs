// SPDX-License-Identifier: Apache-2.0
//! Lookup among a table's entries.

use rustc_hash::FxHashMap;

use super::key::{Packed, Plan, RangeTest, SHORT_KEY};
use p4_ir::{MatchKind, Table};

#[derive(Debug)]
pub(super) enum Index {
    Keyless,
    /// One small exact key, which is used as the position.
    Direct(Vec<u32>),
    One(FxHashMap<u64, u32>),
    Many(FxHashMap<Box<[u64]>, u32>),
    /// Levels, longest prefix first.
    Lpm(Vec<Level>),
    Scan(Rows),
}

#[derive(Debug)]
pub(super) struct Level {
    prefix_bits: u32,
    mask: Box<[u64]>,
    entries: FxHashMap<Box<[u64]>, u32>,
}

/// Rows, best rank first.
#[derive(Debug)]
pub(super) struct Rows {
    words: usize,
    rows: Vec<Row>,
    /// Mask, then value, of each row.
    data: Vec<u64>,
}

#[derive(Debug)]
struct Row {
    rank: i64,
    slot: u32,
    ranges: Vec<RangeTest>,
}

const NONE: u32 = u32::MAX;
/// Width of the widest exact key that is used as a position.
const DIRECT_BITS: u32 = 12;

impl Index {
    pub(super) fn new(t: &Table) -> Self {
        match (t.kind, t.keys.as_slice()) {
            (_, []) => Self::Keyless,
            (MatchKind::Exact, [k]) if k.field.width <= DIRECT_BITS => {
                Self::Direct(vec![NONE; 1 << k.field.width])
            }
            (MatchKind::Exact, _) if t.key_words == 1 => Self::One(FxHashMap::default()),
            (MatchKind::Exact, _) => Self::Many(FxHashMap::default()),
            (MatchKind::Lpm, _) => Self::Lpm(Vec::new()),
            _ => Self::Scan(Rows {
                words: t.key_words,
                rows: Vec::new(),
                data: Vec::new(),
            }),
        }
    }

    /// Inserts an entry; returns `false` if its key exists already.
    pub(super) fn insert(&mut self, slot: u32, key: &mut Packed, rank: i64) -> bool {
        let first = key.value.first().copied().unwrap_or(0);
        match self {
            Self::Keyless => false,
            Self::Direct(list) => match list.get_mut(first as usize) {
                Some(x) if *x == NONE => {
                    *x = slot;
                    true
                }
                _ => false,
            },
            Self::One(map) => {
                if let std::collections::hash_map::Entry::Vacant(v) = map.entry(first) {
                    v.insert(slot);
                    true
                } else {
                    false
                }
            }
            Self::Many(map) => insert_new(map, &key.value, slot),
            Self::Lpm(levels) => {
                let prefix_bits = key.prefix_bits;
                let i = levels.partition_point(|l| l.prefix_bits > prefix_bits);
                if levels.get(i).is_none_or(|l| l.prefix_bits != prefix_bits) {
                    levels.insert(
                        i,
                        Level {
                            prefix_bits,
                            mask: key.mask.clone(),
                            entries: FxHashMap::default(),
                        },
                    );
                }
                levels
                    .get_mut(i)
                    .is_some_and(|l| insert_new(&mut l.entries, &key.value, slot))
            }
            Self::Scan(rows) => {
                rows.insert(slot, key, rank);
                true
            }
        }
    }

    pub(super) fn remove(&mut self, slot: u32, key: &Packed) {
        let first = key.value.first().copied().unwrap_or(0);
        match self {
            Self::Keyless => {}
            Self::Direct(list) => {
                if let Some(x) = list.get_mut(first as usize) {
                    *x = NONE;
                }
            }
            Self::One(map) => {
                map.remove(&first);
            }
            Self::Many(map) => {
                map.remove(&key.value);
            }
            Self::Lpm(levels) => {
                let own = |l: &&mut Level| l.prefix_bits == key.prefix_bits;
                for l in levels.iter_mut().filter(own) {
                    l.entries.remove(&key.value);
                }
                levels.retain(|l| !l.entries.is_empty());
            }
            Self::Scan(rows) => rows.remove(slot),
        }
    }

    /// Returns the slot of the best entry for the packet.
    #[inline(always)]
    pub(super) fn find(&self, plan: &Plan, words: &[u64]) -> Option<u32> {
        match self {
            Self::Keyless => None,
            Self::Direct(list) => {
                let slot = list.get(plan.one(words) as usize).copied();
                slot.filter(|s| *s != NONE)
            }
            Self::One(map) => map.get(&plan.one(words)).copied(),
            Self::Scan(rows) if rows.rows.is_empty() => None,
            _ => self.find_long(plan, words),
        }
    }

    fn find_long(&self, plan: &Plan, words: &[u64]) -> Option<u32> {
        let mut short = [0u64; SHORT_KEY];
        let mut long = Vec::new();
        let key: &mut [u64] = match short.get_mut(..plan.words) {
            Some(key) => key,
            None => {
                long.resize(plan.words, 0);
                &mut long
            }
        };
        plan.fill(key, words);
        match self {
            Self::Many(map) => map.get(&*key).copied(),
            Self::Lpm(levels) => longest(levels, key),
            Self::Scan(rows) => rows.find(key, words),
            Self::Keyless | Self::Direct(_) | Self::One(_) => None,
        }
    }
}

/// Finds the longest prefix. Masks only become shorter, so each is applied to the last result.
fn longest(levels: &[Level], key: &mut [u64]) -> Option<u32> {
    for l in levels {
        key.iter_mut().zip(&l.mask).for_each(|(k, m)| *k &= m);
        if let Some(s) = l.entries.get(&*key) {
            return Some(*s);
        }
    }
    None
}

impl Rows {
    /// Inserts a row after all rows of equal rank.
    fn insert(&mut self, slot: u32, key: &mut Packed, rank: i64) {
        let at = self.rows.partition_point(|r| r.rank <= rank);
        let ranges = std::mem::take(&mut key.ranges);
        self.rows.insert(at, Row { rank, slot, ranges });
        let place = at * 2 * self.words;
        let new = key.mask.iter().chain(&key.value).copied();
        self.data.splice(place..place, new);
    }

    fn remove(&mut self, slot: u32) {
        if let Some(at) = self.rows.iter().position(|r| r.slot == slot) {
            self.rows.remove(at);
            let row = 2 * self.words;
            self.data.drain(at * row..(at + 1) * row);
        }
    }

    fn find(&self, key: &[u64], words: &[u64]) -> Option<u32> {
        let mut data = self.data.as_slice();
        for r in &self.rows {
            let (mask, rest) = data.split_at_checked(self.words)?;
            let (value, rest) = rest.split_at_checked(self.words)?;
            data = rest;
            let hit = key
                .iter()
                .zip(mask.iter().zip(value))
                .all(|(k, (m, v))| k & m == *v);
            if hit && r.ranges.iter().all(|x| x.holds(words)) {
                return Some(r.slot);
            }
        }
        None
    }
}

fn insert_new(map: &mut FxHashMap<Box<[u64]>, u32>, key: &[u64], slot: u32) -> bool {
    if map.contains_key(key) {
        return false;
    }
    map.insert(key.into(), slot);
    true
}
