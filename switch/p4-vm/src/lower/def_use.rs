// SPDX-License-Identifier: Apache-2.0
//! Def-use: the words that an instruction reads and writes.

use crate::bytecode::Op;

#[derive(Default)]
pub(super) struct DefUse {
    reads: Vec<u32>,
    writes: Vec<u32>,
}

impl DefUse {
    /// `None` for an instruction that jumps or depends on more than words.
    pub(super) fn of(op: &Op) -> Option<Self> {
        let mut t = Self::default();
        match op {
            Op::Words(list) => {
                for w in list {
                    t.reads.extend([w.from, w.slot]);
                    t.writes.push(w.slot);
                }
            }
            Op::Affine(list) => {
                for a in list {
                    t.reads.extend([a.from.slot, a.to.slot]);
                    t.writes.push(a.to.slot);
                }
            }
            Op::Choose(c) => {
                t.reads.extend(c.reads());
                t.reads.push(c.to.slot);
                t.writes.push(c.to.slot);
            }
            Op::AddHeaders(list) => {
                for h in list {
                    t.writes.push(h.valid);
                    t.writes.extend(h.first..h.first.saturating_add(h.words));
                }
                t.reads.clone_from(&t.writes);
            }
            _ => return None,
        }
        Some(t)
    }

    /// Returns whether the two instructions may be swapped.
    pub(super) fn independent(&self, other: &Self) -> bool {
        let apart = |a: &[u32], b: &[u32]| a.iter().all(|x| !b.contains(x));
        // The words read include the words written.
        apart(&self.reads, &other.writes) && apart(&self.writes, &other.reads)
    }
}
