// SPDX-License-Identifier: Apache-2.0
//! Expressions as trees.

use num_bigint::BigInt;

use crate::field::FieldRef;

/// Binary operators on unbounded integers.
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

/// Unary operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnOp {
    /// `~`.
    BitNot,
    /// `!`.
    BoolNot,
    /// `-`.
    Neg,
    /// Converts any value to 0 or 1.
    Bool,
}

/// Casts to a width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapOp {
    /// Wraps into the signed range of the width.
    TwosComplement,
    /// Clamps to the unsigned range.
    SaturateUnsigned,
    /// Clamps to the signed range.
    SaturateSigned,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    /// A constant.
    Const(i64),
    /// A constant that does not fit `i64`.
    BigConst(Box<BigConst>),
    /// A field.
    Field(FieldRef),
    /// Field number `field` of the most recently extracted element of `stack`.
    #[allow(missing_docs)]
    StackLast { stack: u32, field: u32 },
    /// Field of the stack element that `index` selects; 0 outside the stack.
    #[allow(missing_docs)]
    StackAt {
        stack: u32,
        field: u32,
        index: Box<Expr>,
    },
    /// An action's argument, at an offset in words into the action's data.
    #[allow(missing_docs)]
    Arg { offset: u32, width: u32 },
    /// A unary operation.
    Un(UnOp, Box<Expr>),
    /// A binary operation.
    Bin(BinOp, Box<(Expr, Expr)>),
    /// A conditional: condition, then, else.
    Cond(Box<(Expr, Expr, Expr)>),
    /// A cast to that many bits.
    Wrap(WrapOp, u32, Box<Expr>),
    /// Whether both headers are invalid, or both valid with equal fields.
    HeadersEqual(Box<(HeaderRef, HeaderRef)>),
    /// Whether all elements of two stacks are equal.
    StacksEqual(u32, u32),
    /// Index of the most recently extracted element.
    LastIndex(u32),
}

/// A header named by a primitive or an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderRef {
    /// The header with this number.
    Of(u32),
    /// The stack element that `index` selects; no header if outside the stack.
    #[allow(missing_docs)]
    At { stack: u32, index: Box<Expr> },
}

/// Widths that only the program knows.
pub trait Widths {
    /// Returns width and sign of field `field` of the elements of `stack`.
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
    /// Takes any value.
    pub fn new(value: BigInt) -> Self {
        let mut w = [0u64; 2];
        crate::bits::words_from_big(&value, 128, &mut w);
        Self {
            low: ((u128::from(w[0]) << 64) | u128::from(w[1])) as i128,
            value,
        }
    }
}
