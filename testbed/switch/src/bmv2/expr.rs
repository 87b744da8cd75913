// SPDX-License-Identifier: Apache-2.0
//! Expressions, and the arithmetic that is wide enough for each.
//!
//! BMv2 computes with unbounded signed integers and cuts values only when they
//! are stored. [`Compiled::new`] finds for each expression the cheapest
//! arithmetic that gives the same result: wrapping 64 bits, wrapping 128 bits,
//! or integers without bound.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::fast::Fast;
use super::op::Bits;

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

/// Drops masks that change nothing: p4c masks after every operation, and a
/// store masks once more. `low_bits` as in [`Compiled::new`].
pub fn simplify(e: Expr, low_bits: Option<u32>, w: &dyn Widths) -> Expr {
    match e {
        Expr::Bin(BinOp::And, p) => {
            let (a, b) = *p;
            let (x, mask) = match (ones(&a), ones(&b)) {
                (_, Some(n)) => (a, n),
                (Some(n), None) => (b, n),
                (None, None) => {
                    let both = (simplify(a, low_bits, w), simplify(b, low_bits, w));
                    return Expr::Bin(BinOp::And, Box::new(both));
                }
            };
            let inner = Some(low_bits.unwrap_or(mask).min(mask));
            let x = simplify(x, inner, w);
            let unneeded = low_bits.is_some_and(|n| n <= mask)
                || (unsigned(&x, w) && magnitude_bits(&x, w).is_some_and(|b| b <= mask));
            if unneeded {
                return x;
            }
            Expr::Bin(BinOp::And, Box::new((x, mask_of(mask))))
        }
        Expr::Bin(op, p) => {
            let (a, b) = *p;
            let (left, right) = match op {
                BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Or | BinOp::Xor => {
                    (low_bits, low_bits)
                }
                BinOp::Shl => (low_bits, None),
                _ => (None, None),
            };
            Expr::Bin(op, Box::new((simplify(a, left, w), simplify(b, right, w))))
        }
        Expr::Un(op, x) => {
            let inner = match op {
                UnOp::BitNot | UnOp::Neg => low_bits,
                UnOp::BoolNot | UnOp::Bool => None,
            };
            let x = simplify(*x, inner, w);
            if op == UnOp::Bool && unsigned(&x, w) && magnitude_bits(&x, w) == Some(1) {
                return x;
            }
            Expr::Un(op, Box::new(x))
        }
        Expr::Cond(p) => {
            let (c, a, b) = *p;
            Expr::Cond(Box::new((
                simplify(c, None, w),
                simplify(a, low_bits, w),
                simplify(b, low_bits, w),
            )))
        }
        Expr::Wrap(op, width, x) => {
            let inner = (op == WrapOp::TwosComplement).then_some(width);
            Expr::Wrap(op, width, Box::new(simplify(*x, inner, w)))
        }
        Expr::StackAt {
            stack,
            field,
            index,
        } => Expr::StackAt {
            stack,
            field,
            index: Box::new(simplify(*index, None, w)),
        },
        other => other,
    }
}

/// `Some(n)`: the constant 2^n - 1.
fn ones(e: &Expr) -> Option<u32> {
    match e {
        Expr::Const(c) if *c > 0 && (*c as u64 + 1).is_power_of_two() => Some(c.trailing_ones()),
        Expr::BigConst(b) => {
            let n = b.value.bits();
            let all = (BigInt::from(1) << n) - 1;
            (b.value == all).then_some(u32::try_from(n).ok()?)
        }
        _ => None,
    }
}

fn mask_of(bits: u32) -> Expr {
    if bits < 64 {
        Expr::Const(super::bits::mask64(bits) as i64)
    } else {
        Expr::BigConst(Box::new(BigConst::new((BigInt::from(1) << bits) - 1)))
    }
}

/// Never negative.
fn unsigned(e: &Expr, w: &dyn Widths) -> bool {
    match e {
        Expr::Const(c) => *c >= 0,
        Expr::Field(f) => !f.signed,
        Expr::Arg { .. } | Expr::HeadersEqual(..) | Expr::StacksEqual(..) => true,
        Expr::StackLast { stack, field } | Expr::StackAt { stack, field, .. } => {
            !w.stack_field(*stack, *field).1
        }
        Expr::Un(UnOp::Bool | UnOp::BoolNot, _) => true,
        Expr::Wrap(WrapOp::SaturateUnsigned, ..) => true,
        Expr::Cond(p) => unsigned(&p.1, w) && unsigned(&p.2, w),
        Expr::Bin(op, p) => match op {
            BinOp::Add | BinOp::Mul | BinOp::Div | BinOp::Mod | BinOp::Or | BinOp::Xor => {
                unsigned(&p.0, w) && unsigned(&p.1, w)
            }
            BinOp::Shl | BinOp::Shr => unsigned(&p.0, w),
            BinOp::And => unsigned(&p.0, w) || unsigned(&p.1, w),
            BinOp::Sub => false,
            _ => true,
        },
        _ => false,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Need {
    Exact,
    /// Only the low bits that the word holds.
    Low,
}

fn need(low_bits: Option<u32>, word_bits: u32) -> Need {
    match low_bits {
        Some(n) if n <= word_bits => Need::Low,
        _ => Need::Exact,
    }
}

/// Can `e` be computed in wrapping words of `n` bits?
fn fits(e: &Expr, need: Need, n: u32, w: &dyn Widths) -> bool {
    let bounded = || need == Need::Low || magnitude_bits(e, w).is_some_and(|b| b < n);
    match e {
        Expr::Const(_) => true,
        Expr::BigConst(b) => need == Need::Low || b.value.bits() < u64::from(n),
        Expr::Field(f) => !f.variable && f.width <= n && bounded(),
        Expr::StackLast { .. } => bounded() && magnitude_bits(e, w).is_some_and(|b| b <= n),
        Expr::StackAt { index, .. } => {
            bounded()
                && magnitude_bits(e, w).is_some_and(|b| b <= n)
                && fits(index, Need::Exact, n, w)
        }
        Expr::Arg { width, .. } => *width <= n && bounded(),
        Expr::HeadersEqual(..) | Expr::StacksEqual(..) | Expr::LastIndex(_) => true,
        Expr::Un(UnOp::BitNot | UnOp::Neg, x) => {
            if need == Need::Low {
                fits(x, Need::Low, n, w)
            } else {
                bounded() && fits(x, Need::Exact, n, w)
            }
        }
        Expr::Un(UnOp::BoolNot | UnOp::Bool, x) => fits(x, Need::Exact, n, w),
        Expr::Wrap(op, width, x) => match op {
            WrapOp::TwosComplement => *width <= n && fits(x, Need::Low, n, w),
            WrapOp::SaturateUnsigned | WrapOp::SaturateSigned => {
                *width < n && fits(x, Need::Exact, n, w)
            }
        },
        Expr::Cond(p) => {
            fits(&p.0, Need::Exact, n, w) && fits(&p.1, need, n, w) && fits(&p.2, need, n, w)
        }
        Expr::Bin(op, p) => {
            let both = |need| fits(&p.0, need, n, w) && fits(&p.1, need, n, w);
            match op {
                BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Or | BinOp::Xor => {
                    if need == Need::Low {
                        both(Need::Low)
                    } else {
                        bounded() && both(Need::Exact)
                    }
                }
                BinOp::And => {
                    // A small mask makes the result exact whatever the rest is.
                    if need == Need::Low || is_mask(&p.0, n) || is_mask(&p.1, n) {
                        both(Need::Low)
                    } else {
                        bounded() && both(Need::Exact)
                    }
                }
                BinOp::Shl => {
                    if need == Need::Low {
                        fits(&p.0, Need::Low, n, w) && fits(&p.1, Need::Exact, n, w)
                    } else {
                        bounded() && both(Need::Exact)
                    }
                }
                BinOp::Div | BinOp::Mod | BinOp::Shr => both(Need::Exact),
                // Unsigned values of the full word compare equal as they wrap.
                BinOp::Eq | BinOp::Ne => {
                    both(Need::Exact)
                        || (both(Need::Low)
                            && unsigned_word(&p.0, n, w)
                            && unsigned_word(&p.1, n, w))
                }
                BinOp::Lt | BinOp::Gt | BinOp::Le | BinOp::Ge => both(Need::Exact),
                BinOp::BoolAnd | BinOp::BoolOr => both(Need::Exact),
            }
        }
    }
}

fn is_mask(e: &Expr, n: u32) -> bool {
    match e {
        Expr::Const(c) => *c >= 0,
        Expr::BigConst(b) => {
            b.value.bits() < u64::from(n) && b.value.sign() != num_bigint::Sign::Minus
        }
        _ => false,
    }
}

/// Never negative and at most `n` bits wide.
fn unsigned_word(e: &Expr, n: u32, w: &dyn Widths) -> bool {
    match e {
        Expr::Const(c) => *c >= 0,
        Expr::BigConst(b) => {
            b.value.bits() <= u64::from(n) && b.value.sign() != num_bigint::Sign::Minus
        }
        Expr::Field(f) => !f.signed && f.width <= n,
        Expr::StackLast { stack, field } | Expr::StackAt { stack, field, .. } => {
            let (width, signed) = w.stack_field(*stack, *field);
            !signed && width <= n
        }
        Expr::Arg { width, .. } => *width <= n,
        Expr::Bin(BinOp::And, p) => unsigned_word(&p.0, n, w) || unsigned_word(&p.1, n, w),
        _ => false,
    }
}

/// `Some(b)`: the value lies in (-2^b, 2^b).
fn magnitude_bits(e: &Expr, w: &dyn Widths) -> Option<u32> {
    let of = |x: &Expr| magnitude_bits(x, w);
    Some(match e {
        Expr::Const(c) => 64 - c.unsigned_abs().leading_zeros(),
        Expr::BigConst(b) => b.value.bits().to_u32()?,
        Expr::Field(f) => f.width,
        Expr::StackLast { stack, field } | Expr::StackAt { stack, field, .. } => {
            w.stack_field(*stack, *field).0
        }
        Expr::Arg { width, .. } => *width,
        Expr::HeadersEqual(..) | Expr::StacksEqual(..) => 1,
        Expr::LastIndex(_) => 32,
        Expr::Un(UnOp::BitNot, x) => of(x)?.checked_add(1)?,
        Expr::Un(UnOp::Neg, x) => of(x)?,
        Expr::Un(UnOp::BoolNot | UnOp::Bool, _) => 1,
        Expr::Wrap(_, width, _) => *width,
        Expr::Cond(p) => of(&p.1)?.max(of(&p.2)?),
        Expr::Bin(op, p) => match op {
            BinOp::Add | BinOp::Sub => of(&p.0)?.max(of(&p.1)?).checked_add(1)?,
            BinOp::Mul => of(&p.0)?.checked_add(of(&p.1)?)?,
            BinOp::Div | BinOp::Shr => of(&p.0)?,
            BinOp::Mod => of(&p.1)?,
            BinOp::Shl => match &p.1 {
                Expr::Const(c) => of(&p.0)?.checked_add(u32::try_from(*c).ok()?)?,
                _ => return None,
            },
            BinOp::And => {
                let mask = |x: &Expr| matches!(x, Expr::Const(c) if *c >= 0);
                match (of(&p.0), of(&p.1)) {
                    (_, Some(b)) if mask(&p.1) => b,
                    (Some(a), _) if mask(&p.0) => a,
                    (Some(a), Some(b)) => a.max(b).checked_add(1)?,
                    _ => return None,
                }
            }
            BinOp::Or | BinOp::Xor => of(&p.0)?.max(of(&p.1)?).checked_add(1)?,
            _ => 1,
        },
    })
}
