// SPDX-License-Identifier: Apache-2.0
//! Conditions of checksums that compare words.

use p4_ir::FieldRef;

/// Tests whether `word[slot] & mask` is `value`, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guard {
    pub slot: u32,
    pub mask: u64,
    pub value: u64,
    pub is: bool,
}

impl Guard {
    pub(crate) fn new(f: FieldRef, value: u64, is: bool) -> Self {
        // One form for a single bit, so that equivalent guards are equal.
        let (value, is) = match (f.mask, value) {
            (1, 0 | 1) if !is => (1 - value, true),
            _ => (value, is),
        };
        Self {
            slot: f.slot,
            mask: f.mask << f.shift,
            // A value that the field cannot have must not be truncated to one that it can.
            value: if value > f.mask {
                u64::MAX
            } else {
                value << f.shift
            },
            is,
        }
    }

    #[inline(always)]
    pub(crate) fn holds(self, words: &[u64]) -> bool {
        let word = words.get(self.slot as usize).copied().unwrap_or(0);
        (word & self.mask == self.value) == self.is
    }
}
