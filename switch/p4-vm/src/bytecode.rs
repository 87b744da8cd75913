// SPDX-License-Identifier: Apache-2.0
//! Bytecode: small instructions on words of the header vector, an accumulator and an index.
//! Each instruction contains all that it needs.

use p4_ir::{ActionCall, Algorithm, Bits, Primitive};

use crate::layout::compiled::Compiled;
use crate::layout::fixed_input::FixedInput;
use crate::layout::shape::Relation;

/// `word[slot] = (word[slot] & keep) | value | part`; the part is word `from`, rotated left by
/// `rotate` and then masked with `mask`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    pub slot: u32,
    pub from: u32,
    pub keep: u64,
    pub value: u64,
    pub mask: u64,
    pub rotate: u8,
}

/// `to = base + hash % max`, for an input with a fixed layout.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hash {
    pub input: FixedInput,
    pub algorithm: Algorithm,
    pub to: Bits,
    pub base: u64,
    /// At least 1.
    pub max: u64,
}

/// `to = from * factor + term`, in wrapping arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Affine {
    pub from: Bits,
    pub to: Bits,
    pub factor: u64,
    pub term: u64,
}

/// `to = if test <relation> value { yes } else { no }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choose {
    pub test: Bits,
    pub relation: Relation,
    pub value: u64,
    pub yes: Source,
    pub no: Source,
    pub to: Bits,
}

/// A field, or a constant if the field has an empty mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    pub from: Bits,
    pub constant: u64,
}

impl Source {
    #[inline(always)]
    pub(crate) fn get(self, words: &[u64]) -> u64 {
        self.from.get(words) | self.constant
    }
}

/// Makes a header of fixed length valid, and zeroes its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Add {
    pub valid: u32,
    pub first: u32,
    pub words: u32,
    pub bytes: u32,
}

/// Right-hand side of an operation on the accumulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arith {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
}

/// An instruction. The accumulator holds 64-bit values in wrapping arithmetic, signed where
/// the sign matters. Jump targets are positions in the list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    Words(Box<[Word]>),
    /// Like `Words`, but the parts come from the action's data.
    ArgWords(Box<[Word]>),
    /// Executed one after the other.
    Affine(Vec<Affine>),
    Choose(Box<Choose>),

    /// Accumulator := ...
    Load(Bits),
    LoadSigned {
        bits: Bits,
        width: u8,
    },
    LoadArg(Bits),
    Imm(i64),
    /// Low 64 bits of any expression.
    Eval(Box<Compiled>),

    Add(i64),
    Mul(i64),
    And(i64),
    Or(i64),
    Xor(i64),
    /// Shift by less than 64.
    Shl(u8),
    Shr(u8),
    Clamp {
        low: i64,
        high: i64,
    },
    /// Shifts left, then right arithmetically.
    SignExtend(u8),
    Field(Arith, Bits),
    Arg(Arith, Bits),
    /// Accumulator := 1 if it relates to the value (unsigned), else 0.
    Is(Relation, u64),

    /// Saves the accumulator for [`Op::Held`].
    Hold,
    /// Operation with the saved value as the right-hand side.
    Held(Arith),

    /// Stores the accumulator's low bits in a field.
    Put(Bits),

    /// Index := accumulator; `usize::MAX` if negative.
    Index,
    IndexField(Bits),
    IndexImm(u32),
    IndexEval(Box<Compiled>),

    /// Field := cell; unchanged if there is no such cell.
    ReadCell {
        register: u32,
        to: Bits,
    },
    /// Cell := accumulator, truncated to `mask`.
    WriteCell {
        register: u32,
        mask: u64,
    },
    Count {
        counter: u32,
    },
    /// Truncates the frame to the accumulator's number of bytes.
    Truncate,

    Hash(Box<Hash>),

    AddHeaders(Vec<Add>),
    RemoveHeader {
        valid: u32,
        bytes: u32,
    },

    /// Jumps forward, like all jumps but [`Op::Back`].
    Jump(u32),
    /// Jumps to this position or backwards; counted, so that no list runs for ever.
    Back(u32),
    /// Jump if none of these bits is set, or (`JumpIfSet`) if any is.
    JumpIfClear {
        slot: u32,
        target: u32,
        mask: u64,
    },
    JumpIfSet {
        slot: u32,
        target: u32,
        mask: u64,
    },
    /// Jump if `words[slot] & mask` is `value`, or (`JumpUnlessEqual`) if it is not.
    JumpIfEqual {
        slot: u32,
        target: u32,
        mask: u64,
        value: u64,
    },
    JumpUnlessEqual {
        slot: u32,
        target: u32,
        mask: u64,
        value: u64,
    },
    /// Jump if `words[slot] & mask` relates to `value`.
    JumpIf {
        relation: Relation,
        slot: u32,
        target: u32,
        mask: u64,
        value: u64,
    },
    /// Jump if the accumulator, unsigned, relates to the field.
    JumpIfField {
        relation: Relation,
        target: u32,
        with: Bits,
    },
    JumpIfArg {
        relation: Relation,
        target: u32,
        with: Bits,
    },
    JumpIfFalse {
        condition: Box<Compiled>,
        target: u32,
    },

    Call(Box<ActionCall>),
    /// Any rare or long primitive.
    Other(Box<Primitive>),
    /// Applies the table, which decides the next node.
    Table(u32),
    End,
    EndIfExit,
}

/// The nodes of a pipeline as a single list.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub ops: Box<[Op]>,
    /// Position of each node; [`p4_ir::END`] for a node that is never entered.
    pub starts: Box<[u32]>,
}
