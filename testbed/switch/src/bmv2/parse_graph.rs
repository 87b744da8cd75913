// SPDX-License-Identifier: Apache-2.0
//! The parser of a compiled program.

use super::expr::{Compiled, FieldRef};
use super::op::Op;
use super::packed::Packed;
use super::select::Select;

/// Numbers that the program gives to the architecture's parser errors.
#[derive(Debug, Default, Clone)]
pub struct ParserErrors {
    pub packet_too_short: u64,
    pub header_too_short: u64,
    pub stack_out_of_bounds: u64,
    pub invalid_argument: u64,
}

#[derive(Debug, Default)]
pub struct ParseState {
    pub name: String,
    pub ops: Vec<ParseOp>,
    pub key: Vec<KeyPiece>,
    /// Words of the key.
    pub key_words: usize,
    pub transitions: Vec<Transition>,
    /// Instead of the key, where it is simple.
    pub select: Option<Select>,
}

#[derive(Debug)]
pub enum ParseOp {
    Extract(u32),
    ExtractPacked(Packed),
    ExtractNext(u32),
    ExtractNextVariable {
        stack: u32,
        bits: Compiled,
    },
    ExtractVariable {
        header: u32,
        bits: Compiled,
    },
    SetLookahead {
        dst: FieldRef,
        offset_bits: u32,
        width_bits: u32,
    },
    Verify {
        condition: Compiled,
        error: Compiled,
    },
    Advance {
        bits: Compiled,
    },
    /// Assignments and other primitives.
    Run(Box<[Op]>),
}

/// One part of a parser's select key, padded to whole bytes.
#[derive(Debug)]
pub struct KeyPiece {
    pub source: KeySource,
    pub width_bits: u32,
    /// Bytes of the whole key in front of this piece, for packing.
    pub padded_bits: u32,
}

#[derive(Debug)]
pub enum KeySource {
    Field(FieldRef),
    StackLast { stack: u32, field: u32 },
    Lookahead { offset_bits: u32 },
}

#[derive(Debug)]
pub struct Transition {
    pub case: Case,
    pub next: u32,
}

#[derive(Debug)]
pub enum Case {
    Default,
    /// (key & mask) == value, words of the packed key.
    Value {
        value: Vec<u64>,
        mask: Vec<u64>,
    },
    Set(u32),
}

#[derive(Debug)]
pub struct ValueSet {
    pub name: String,
    pub width_bits: u32,
}
