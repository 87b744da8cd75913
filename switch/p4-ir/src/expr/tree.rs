// SPDX-License-Identifier: Apache-2.0
//! Expressions as trees.

use num_bigint::BigInt;

use crate::field::FieldRef;

/// Operators with two operands, on integers without bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
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

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnOp {
    /// `~`.
    BitNot,
    /// `!`.
    BoolNot,
    /// `-`.
    Neg,
    /// Any value to 0 or 1.
    Bool,
}

/// Casts to a width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapOp {
    /// Into the signed range of the width.
    TwosComplement,
    /// Clamp to the unsigned range.
    SaturateUnsigned,
    /// Clamp to the signed range.
    SaturateSigned,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Const(i64),
    /// A constant beyond `i64`.
    BigConst(Box<BigConst>),
    /// A field.
    Field(FieldRef),
    /// Field number `field` of the element of `stack` extracted last.
    #[allow(missing_docs)]
    StackLast { stack: u32, field: u32 },
    /// Field of the stack element that `index` selects; 0 outside.
    #[allow(missing_docs)]
    StackAt {
        stack: u32,
        field: u32,
        index: Box<Expr>,
    },
    /// An action's argument: offset in words into its data.
    #[allow(missing_docs)]
    Arg { offset: u32, width: u32 },
    /// One operand.
    Un(UnOp, Box<Expr>),
    /// Two operands.
    Bin(BinOp, Box<(Expr, Expr)>),
    /// Condition, then, else.
    Cond(Box<(Expr, Expr, Expr)>),
    /// Cast to that many bits.
    Wrap(WrapOp, u32, Box<Expr>),
    /// Both invalid, or both valid with equal fields.
    HeadersEqual(Box<(HeaderRef, HeaderRef)>),
    /// All elements equal.
    StacksEqual(u32, u32),
    /// Index of the element extracted last.
    LastIndex(u32),
}

/// A header that a primitive or an expression names.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderRef {
    /// The header of this number.
    Of(u32),
    /// The element of a stack that `index` selects; none outside the stack.
    #[allow(missing_docs)]
    At { stack: u32, index: Box<Expr> },
}

/// Widths of things that only the program knows.
pub trait Widths {
    /// Width and sign of field `field` of the elements of `stack`.
    fn stack_field(&self, stack: u32, field: u32) -> (u32, bool);
}

/// A constant that does not fit `i64`, and its low bits.
#[derive(Debug, Clone, PartialEq)]
pub struct BigConst {
    /// The value.
    pub value: BigInt,
    /// Its low 128 bits.
    pub low: i128,
}

impl BigConst {
    /// Any value.
    pub fn new(value: BigInt) -> Self {
        let mut w = [0u64; 2];
        crate::bits::words_from_big(&value, 128, &mut w);
        Self {
            low: ((u128::from(w[0]) << 64) | u128::from(w[1])) as i128,
            value,
        }
    }
}
