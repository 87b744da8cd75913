// SPDX-License-Identifier: Apache-2.0
//! Decides which arithmetic is wide enough for an expression.

use super::range::magnitude_bits;
use super::tree::{BinOp, Expr, HeaderRef, UnOp, Widths, WrapOp};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Need {
    Exact,
    /// Only the low bits that fit in the word.
    Low,
}

pub(super) fn need(low_bits: Option<u32>, word_bits: u32) -> Need {
    match low_bits {
        Some(n) if n <= word_bits => Need::Low,
        _ => Need::Exact,
    }
}

/// Returns whether `e` can be computed in wrapping words of `n` bits.
pub(super) fn fits(e: &Expr, need: Need, n: u32, w: &dyn Widths) -> bool {
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
        Expr::StacksEqual(..) | Expr::LastIndex(_) => true,
        Expr::HeadersEqual(p) => [&p.0, &p.1].into_iter().all(|h| match h {
            HeaderRef::Of(_) => true,
            HeaderRef::At { index, .. } => fits(index, Need::Exact, n, w),
        }),
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
                    // A small mask makes the result exact, whatever the other operand is.
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
                // Unsigned values of the full word still compare equal after wrapping.
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

/// Returns whether the value is never negative and at most `n` bits wide.
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
