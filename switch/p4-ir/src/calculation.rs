// SPDX-License-Identifier: Apache-2.0
//! Input of hashes and checksums.

use crate::bits::mask64;
use crate::expr::TypedExpr;
use crate::field::FieldRef;

/// Adjacent bits of one word that belong to one or several fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The word.
    pub slot: u32,
    /// Position of the lowest bit in the word.
    pub shift: u8,
    /// Width in bits, at most 64.
    pub width: u8,
}

impl Piece {
    /// Returns the bits, right-aligned.
    #[inline(always)]
    pub fn get(self, words: &[u64]) -> u64 {
        (words.get(self.slot as usize).copied().unwrap_or(0) >> (self.shift & 63))
            & mask64(u32::from(self.width))
    }
}

/// An algorithm and its input.
#[derive(Debug, Clone)]
pub struct Calculation {
    /// Algorithm that turns the input into a number.
    pub algorithm: Algorithm,
    /// Parts of the input, in order.
    pub input: Vec<CalcInput>,
}

/// Algorithms of v1model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// Internet checksum (RFC 1071).
    Csum16,
    /// CRC-16/ARC.
    Crc16,
    /// CRC-32/ISO-HDLC.
    Crc32,
    /// CRC-16/IBM-3740.
    CrcCcitt,
    /// Exclusive or of 16-bit words.
    Xor16,
    /// Exclusive or of 32-bit words.
    Xor32,
    /// The first eight bytes of the input.
    Identity,
    /// A counter that ignores the input.
    RoundRobin,
}

/// A part of a calculation's input.
#[derive(Debug, Clone)]
pub enum CalcInput {
    /// Fields of at most 64 bits.
    Run {
        /// Bits of the fields, adjacent ones joined.
        pieces: Vec<Piece>,
        /// Slot of the validity bit: fields of an invalid header are skipped.
        valid: Option<u32>,
    },
    /// A wide or variable-length field.
    Field {
        /// Place in the header vector.
        field: FieldRef,
        /// Slot of the validity bit: the field of an invalid header is skipped.
        valid: Option<u32>,
    },
    /// A constant.
    Const {
        /// Words of the value, right-aligned, most significant first.
        words: Vec<u64>,
        /// Width in bits.
        width_bits: u32,
    },
    /// The rest of the packet after the parsed headers.
    Payload,
}

/// A checksum field that is verified after parsing or updated before deparsing.
#[derive(Debug)]
pub struct Checksum {
    /// The field that holds the checksum.
    pub target: FieldRef,
    /// Number of the calculation.
    pub calculation: u32,
    /// Whether it is verified after parsing.
    pub verify: bool,
    /// Whether it is updated before deparsing.
    pub update: bool,
    /// Slot of the validity bit of the header that holds the target.
    pub valid: Option<u32>,
    /// Condition that must hold in addition to the validity.
    pub condition: Option<TypedExpr>,
}
