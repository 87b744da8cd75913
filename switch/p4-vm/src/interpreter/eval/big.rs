// SPDX-License-Identifier: Apache-2.0
//! Any expression in integers without bound.

use num_bigint::{BigInt, Sign};
use num_traits::{ToPrimitive, Zero};

use super::stacks::{arg_ref, headers_equal, last_index, stack_field, stack_last, stacks_equal};
use crate::interpreter::env::Env;
use crate::vector::own_words;
use p4_ir::bits::big_from_words;
use p4_ir::{BinOp, Expr, FieldRef, UnOp, WrapOp};

/// Largest left shift computed with unbounded integers: beyond every width.
const MAX_SHIFT: usize = 1 << 17;

pub(super) fn eval_big(e: &Expr, env: Env<'_>) -> BigInt {
    let flag = |b: bool| BigInt::from(u8::from(b));
    let read = |words: &[u64], f: FieldRef| {
        if f.width <= 64 {
            big_from_words(&[f.get(words)], f.width, f.signed)
        } else {
            big_from_words(own_words(words, f), f.width, f.signed)
        }
    };
    match e {
        Expr::Const(c) => BigInt::from(*c),
        Expr::BigConst(b) => b.value.clone(),
        Expr::Field(f) => read(env.words, *f),
        Expr::Arg { offset, width } => read(env.args, arg_ref(*offset, *width)),
        Expr::StackLast { stack, field } => {
            stack_last(env, *stack, *field).map_or_else(BigInt::zero, |f| read(env.words, f))
        }
        Expr::StackAt {
            stack,
            field,
            index,
        } => {
            let i = eval_big(index, env).to_usize().unwrap_or(usize::MAX);
            stack_field(env, *stack, i, *field).map_or_else(BigInt::zero, |f| read(env.words, f))
        }
        Expr::Un(op, x) => {
            let v = eval_big(x, env);
            match op {
                UnOp::BitNot => -v - 1,
                UnOp::Neg => -v,
                UnOp::BoolNot => flag(v.is_zero()),
                UnOp::Bool => flag(!v.is_zero()),
            }
        }
        Expr::Cond(p) => {
            if eval_big(&p.0, env).is_zero() {
                eval_big(&p.2, env)
            } else {
                eval_big(&p.1, env)
            }
        }
        Expr::Wrap(op, width, x) => wrap_big(eval_big(x, env), *op, *width),
        Expr::HeadersEqual(a, b) => flag(headers_equal(env, *a, *b)),
        Expr::StacksEqual(a, b) => flag(stacks_equal(env, *a, *b)),
        Expr::LastIndex(s) => BigInt::from(last_index(env, *s)),
        Expr::Bin(op, p) => {
            let a = eval_big(&p.0, env);
            let b = eval_big(&p.1, env);
            match op {
                BinOp::Add => a + b,
                BinOp::Sub => a - b,
                BinOp::Mul => a * b,
                BinOp::Div => a.checked_div(&b).unwrap_or_default(),
                BinOp::Mod if b.is_zero() => b,
                BinOp::Mod => a % b,
                BinOp::Shl => match b.to_usize() {
                    Some(n) if n <= MAX_SHIFT => a << n,
                    _ => BigInt::zero(),
                },
                BinOp::Shr => match b.to_usize() {
                    Some(n) => a >> n.min(MAX_SHIFT),
                    None => BigInt::zero(),
                },
                BinOp::And => a & b,
                BinOp::Or => a | b,
                BinOp::Xor => a ^ b,
                BinOp::Eq => flag(a == b),
                BinOp::Ne => flag(a != b),
                BinOp::Lt => flag(a < b),
                BinOp::Gt => flag(a > b),
                BinOp::Le => flag(a <= b),
                BinOp::Ge => flag(a >= b),
                BinOp::BoolAnd => flag(!a.is_zero() && !b.is_zero()),
                BinOp::BoolOr => flag(!a.is_zero() || !b.is_zero()),
            }
        }
    }
}

fn wrap_big(v: BigInt, op: WrapOp, width: u32) -> BigInt {
    let one = BigInt::from(1);
    match op {
        WrapOp::TwosComplement => {
            let modulus = &one << width;
            let mut r = v % &modulus;
            if r.sign() == Sign::Minus {
                r += &modulus;
            }
            if r >= &one << (width.max(1) - 1) {
                r -= modulus;
            }
            r
        }
        WrapOp::SaturateUnsigned => v.clamp(BigInt::zero(), (&one << width) - 1),
        WrapOp::SaturateSigned => {
            let half = &one << (width.max(1) - 1);
            v.clamp(-half.clone(), half - 1)
        }
    }
}
