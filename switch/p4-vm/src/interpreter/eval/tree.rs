// SPDX-License-Identifier: Apache-2.0
//! Any expression in words.

use super::int::Int;
use super::stacks::{arg_ref, headers_equal, last_index, stack_field, stack_last, stacks_equal};
use crate::interpreter::env::Env;
use p4_ir::{BinOp, Expr, UnOp};

/// Most operands are leaves: they need no call.
#[inline(always)]
pub(super) fn eval<T: Int>(e: &Expr, env: Env<'_>) -> T {
    match e {
        Expr::Const(c) => T::constant(*c),
        Expr::Field(f) => T::read(env.words, *f),
        other => tree(other, env),
    }
}

fn tree<T: Int>(e: &Expr, env: Env<'_>) -> T {
    match e {
        Expr::Const(c) => T::constant(*c),
        Expr::BigConst(b) => T::big(b.low),
        Expr::Field(f) => T::read(env.words, *f),
        Expr::Arg { offset, width } => T::read(env.args, arg_ref(*offset, *width)),
        Expr::StackLast { stack, field } => stack_last(env, *stack, *field)
            .map_or_else(|| T::constant(0), |f| T::read(env.words, f)),
        Expr::StackAt {
            stack,
            field,
            index,
        } => stack_field(env, *stack, eval::<T>(index, env).index(), *field)
            .map_or_else(|| T::constant(0), |f| T::read(env.words, f)),
        Expr::Un(op, x) => {
            let v: T = eval(x, env);
            match op {
                UnOp::BitNot => v.not(),
                UnOp::Neg => T::constant(0).sub(v),
                UnOp::BoolNot => T::from(v == T::constant(0)),
                UnOp::Bool => T::from(v != T::constant(0)),
            }
        }
        Expr::Cond(p) => {
            if eval::<T>(&p.0, env) != T::constant(0) {
                eval(&p.1, env)
            } else {
                eval(&p.2, env)
            }
        }
        Expr::Wrap(op, width, x) => eval::<T>(x, env).wrap(*op, *width),
        Expr::HeadersEqual(a, b) => T::from(headers_equal(env, *a, *b)),
        Expr::StacksEqual(a, b) => T::from(stacks_equal(env, *a, *b)),
        Expr::LastIndex(s) => T::constant(last_index(env, *s)),
        Expr::Bin(op, p) => {
            let a: T = eval(&p.0, env);
            let b: T = eval(&p.1, env);
            match op {
                BinOp::Add => a.add(b),
                BinOp::Sub => a.sub(b),
                BinOp::Mul => a.mul(b),
                BinOp::Div => a.div(b),
                BinOp::Mod => a.rem(b),
                BinOp::Shl => a.shl(b),
                BinOp::Shr => a.shr(b),
                BinOp::And => a.and(b),
                BinOp::Or => a.or(b),
                BinOp::Xor => a.xor(b),
                BinOp::Eq => T::from(a == b),
                BinOp::Ne => T::from(a != b),
                BinOp::Lt => T::from(a < b),
                BinOp::Gt => T::from(a > b),
                BinOp::Le => T::from(a <= b),
                BinOp::Ge => T::from(a >= b),
                BinOp::BoolAnd => T::from(a != T::constant(0) && b != T::constant(0)),
                BinOp::BoolOr => T::from(a != T::constant(0) || b != T::constant(0)),
            }
        }
    }
}
