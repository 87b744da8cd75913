// SPDX-License-Identifier: Apache-2.0
//! What hashes and checksums are computed over.

use super::expr::{Compiled, FieldRef};
use super::gather::Gather;
use super::sum::Sum;

/// Neighbouring bits of one word, of one field or of several: these lists are
/// walked for every packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    pub slot: u32,
    pub shift: u8,
    /// At most 64.
    pub width: u8,
}

impl Piece {
    #[inline(always)]
    pub fn get(self, words: &[u64]) -> u64 {
        (words.get(self.slot as usize).copied().unwrap_or(0) >> (self.shift & 63))
            & super::bits::mask64(u32::from(self.width))
    }
}

#[derive(Debug)]
pub struct Calculation {
    pub name: String,
    pub algorithm: Algorithm,
    pub input: Vec<CalcInput>,
    /// All of the input, where it has a fixed layout.
    pub gather: Option<Gather>,
    /// Of a one's complement sum.
    pub sum: Option<Sum>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    Csum16,
    Crc16,
    Crc32,
    CrcCcitt,
    Xor16,
    Xor32,
    Identity,
    RoundRobin,
}

#[derive(Debug)]
pub enum CalcInput {
    /// Fields of at most 64 bits that share `valid`.
    Run {
        pieces: Vec<Piece>,
        valid: Option<u32>,
    },
    /// Skipped when the header of slot `valid` is invalid.
    Field {
        field: FieldRef,
        valid: Option<u32>,
    },
    Const {
        words: Vec<u64>,
        width_bits: u32,
    },
    Header(u32),
    Payload,
}

#[derive(Debug)]
pub struct Checksum {
    pub target: FieldRef,
    pub calculation: u32,
    pub verify: bool,
    pub update: bool,
    /// Both must hold: words that have these values, and the rest.
    pub guard: Vec<Guard>,
    pub condition: Option<Compiled>,
}

/// `word[slot] & mask` is `value`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    pub slot: u32,
    pub mask: u64,
    pub value: u64,
}

impl Guard {
    pub fn new(f: FieldRef, value: u64) -> Self {
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
    pub fn holds(self, words: &[u64]) -> bool {
        words.get(self.slot as usize).copied().unwrap_or(0) & self.mask == self.value
    }
}
