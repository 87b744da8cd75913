// SPDX-License-Identifier: Apache-2.0
//! Store coalescing: combines stores of constants and of copied fields into one word.

use crate::bytecode::{Op, Word};

/// The `mask` bits of the source word, rotated left by `rotate`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub from: u32,
    pub rotate: u8,
    /// Whether the source is the action's data instead of the header vector.
    pub argument: bool,
    /// Mask after the rotation.
    pub mask: u64,
}

/// `word[slot] = (word[slot] & keep) | value | part`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Assign {
    pub slot: u32,
    pub keep: u64,
    pub value: u64,
    pub part: Option<Part>,
}

struct Pending {
    slot: u32,
    keep: u64,
    value: u64,
    parts: Vec<Part>,
}

/// Assignments that have not been written yet. None reads a word that another one writes,
/// so their order does not matter.
#[derive(Default)]
pub(super) struct PendingStores {
    words: Vec<Pending>,
}

impl PendingStores {
    fn written(&self, slot: u32) -> bool {
        self.words.iter().any(|w| w.slot == slot)
    }

    fn read(&self, slot: u32) -> bool {
        let reads = |p: &Part| !p.argument && p.from == slot;
        self.words.iter().any(|w| w.parts.iter().any(reads))
    }

    /// Whether code that reads and writes these words may run before all pending stores.
    pub(super) fn independent(&self, reads: &[u32], writes: &[u32]) -> bool {
        !reads.iter().any(|s| self.written(*s))
            && !writes.iter().any(|s| self.written(*s) || self.read(*s))
    }

    /// Adds an assignment; returns `false` if the pending stores must be written first.
    pub(super) fn add(&mut self, a: Assign) -> bool {
        let source = a.part.filter(|p| !p.argument).map(|p| p.from);
        if source.is_some_and(|s| s == a.slot || self.written(s)) || self.read(a.slot) {
            // A word whose own bits are rearranged must be alone.
            if !self.words.is_empty() {
                return false;
            }
        }
        if let Some(w) = self.words.iter_mut().find(|w| w.slot == a.slot) {
            w.keep &= a.keep;
            w.value = (w.value & a.keep) | a.value;
            for p in &mut w.parts {
                p.mask &= a.keep;
            }
            w.parts.retain(|p| p.mask != 0);
            w.parts.extend(a.part);
        } else {
            self.words.push(Pending {
                slot: a.slot,
                keep: a.keep,
                value: a.value,
                parts: a.part.into_iter().collect(),
            });
        }
        true
    }

    /// Takes the pending stores as instructions.
    pub(super) fn take(&mut self) -> Vec<Op> {
        let (mut words, mut args) = (Vec::new(), Vec::new());
        for w in std::mem::take(&mut self.words) {
            let mut next = Word {
                slot: w.slot,
                from: w.slot,
                keep: w.keep,
                value: w.value,
                mask: 0,
                rotate: 0,
            };
            // Parts from the header vector first: the first part of a word also clears it.
            let (own, given): (Vec<&Part>, Vec<&Part>) = w.parts.iter().partition(|p| !p.argument);
            if own.is_empty() && given.is_empty() {
                words.push(next);
            }
            for (list, parts) in [(&mut words, own), (&mut args, given)] {
                for p in parts {
                    next.from = p.from;
                    next.rotate = p.rotate;
                    next.mask = p.mask;
                    list.push(next);
                    // Further parts are ORed in.
                    next.keep = u64::MAX;
                    next.value = 0;
                }
            }
        }
        let mut out = Vec::new();
        if !words.is_empty() {
            out.push(Op::Words(words.into()));
        }
        if !args.is_empty() {
            out.push(Op::ArgWords(args.into()));
        }
        out
    }
}
