// SPDX-License-Identifier: Apache-2.0
//! Evaluates any expression in any arithmetic.

use super::int::Int;
use super::stacks::{
    arg_ref, header, headers_equal, last_index, stack_field, stack_last, stacks_equal,
};
use crate::interpreter::env::Env;
use p4_ir::{BinOp, Expr, UnOp};

/// Evaluates an expression; most operands are leaves, which need no call.
#[inline(always)]
pub(super) fn eval<T: Int>(e: &Expr, env: Env<'_>) -> T {
    match e {
        Expr::Const(c) => T::constant(*c),
        Expr::Field(f) => T::read(env.words, *f),
        other => tree(other, env),
    }
}

fn tree<T: Int>(e: &Expr, env: Env<'_>) -> T {
    let flag = |b: bool| T::constant(i64::from(b));
    match e {
        Expr::Const(c) => T::constant(*c),
        Expr::BigConst(b) => T::big(b),
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
                UnOp::BitNot => !v,
                UnOp::Neg => T::constant(0) - v,
                UnOp::BoolNot => flag(v == T::constant(0)),
                UnOp::Bool => flag(v != T::constant(0)),
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
        Expr::HeadersEqual(p) => {
            let of = |h| header(env.program, h, |e| eval::<T>(e, env).index());
            flag(headers_equal(env, of(&p.0), of(&p.1)))
        }
        Expr::StacksEqual(a, b) => flag(stacks_equal(env, *a, *b)),
        Expr::LastIndex(s) => T::constant(last_index(env, *s)),
        Expr::Bin(op, p) => {
            let a: T = eval(&p.0, env);
            let b: T = eval(&p.1, env);
            match op {
                BinOp::Add => a + b,
                BinOp::Sub => a - b,
                BinOp::Mul => a * b,
                BinOp::Div => a.quotient(b),
                BinOp::Mod => a.remainder(b),
                BinOp::Shl => a.shift_left(b),
                BinOp::Shr => a.shift_right(b),
                BinOp::And => a & b,
                BinOp::Or => a | b,
                BinOp::Xor => a ^ b,
                BinOp::Eq => flag(a == b),
                BinOp::Ne => flag(a != b),
                BinOp::Lt => flag(a < b),
                BinOp::Gt => flag(a > b),
                BinOp::Le => flag(a <= b),
                BinOp::Ge => flag(a >= b),
                BinOp::BoolAnd => flag(a != T::constant(0) && b != T::constant(0)),
                BinOp::BoolOr => flag(a != T::constant(0) || b != T::constant(0)),
            }
        }
    }
}
