// SPDX-License-Identifier: Apache-2.0
//! Access to the words of a header vector.

use p4_ir::FieldRef;
use p4_ir::bits::words_for;

/// Reads a word; 0 outside the vector, which the loader rules out.
#[inline(always)]
pub(crate) fn word(words: &[u64], slot: u32) -> u64 {
    words.get(slot as usize).copied().unwrap_or(0)
}

#[inline(always)]
pub(crate) fn set_word(words: &mut [u64], slot: u32, value: u64) {
    if let Some(w) = words.get_mut(slot as usize) {
        *w = value;
    }
}

/// Returns all words of a wide or variable-length field, which shares no word.
pub(crate) fn own_words(words: &[u64], f: FieldRef) -> &[u64] {
    let start = f.slot as usize;
    words
        .get(start..start + words_for(f.width))
        .unwrap_or_default()
}

/// Returns the current length in bits, which varies only for a variable-length field.
pub(crate) fn field_bits(words: &[u64], f: FieldRef) -> u32 {
    if f.variable {
        (word(words, f.slot.wrapping_sub(1)) as u32).min(f.width)
    } else {
        f.width
    }
}
