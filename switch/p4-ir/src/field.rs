// SPDX-License-Identifier: Apache-2.0
//! Positions of fields in the header vector.

use crate::bits::mask64;

/// Position of a field. Fields of at most 64 bits may share a word with neighbours in their
/// header; a wider field has consecutive words of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRef {
    /// First word.
    pub slot: u32,
    /// Width in bits; the maximum for a variable-length field.
    pub width: u32,
    /// `width` ones (all 64 for a wide field).
    pub mask: u64,
    /// Position of the field's lowest bit in its word.
    pub shift: u8,
    /// Whether the field is signed (two's complement).
    pub signed: bool,
    /// Whether its length varies; the word before `slot` then holds the current length in bits.
    pub variable: bool,
}

impl FieldRef {
    /// Makes an unsigned field that has its word or words to itself.
    pub const fn alone(slot: u32, width: u32) -> Self {
        Self {
            slot,
            width,
            mask: mask64(width),
            shift: 0,
            signed: false,
            variable: false,
        }
    }

    /// Returns the field's bits; for a wide field those of the first word.
    #[inline(always)]
    pub fn get(self, words: &[u64]) -> u64 {
        Bits::from(self).get(words)
    }

    /// Stores the low bits of `value`; not for wide fields.
    #[inline(always)]
    pub fn set(self, words: &mut [u64], value: u64) {
        Bits::from(self).set(words, value);
    }
}

/// Position of a field of at most 64 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bits {
    /// The word.
    pub slot: u32,
    /// Position of the lowest bit in the word.
    pub shift: u8,
    /// Mask of the value before it is shifted up.
    pub mask: u64,
}

impl From<FieldRef> for Bits {
    #[inline(always)]
    fn from(f: FieldRef) -> Self {
        Self {
            slot: f.slot,
            shift: f.shift,
            mask: f.mask,
        }
    }
}

impl Bits {
    /// Returns the value, right-aligned.
    #[inline(always)]
    pub fn get(self, words: &[u64]) -> u64 {
        (words.get(self.slot as usize).copied().unwrap_or(0) >> (self.shift & 63)) & self.mask
    }

    /// Stores the low bits of `value`.
    #[inline(always)]
    pub fn set(self, words: &mut [u64], value: u64) {
        if let Some(w) = words.get_mut(self.slot as usize) {
            let shift = self.shift & 63;
            *w = (*w & !(self.mask << shift)) | ((value & self.mask) << shift);
        }
    }
}
