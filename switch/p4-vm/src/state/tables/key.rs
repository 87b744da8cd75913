// SPDX-License-Identifier: Apache-2.0
//! Keys of packets and of entries, packed into words.

use super::error::TableError;
use crate::vector::own_words;
use p4_ir::bits::{mask64, words_for};
use p4_ir::{FieldRef, MatchKind, MatchValue, Table};

/// Most words of a key that is built without allocation.
pub(super) const SHORT_KEY: usize = 6;

/// Plan for building a packet's key.
#[derive(Debug)]
pub(super) struct Plan {
    parts: Box<[Part]>,
    pub words: usize,
}

/// Copies a source word, rotated left by `rotate` and then masked, to word `to`.
#[derive(Debug, Clone, Copy)]
struct Part {
    mask: u64,
    slot: u32,
    to: u16,
    rotate: u8,
}

impl Plan {
    pub(super) fn new(t: &Table) -> Self {
        let mut parts = Vec::new();
        for k in &t.keys {
            let own = |i: usize| {
                let m = k.mask.as_ref().and_then(|m| m.get(i)).copied();
                m.unwrap_or(u64::MAX)
            };
            if k.field.width <= 64 {
                parts.push(Part {
                    mask: (k.field.mask & own(0)) << k.shift,
                    slot: k.field.slot,
                    to: k.word as u16,
                    rotate: ((k.shift + 64 - u32::from(k.field.shift)) % 64) as u8,
                });
                continue;
            }
            for i in 0..words_for(k.field.width) {
                parts.push(Part {
                    mask: own(i),
                    slot: k.field.slot + i as u32,
                    to: (k.word + i) as u16,
                    rotate: 0,
                });
            }
        }
        Self {
            parts: parts.into(),
            words: t.key_words,
        }
    }

    /// Returns a key of one word.
    #[inline(always)]
    pub(super) fn one(&self, words: &[u64]) -> u64 {
        self.parts.iter().fold(0, |key, p| key | p.get(words))
    }

    /// Builds the key; `key` is all zeros before.
    #[inline(always)]
    pub(super) fn fill(&self, key: &mut [u64], words: &[u64]) {
        for p in &self.parts {
            if let Some(w) = key.get_mut(usize::from(p.to)) {
                *w |= p.get(words);
            }
        }
    }
}

impl Part {
    #[inline(always)]
    fn get(&self, words: &[u64]) -> u64 {
        let word = words.get(self.slot as usize).copied().unwrap_or(0);
        word.rotate_left(u32::from(self.rotate)) & self.mask
    }
}

/// Packed key of an entry.
#[derive(Debug)]
pub(super) struct Packed {
    pub value: Box<[u64]>,
    pub mask: Box<[u64]>,
    /// Ranges, which are tested separately.
    pub ranges: Vec<RangeTest>,
    /// Prefix length of the key that is matched by longest prefix.
    pub prefix_bits: u32,
}

#[derive(Debug)]
pub(super) struct RangeTest {
    field: FieldRef,
    low: Vec<u64>,
    high: Vec<u64>,
}

impl RangeTest {
    pub(super) fn holds(&self, words: &[u64]) -> bool {
        let narrow = [self.field.get(words)];
        let v = if self.field.width <= 64 {
            narrow.as_slice()
        } else {
            own_words(words, self.field)
        };
        v >= self.low.as_slice() && v <= self.high.as_slice()
    }
}

pub(super) fn pack(t: &Table, matches: &[MatchValue]) -> Result<Packed, TableError> {
    let mut value = vec![0u64; t.key_words];
    let mut mask = vec![0u64; t.key_words];
    let mut ranges = Vec::new();
    let mut prefix = None;
    for (k, m) in t.keys.iter().zip(matches) {
        let width = k.field.width;
        let n = words_for(width);
        let (v, b) = match m {
            MatchValue::Exact(v) if k.kind == MatchKind::Exact => {
                (v.clone(), prefix_mask(width, width))
            }
            MatchValue::Lpm { value, prefix_bits } if k.kind == MatchKind::Lpm => {
                prefix.get_or_insert(*prefix_bits);
                (value.clone(), prefix_mask(width, (*prefix_bits).min(width)))
            }
            MatchValue::Ternary { value, mask } if k.kind == MatchKind::Ternary => {
                (value.clone(), mask.clone())
            }
            MatchValue::Range { low, high } if k.kind == MatchKind::Range => {
                ranges.push(RangeTest {
                    field: k.field,
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
    Ok(Packed {
        value: value.into(),
        mask: mask.into(),
        ranges,
        prefix_bits: prefix.unwrap_or(0),
    })
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
