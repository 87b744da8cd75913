// SPDX-License-Identifier: Apache-2.0
//! Bounds on an expression's value.

use num_traits::ToPrimitive;

use super::tree::{BinOp, Expr, UnOp, Widths, WrapOp};

/// Returns whether the value is never negative.
pub(super) fn unsigned(e: &Expr, w: &dyn Widths) -> bool {
    match e {
        Expr::Const(c) => *c >= 0,
        Expr::Field(f) => !f.signed,
        Expr::Arg { .. } | Expr::HeadersEqual(_) | Expr::StacksEqual(..) => true,
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

/// Returns `Some(b)` if the value lies in (-2^b, 2^b).
pub(super) fn magnitude_bits(e: &Expr, w: &dyn Widths) -> Option<u32> {
    let of = |x: &Expr| magnitude_bits(x, w);
    Some(match e {
        Expr::Const(c) => 64 - c.unsigned_abs().leading_zeros(),
        Expr::BigConst(b) => b.value.bits().to_u32()?,
        Expr::Field(f) => f.width,
        Expr::StackLast { stack, field } | Expr::StackAt { stack, field, .. } => {
            w.stack_field(*stack, *field).0
        }
        Expr::Arg { width, .. } => *width,
        Expr::HeadersEqual(_) | Expr::StacksEqual(..) => 1,
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
