// SPDX-License-Identifier: Apache-2.0
//! Entries of a table and the search among them.

use rustc_hash::FxHashMap;

use super::eval::own_words;
use super::profiles::Choice;
use super::state::{Count, Meter};
use crate::bmv2::bits::{mask64, words_for};
use crate::bmv2::ir::{ActionCall, END, MatchKind, MatchValue, NextNode, Table, TableKey};

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    #[error("table is full; a larger `size` in the P4 program makes room")]
    Full,
    #[error("an entry with this key exists already")]
    Exists,
    #[error("no such entry")]
    NoEntry,
    #[error("the keys do not fit the table")]
    BadKey,
    #[error("the action is not one of the table's or its arguments do not fit")]
    BadAction,
}

#[derive(Debug)]
pub struct Entry {
    pub matches: Vec<MatchValue>,
    /// Smaller wins.
    rank: i64,
    pub action: u32,
    pub args: Box<[u64]>,
    next: u32,
    pub count: Count,
    pub meter: Meter,
    /// What a table with an action profile does in place of `action`.
    pub choice: Option<Choice>,
    value: Box<[u64]>,
    mask: Box<[u64]>,
    ranges: Vec<RangeTest>,
}

#[derive(Debug)]
struct RangeTest {
    key: usize,
    low: Vec<u64>,
    high: Vec<u64>,
}

#[derive(Debug)]
enum Index {
    Keyless,
    /// One small exact key: position is the key.
    Direct(Vec<u32>),
    One(FxHashMap<u64, u32>),
    Many(FxHashMap<Box<[u64]>, u32>),
    /// Longest prefix first.
    Lpm(Vec<Level>),
    /// Best rank first.
    Scan(Vec<u32>),
}

#[derive(Debug)]
struct Level {
    prefix_bits: u32,
    mask: Box<[u64]>,
    entries: FxHashMap<Box<[u64]>, u32>,
}

const NONE: u32 = u32::MAX;
/// Words of a key that is built without allocation.
const SHORT_KEY: usize = 6;
/// Widest exact key that is used as a position.
const DIRECT_BITS: u32 = 12;

#[derive(Debug)]
pub struct TableState {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_id: FxHashMap<u64, u32>,
    default: Option<ActionCall>,
    default_next: u32,
    index: Index,
}

/// What a lookup found.
pub struct Outcome<'a> {
    pub action: Option<u32>,
    pub args: &'a [u64],
    pub next: u32,
}

impl TableState {
    pub fn new(t: &Table) -> Self {
        let index = match (t.kind, t.keys.as_slice()) {
            (_, []) => Index::Keyless,
            (MatchKind::Exact, [k]) if k.field.width <= DIRECT_BITS => {
                Index::Direct(vec![NONE; 1 << k.field.width])
            }
            (MatchKind::Exact, _) if t.key_words == 1 => Index::One(FxHashMap::default()),
            (MatchKind::Exact, _) => Index::Many(FxHashMap::default()),
            (MatchKind::Lpm, _) => Index::Lpm(Vec::new()),
            _ => Index::Scan(Vec::new()),
        };
        let mut s = Self {
            entries: Vec::new(),
            free: Vec::new(),
            by_id: FxHashMap::default(),
            default: None,
            default_next: END,
            index,
        };
        s.set_default(t, t.default.clone());
        s
    }

    /// `None`: no action on a miss.
    pub fn set_default(&mut self, t: &Table, call: Option<ActionCall>) {
        self.default_next = match &t.next {
            NextNode::HitMiss { miss, .. } => *miss,
            NextNode::ByAction { base, .. } => match &call {
                Some(c) => next_for(t, c.action),
                None => *base,
            },
        };
        self.default = call;
    }

    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn entry(&self, id: u64) -> Option<&Entry> {
        let i = *self.by_id.get(&id)?;
        self.entries.get(i as usize)?.as_ref()
    }

    pub fn entry_mut(&mut self, id: u64) -> Option<&mut Entry> {
        let i = *self.by_id.get(&id)?;
        self.entries.get_mut(i as usize)?.as_mut()
    }

    /// `rank`: smaller wins among ternary and range entries; among equals the
    /// older entry.
    pub fn insert(
        &mut self,
        t: &Table,
        id: u64,
        matches: Vec<MatchValue>,
        rank: i64,
        call: ActionCall,
        bounded: bool,
    ) -> Result<(), TableError> {
        if t.keys.is_empty() || matches.len() != t.keys.len() {
            return Err(TableError::BadKey);
        }
        if !t.action_ids.contains(&call.action) {
            return Err(TableError::BadAction);
        }
        if self.by_id.contains_key(&id) {
            return Err(TableError::Exists);
        }
        if bounded && self.len() >= t.max_size {
            return Err(TableError::Full);
        }
        let (value, mask, ranges) = pack(t, &matches)?;
        let slot = self
            .free
            .last()
            .copied()
            .unwrap_or(self.entries.len() as u32);
        let entry = Entry {
            rank,
            action: call.action,
            args: call.args.into_boxed_slice(),
            next: next_for(t, call.action),
            count: Count::default(),
            meter: Meter::default(),
            choice: None,
            value,
            mask,
            ranges,
            matches,
        };
        self.index_entry(t, slot, &entry)?;
        if self.free.pop().is_some() {
            if let Some(e) = self.entries.get_mut(slot as usize) {
                *e = Some(entry);
            }
        } else {
            self.entries.push(Some(entry));
        }
        self.by_id.insert(id, slot);
        Ok(())
    }

    fn index_entry(&mut self, t: &Table, slot: u32, e: &Entry) -> Result<(), TableError> {
        let occupied = match &mut self.index {
            Index::Keyless => true,
            Index::Direct(list) => {
                let at = e.value.first().copied().unwrap_or(0) as usize;
                match list.get_mut(at) {
                    Some(x) if *x == NONE => {
                        *x = slot;
                        false
                    }
                    _ => true,
                }
            }
            Index::One(map) => {
                let k = e.value.first().copied().unwrap_or(0);
                if let std::collections::hash_map::Entry::Vacant(v) = map.entry(k) {
                    v.insert(slot);
                    false
                } else {
                    true
                }
            }
            Index::Many(map) => insert_new(map, &e.value, slot),
            Index::Lpm(levels) => {
                let prefix_bits = prefix_of(t, e);
                let i = levels.partition_point(|l| l.prefix_bits > prefix_bits);
                if levels.get(i).is_none_or(|l| l.prefix_bits != prefix_bits) {
                    levels.insert(
                        i,
                        Level {
                            prefix_bits,
                            mask: e.mask.clone(),
                            entries: FxHashMap::default(),
                        },
                    );
                }
                levels
                    .get_mut(i)
                    .is_none_or(|l| insert_new(&mut l.entries, &e.value, slot))
            }
            Index::Scan(order) => {
                let entries = &self.entries;
                let rank = |i: &u32| {
                    entries
                        .get(*i as usize)
                        .and_then(Option::as_ref)
                        .map_or(i64::MAX, |e| e.rank)
                };
                let at = order.partition_point(|i| rank(i) <= e.rank);
                order.insert(at, slot);
                false
            }
        };
        if occupied {
            Err(TableError::Exists)
        } else {
            Ok(())
        }
    }

    pub fn modify(&mut self, t: &Table, id: u64, call: ActionCall) -> Result<(), TableError> {
        if !t.action_ids.contains(&call.action) {
            return Err(TableError::BadAction);
        }
        let e = self.entry_mut(id).ok_or(TableError::NoEntry)?;
        e.action = call.action;
        e.args = call.args.into_boxed_slice();
        e.next = next_for(t, call.action);
        Ok(())
    }

    pub fn remove(&mut self, t: &Table, id: u64) -> Result<(), TableError> {
        let slot = self.by_id.remove(&id).ok_or(TableError::NoEntry)?;
        let entry = self
            .entries
            .get_mut(slot as usize)
            .and_then(Option::take)
            .ok_or(TableError::NoEntry)?;
        match &mut self.index {
            Index::Keyless => {}
            Index::Direct(list) => {
                let at = entry.value.first().copied().unwrap_or(0) as usize;
                if let Some(x) = list.get_mut(at) {
                    *x = NONE;
                }
            }
            Index::One(map) => {
                map.remove(&entry.value.first().copied().unwrap_or(0));
            }
            Index::Many(map) => {
                map.remove(&entry.value);
            }
            Index::Lpm(levels) => {
                let prefix_bits = prefix_of(t, &entry);
                for l in levels.iter_mut().filter(|l| l.prefix_bits == prefix_bits) {
                    l.entries.remove(&entry.value);
                }
                levels.retain(|l| !l.entries.is_empty());
            }
            Index::Scan(order) => order.retain(|i| *i != slot),
        }
        self.free.push(slot);
        Ok(())
    }

    /// Slot of the best entry for the packet.
    #[inline]
    fn find(&self, t: &Table, words: &[u64]) -> Option<u32> {
        match &self.index {
            Index::Keyless => None,
            Index::Direct(list) => {
                let k = t.keys.first()?;
                let mut v = k.field.get(words);
                if let Some(m) = &k.mask {
                    v &= m.first().copied().unwrap_or(u64::MAX);
                }
                list.get(v as usize).copied().filter(|s| *s != NONE)
            }
            _ if t.key_words <= SHORT_KEY => {
                let mut key = [0u64; SHORT_KEY];
                for k in &t.keys {
                    add_key(&mut key, k, words);
                }
                self.search(t, key.get(..t.key_words)?, words)
            }
            _ => {
                let mut key = vec![0u64; t.key_words];
                for k in &t.keys {
                    add_key(&mut key, k, words);
                }
                self.search(t, &key, words)
            }
        }
    }

    fn search(&self, t: &Table, key: &[u64], words: &[u64]) -> Option<u32> {
        match &self.index {
            Index::Keyless | Index::Direct(_) => None,
            Index::One(map) => map.get(key.first()?).copied(),
            Index::Many(map) => map.get(key).copied(),
            Index::Lpm(levels) => {
                let mut short = [0u64; SHORT_KEY];
                let mut long = Vec::new();
                let masked: &mut [u64] = if key.len() <= SHORT_KEY {
                    short.get_mut(..key.len())?
                } else {
                    long.resize(key.len(), 0);
                    &mut long
                };
                for l in levels {
                    for ((o, k), m) in masked.iter_mut().zip(key).zip(&l.mask) {
                        *o = k & m;
                    }
                    if let Some(s) = l.entries.get(&*masked) {
                        return Some(*s);
                    }
                }
                None
            }
            Index::Scan(order) => order.iter().copied().find(|s| {
                self.entries
                    .get(*s as usize)
                    .and_then(Option::as_ref)
                    .is_some_and(|e| e.hits(t, key, words))
            }),
        }
    }

    /// Finds the entry and counts the hit. The slot is for [`Self::outcome`].
    #[inline]
    pub fn lookup(&mut self, t: &Table, words: &[u64], bytes: u32) -> Option<u32> {
        let slot = self.find(t, words)?;
        if t.with_counters
            && let Some(Some(e)) = self.entries.get_mut(slot as usize)
        {
            e.count.packets = e.count.packets.wrapping_add(1);
            e.count.bytes = e.count.bytes.wrapping_add(u64::from(bytes));
        }
        Some(slot)
    }

    /// What the entry has its action profile do.
    pub fn choice(&self, slot: u32) -> Option<Choice> {
        self.entries.get(slot as usize)?.as_ref()?.choice
    }

    pub fn meter(&mut self, slot: u32) -> Option<&mut Meter> {
        let e = self.entries.get_mut(slot as usize)?.as_mut()?;
        Some(&mut e.meter)
    }

    #[inline]
    pub fn outcome(&self, slot: Option<u32>) -> Outcome<'_> {
        if let Some(e) = slot
            .and_then(|s| self.entries.get(s as usize))
            .and_then(Option::as_ref)
        {
            return Outcome {
                action: Some(e.action),
                args: &e.args,
                next: e.next,
            };
        }
        Outcome {
            action: self.default.as_ref().map(|d| d.action),
            args: self.default.as_ref().map_or(&[], |d| d.args.as_slice()),
            next: self.default_next,
        }
    }
}

impl Entry {
    #[inline]
    fn hits(&self, t: &Table, key: &[u64], words: &[u64]) -> bool {
        key.iter()
            .zip(self.value.iter().zip(self.mask.iter()))
            .all(|(k, (v, m))| k & m == *v)
            && self.ranges.iter().all(|r| {
                t.keys.get(r.key).is_some_and(|k| {
                    let narrow = [k.field.get(words)];
                    let v = if k.field.width <= 64 {
                        narrow.as_slice()
                    } else {
                        own_words(words, k.field)
                    };
                    v >= r.low.as_slice() && v <= r.high.as_slice()
                })
            })
    }
}

fn insert_new(map: &mut FxHashMap<Box<[u64]>, u32>, key: &[u64], slot: u32) -> bool {
    if map.contains_key(key) {
        return true;
    }
    map.insert(key.into(), slot);
    false
}

pub fn next_for(t: &Table, action: u32) -> u32 {
    match &t.next {
        NextNode::HitMiss { hit, .. } => *hit,
        NextNode::ByAction { nodes, base } => nodes
            .iter()
            .find(|(a, _)| *a == action)
            .map_or(*base, |(_, n)| *n),
    }
}

fn prefix_of(t: &Table, e: &Entry) -> u32 {
    t.keys
        .iter()
        .zip(&e.matches)
        .find_map(|(k, m)| match m {
            MatchValue::Lpm { prefix_bits, .. } if k.kind == MatchKind::Lpm => Some(*prefix_bits),
            _ => None,
        })
        .unwrap_or(0)
}

#[inline]
fn add_key(key: &mut [u64], k: &TableKey, words: &[u64]) {
    if k.field.width <= 64 {
        let mut v = k.field.get(words);
        if let Some([m]) = k.mask.as_deref() {
            v &= m;
        }
        if let Some(w) = key.get_mut(k.word) {
            *w |= v << k.shift;
        }
        return;
    }
    let src = own_words(words, k.field);
    if let Some(out) = key.get_mut(k.word..k.word + src.len()) {
        out.copy_from_slice(src);
        if let Some(m) = &k.mask {
            out.iter_mut().zip(m).for_each(|(o, m)| *o &= m);
        }
    }
}

type Packed = (Box<[u64]>, Box<[u64]>, Vec<RangeTest>);

/// Value and mask of the packed key; ranges are tested apart.
fn pack(t: &Table, matches: &[MatchValue]) -> Result<Packed, TableError> {
    let mut value = vec![0u64; t.key_words];
    let mut mask = vec![0u64; t.key_words];
    let mut ranges = Vec::new();
    for (i, (k, m)) in t.keys.iter().zip(matches).enumerate() {
        let width = k.field.width;
        let n = words_for(width);
        let ones = || prefix_mask(width, width);
        let (v, b) = match m {
            MatchValue::Exact(v) if k.kind == MatchKind::Exact => (v.clone(), ones()),
            MatchValue::Lpm { value, prefix_bits } if k.kind == MatchKind::Lpm => {
                (value.clone(), prefix_mask(width, (*prefix_bits).min(width)))
            }
            MatchValue::Ternary { value, mask } if k.kind == MatchKind::Ternary => {
                (value.clone(), mask.clone())
            }
            MatchValue::Range { low, high } if k.kind == MatchKind::Range => {
                ranges.push(RangeTest {
                    key: i,
                    low: low.clone(),
                    high: high.clone(),
                });
                (vec![0; n], vec![0; n])
            }
            _ => return Err(TableError::BadKey),
        };
        if v.len() != n || b.len() != n {
            return Err(TableError::BadKey);
        }
        for (j, (v, b)) in v.iter().zip(&b).enumerate() {
            let shift = if n == 1 { k.shift } else { 0 };
            let (Some(x), Some(y)) = (value.get_mut(k.word + j), mask.get_mut(k.word + j)) else {
                return Err(TableError::BadKey);
            };
            *x |= (v & b) << shift;
            *y |= b << shift;
        }
    }
    Ok((value.into(), mask.into(), ranges))
}

fn prefix_mask(width: u32, prefix_bits: u32) -> Vec<u64> {
    let n = words_for(width);
    let mut out = vec![0u64; n];
    // Bit i counts from the least significant end.
    for (j, w) in out.iter_mut().rev().enumerate() {
        let base = j as u32 * 64;
        let top = width.saturating_sub(base).min(64);
        let keep_from = (width - prefix_bits).saturating_sub(base).min(64);
        let high = mask64(top);
        let low = if keep_from == 0 { 0 } else { mask64(keep_from) };
        *w = if top == 0 { 0 } else { high & !low };
    }
    out
}
