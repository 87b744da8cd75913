// SPDX-License-Identifier: Apache-2.0
//! Conditions of checksums that compare words.

use p4_ir::FieldRef;

/// `word[slot] & mask` is `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guard {
    pub slot: u32,
    pub mask: u64,
    pub value: u64,
}

impl Guard {
    pub(crate) fn new(f: FieldRef, value: u64) -> Self {
        Self {
            slot: f.slot,
            mask: f.mask << f.shift,
            // A value that the field cannot have is not cut to one it can.
            value: if value > f.mask {
                u64::MAX
            } else {
                value << f.shift
            },
        }
    }

    #[inline(always)]
    pub(crate) fn holds(self, words: &[u64]) -> bool {
        words.get(self.slot as usize).copied().unwrap_or(0) & self.mask == self.value
    }
}
