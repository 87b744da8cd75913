// SPDX-License-Identifier: Apache-2.0
//! The parser.

use crate::expr::TypedExpr;
use crate::field::FieldRef;
use crate::primitive::Primitive;

/// Numbers that the program assigns to the architecture's parser errors.
#[derive(Debug, Default, Clone)]
pub struct ParserErrors {
    /// `error.PacketTooShort`.
    pub packet_too_short: u64,
    /// `error.HeaderTooShort`.
    pub header_too_short: u64,
    /// `error.StackOutOfBounds`.
    pub stack_out_of_bounds: u64,
    /// `error.ParserInvalidArgument`.
    pub invalid_argument: u64,
}

/// A state of the parser.
#[derive(Debug, Default)]
pub struct ParseState {
    /// Operations, executed in order.
    pub ops: Vec<ParseOp>,
    /// Key of the `select`.
    pub key: Vec<KeyPiece>,
    /// Words of the key.
    pub key_words: usize,
    /// Transitions; the first match is taken.
    pub transitions: Vec<Transition>,
}

/// An operation of a parser state. Numbers identify headers and stacks.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum ParseOp {
    /// `extract(header)`.
    Extract(u32),
    /// `extract(stack.next)`.
    ExtractNext(u32),
    /// `extract(stack.next, bits)`.
    ExtractNextVariable { stack: u32, bits: TypedExpr },
    /// `extract(header, bits)`.
    ExtractVariable { header: u32, bits: TypedExpr },
    /// `dst = lookahead()`, `offset_bits` after the parser's position.
    SetLookahead {
        dst: FieldRef,
        offset_bits: u32,
        width_bits: u32,
    },
    /// `verify(condition, error)`.
    Verify {
        condition: TypedExpr,
        error: TypedExpr,
    },
    /// `advance(bits)`.
    Advance { bits: TypedExpr },
    /// Assignments and other primitives.
    Run(Vec<Primitive>),
}

/// One part of a parser's select key, padded to whole bytes.
#[derive(Debug)]
pub struct KeyPiece {
    /// Source of the value.
    pub source: KeySource,
    /// Width of the value.
    pub width_bits: u32,
    /// Width with padding.
    pub padded_bits: u32,
}

/// Sources of the parts of a select key.
#[derive(Debug)]
#[allow(missing_docs)]
pub enum KeySource {
    /// A field.
    Field(FieldRef),
    /// A field of the most recently extracted stack element.
    StackLast { stack: u32, field: u32 },
    /// Bits of the packet after the parser's position.
    Lookahead { offset_bits: u32 },
}

/// A case of a `select`.
#[derive(Debug)]
pub struct Transition {
    /// Condition of the transition.
    pub case: Case,
    /// Next state, or [`END`](crate::END).
    pub next: u32,
}

/// Condition of a transition.
#[derive(Debug)]
pub enum Case {
    /// Always.
    Default,
    /// `(key & mask) == value`, in words of the packed key.
    Value {
        /// The value, already masked.
        value: Vec<u64>,
        /// Bits of the key that are compared.
        mask: Vec<u64>,
    },
    /// The key is a member of this value set.
    Set(u32),
}

/// A parser value set.
#[derive(Debug)]
pub struct ValueSet {
    /// Name in the P4 source.
    pub name: String,
    /// Width of a member.
    pub width_bits: u32,
}
