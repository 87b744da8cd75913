// SPDX-License-Identifier: Apache-2.0
//! What hashes and checksums are computed over.

use crate::bits::mask64;
use crate::expr::TypedExpr;
use crate::field::FieldRef;

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
            & mask64(u32::from(self.width))
    }
}

#[derive(Debug, Clone)]
pub struct Calculation {
    pub name: String,
    pub algorithm: Algorithm,
    pub input: Vec<CalcInput>,
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

#[derive(Debug, Clone)]
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
    /// Slot of the validity bit of the header that holds the target.
    pub valid: Option<u32>,
    /// Must hold beside the validity.
    pub condition: Option<TypedExpr>,
}
