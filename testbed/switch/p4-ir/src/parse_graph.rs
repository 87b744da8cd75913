// SPDX-License-Identifier: Apache-2.0
//! The parser.

use crate::expr::TypedExpr;
use crate::field::FieldRef;
use crate::primitive::Primitive;

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
}

#[derive(Debug)]
pub enum ParseOp {
    Extract(u32),
    ExtractNext(u32),
    ExtractNextVariable {
        stack: u32,
        bits: TypedExpr,
    },
    ExtractVariable {
        header: u32,
        bits: TypedExpr,
    },
    SetLookahead {
        dst: FieldRef,
        offset_bits: u32,
        width_bits: u32,
    },
    Verify {
        condition: TypedExpr,
        error: TypedExpr,
    },
    Advance {
        bits: TypedExpr,
    },
    /// Assignments and other primitives.
    Run(Vec<Primitive>),
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
