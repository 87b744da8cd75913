// SPDX-License-Identifier: Apache-2.0
//! Expressions, and the arithmetic that is wide enough for each.
//!
//! BMv2 computes with unbounded signed integers and cuts values only when they
//! are stored. [`Compiled::new`] finds for each expression the cheapest
//! arithmetic that gives the same result: wrapping 64 bits, wrapping 128 bits,
//! or integers without bound.

mod fits;
mod range;
mod simplify;

use num_bigint::BigInt;

use super::fast::Fast;
use super::op::Bits;
use fits::{fits, need};
pub use simplify::simplify;

/// Where a field is. Fields of at most 64 bits may share a word with their
/// neighbours in the header; a wider one has consecutive words of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldRef {
    pub slot: u32,
    /// In bits; the maximum for a variable-length field.
    pub width: u32,
    /// `width` ones (all 64 for a wide field).
    pub mask: u64,
    /// How far the field's lowest bit is up its word.
    pub shift: u8,
    pub signed: bool,
    /// The word in front of `slot` holds the present length in bits.
    pub variable: bool,
}

impl FieldRef {
    /// An unsigned field alone in its word or words.
    pub const fn alone(slot: u32, width: u32) -> Self {
        Self {
            slot,
            width,
            mask: super::bits::mask64(width),
            shift: 0,
            signed: false,
            variable: false,
        }
    }

    /// The field's bits; of a wide field the first word.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinOp {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Shl,
    Shr,
    Eq,
    Ne,
    Lt,
    Gt,
    Le,
    Ge,
    And,
    Or,
    Xor,
    BoolAnd,
    BoolOr,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnOp {
    BitNot,
    BoolNot,
    Neg,
    /// Any value to 0 or 1.
    Bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapOp {
    /// Into the signed range of the width.
    TwosComplement,
    /// Clamp to the unsigned range.
    SaturateUnsigned,
    /// Clamp to the signed range.
    SaturateSigned,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Const(i64),
    BigConst(Box<BigConst>),
    Field(FieldRef),
    /// Field number `field` of the element of `stack` extracted last.
    StackLast {
        stack: u32,
        field: u32,
    },
    StackAt {
        stack: u32,
        field: u32,
        index: Box<Expr>,
    },
    /// An action's argument: offset in words into its data.
    Arg {
        offset: u32,
        width: u32,
    },
    Un(UnOp, Box<Expr>),
    Bin(BinOp, Box<(Expr, Expr)>),
    /// Condition, then, else.
    Cond(Box<(Expr, Expr, Expr)>),
    Wrap(WrapOp, u32, Box<Expr>),
    /// Both invalid, or both valid with equal fields.
    HeadersEqual(u32, u32),
    StacksEqual(u32, u32),
    /// Index of the element extracted last.
    LastIndex(u32),
}

/// Widths of things that only the program knows.
pub trait Widths {
    /// Width and sign of field `field` of the elements of `stack`.
    fn stack_field(&self, stack: u32, field: u32) -> (u32, bool);
}

/// A constant that does not fit `i64`, and its low bits.
#[derive(Debug, Clone, PartialEq)]
pub struct BigConst {
    pub value: BigInt,
    pub low: i128,
}

impl BigConst {
    pub fn new(value: BigInt) -> Self {
        let mut w = [0u64; 2];
        super::bits::words_from_big(&value, 128, &mut w);
        Self {
            low: ((u128::from(w[0]) << 64) | u128::from(w[1])) as i128,
            value,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    Wrap64,
    Wrap128,
    Unbounded,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Compiled {
    pub expr: Expr,
    pub tier: Tier,
    /// Of [`Tier::Wrap64`] only.
    pub fast: Fast,
}

impl Compiled {
    /// `low_bits`: only that many low bits of the result will be used; `None`
    /// when its exact value matters.
    pub fn new(expr: Expr, low_bits: Option<u32>, widths: &dyn Widths) -> Self {
        let expr = simplify(expr, low_bits, widths);
        let tier = if fits(&expr, need(low_bits, 64), 64, widths) {
            Tier::Wrap64
        } else if fits(&expr, need(low_bits, 128), 128, widths) {
            Tier::Wrap128
        } else {
            Tier::Unbounded
        };
        let fast = if tier == Tier::Wrap64 {
            Fast::new(&expr)
        } else {
            Fast::Tree
        };
        Self { expr, tier, fast }
    }
}
