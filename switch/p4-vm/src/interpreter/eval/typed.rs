// SPDX-License-Identifier: Apache-2.0
//! Evaluates any expression in its arithmetic.

use std::num::Wrapping;

use num_bigint::BigInt;
use num_traits::Zero;
use p4_ir::bits::{mask_words, words_from_big};
use p4_ir::{Arithmetic, Header, HeaderRef, Program, TypedExpr};

use super::int::Int;
use super::stacks;
use super::tree::eval;
use crate::interpreter::env::Env;

/// Returns the low 64 bits of the value.
pub(crate) fn low64(c: &TypedExpr, env: Env<'_>) -> u64 {
    match c.arithmetic {
        Arithmetic::Wrapping64 => eval::<Wrapping<i64>>(&c.expr, env).0 as u64,
        Arithmetic::Wrapping128 => eval::<Wrapping<i128>>(&c.expr, env).0 as u64,
        Arithmetic::Unbounded => {
            let mut w = [0u64];
            words_from_big(&eval(&c.expr, env), 64, &mut w);
            w[0]
        }
    }
}

/// Returns the value as an index; `usize::MAX` if it is negative or huge.
pub(crate) fn index(c: &TypedExpr, env: Env<'_>) -> usize {
    match c.arithmetic {
        Arithmetic::Wrapping64 => eval::<Wrapping<i64>>(&c.expr, env).index(),
        Arithmetic::Wrapping128 => eval::<Wrapping<i128>>(&c.expr, env).index(),
        Arithmetic::Unbounded => eval::<BigInt>(&c.expr, env).index(),
    }
}

/// Returns the header; `None` if outside its stack.
pub(crate) fn header<'p>(program: &'p Program, env: Env<'_>, h: &HeaderRef) -> Option<&'p Header> {
    stacks::header(program, h, |e| eval::<BigInt>(e, env).index())
}

/// Returns whether the value is not 0.
pub(crate) fn truth(c: &TypedExpr, env: Env<'_>) -> bool {
    match c.arithmetic {
        Arithmetic::Wrapping64 => eval::<Wrapping<i64>>(&c.expr, env).0 != 0,
        Arithmetic::Wrapping128 => eval::<Wrapping<i128>>(&c.expr, env).0 != 0,
        Arithmetic::Unbounded => !eval::<BigInt>(&c.expr, env).is_zero(),
    }
}

/// Stores the value modulo 2^width in `out`, which holds `words_for(width)` words.
pub(crate) fn store_words(c: &TypedExpr, env: Env<'_>, width: u32, out: &mut [u64]) {
    match c.arithmetic {
        Arithmetic::Wrapping64 => fill(i128::from(eval::<Wrapping<i64>>(&c.expr, env).0), out),
        Arithmetic::Wrapping128 => fill(eval::<Wrapping<i128>>(&c.expr, env).0, out),
        Arithmetic::Unbounded => return words_from_big(&eval(&c.expr, env), width, out),
    }
    mask_words(out, width);
}

fn fill(v: i128, out: &mut [u64]) {
    for (i, w) in out.iter_mut().rev().enumerate() {
        *w = match i {
            0 => v as u64,
            1 => (v >> 64) as u64,
            _ => (v >> 127) as u64,
        };
    }
}

/// Formats the value in decimal, for `log_msg`.
pub(crate) fn display(c: &TypedExpr, env: Env<'_>) -> String {
    eval::<BigInt>(&c.expr, env).to_string()
}
