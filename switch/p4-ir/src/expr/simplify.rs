// SPDX-License-Identifier: Apache-2.0
//! Removes parts of expressions that make no difference.

use num_bigint::BigInt;

use super::range::{magnitude_bits, unsigned};
use super::tree::{BigConst, BinOp, Expr, UnOp, Widths, WrapOp};
use crate::bits::mask64;

/// Removes masks that change nothing: p4c masks after every operation, and a store masks
/// again. `low_bits` as in [`TypedExpr::new`].
pub(crate) fn simplify(e: Expr, low_bits: Option<u32>, w: &dyn Widths) -> Expr {
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

/// Returns `Some(n)` for the constant 2^n - 1.
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
        Expr::Const(mask64(bits) as i64)
    } else {
        Expr::BigConst(Box::new(BigConst::new((BigInt::from(1) << bits) - 1)))
    }
}
