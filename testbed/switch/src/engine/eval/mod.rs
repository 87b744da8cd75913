// SPDX-License-Identifier: Apache-2.0
//! Evaluates expressions in the arithmetic that was chosen at load.
//!
//! Where BMv2 would abort (division by zero, negative shift) the result is 0.

mod big;
mod int;
mod stacks;
mod tree;

use num_traits::{ToPrimitive, Zero};

use crate::bmv2::bits::{mask_words, words_for, words_from_big};
use crate::bmv2::expr::{Compiled, FieldRef, Tier};
use crate::bmv2::fast::{Fast, read};
use crate::bmv2::ir::Program;
use big::eval_big;
use int::Int;
pub use stacks::{stack_field, stack_last};
use tree::eval;

/// What expressions can read.
#[derive(Clone, Copy)]
pub struct Env<'a> {
    pub program: &'a Program,
    /// The packet's header vector.
    pub words: &'a [u64],
    /// The running action's data.
    pub args: &'a [u64],
}

/// A word; 0 outside the vector, which the loader makes impossible.
#[inline(always)]
pub fn word(words: &[u64], slot: u32) -> u64 {
    words.get(slot as usize).copied().unwrap_or(0)
}

#[inline(always)]
pub fn set_word(words: &mut [u64], slot: u32, value: u64) {
    if let Some(w) = words.get_mut(slot as usize) {
        *w = value;
    }
}

/// All words of a field that shares none: a wide or variable one.
pub fn own_words(words: &[u64], f: FieldRef) -> &[u64] {
    let start = f.slot as usize;
    words
        .get(start..start + words_for(f.width))
        .unwrap_or_default()
}

/// Present length in bits: varies for a variable-length field only.
pub fn field_bits(words: &[u64], f: FieldRef) -> u32 {
    if f.variable {
        (word(words, f.slot.wrapping_sub(1)) as u32).min(f.width)
    } else {
        f.width
    }
}

/// The value of a common shape; `None` for the others.
#[inline(always)]
fn fast(c: &Compiled, env: Env<'_>) -> Option<i64> {
    match &c.fast {
        Fast::Field(f) => Some(read(env.words, *f)),
        Fast::Const(v) => Some(*v),
        Fast::Chain(x) => Some(x.value(env.words)),
        Fast::Test(t) => Some(i64::from(t.holds(env.words, env.args))),
        Fast::Tree => None,
    }
}

/// The low 64 bits of the value.
#[inline(always)]
pub fn low64(c: &Compiled, env: Env<'_>) -> u64 {
    match fast(c, env) {
        Some(v) => v as u64,
        None => low64_tree(c, env),
    }
}

fn low64_tree(c: &Compiled, env: Env<'_>) -> u64 {
    match c.tier {
        Tier::Wrap64 => eval::<i64>(&c.expr, env) as u64,
        Tier::Wrap128 => eval::<i128>(&c.expr, env) as u64,
        Tier::Unbounded => {
            let mut w = [0u64];
            words_from_big(&eval_big(&c.expr, env), 64, &mut w);
            w[0]
        }
    }
}

/// The value as an index; `usize::MAX` when it is negative or huge.
#[inline(always)]
pub fn index(c: &Compiled, env: Env<'_>) -> usize {
    match fast(c, env) {
        Some(v) => v.index(),
        None => index_tree(c, env),
    }
}

fn index_tree(c: &Compiled, env: Env<'_>) -> usize {
    match c.tier {
        Tier::Wrap64 => eval::<i64>(&c.expr, env).index(),
        Tier::Wrap128 => eval::<i128>(&c.expr, env).index(),
        Tier::Unbounded => eval_big(&c.expr, env).to_usize().unwrap_or(usize::MAX),
    }
}

#[inline(always)]
pub fn truth(c: &Compiled, env: Env<'_>) -> bool {
    match fast(c, env) {
        Some(v) => v != 0,
        None => truth_tree(c, env),
    }
}

fn truth_tree(c: &Compiled, env: Env<'_>) -> bool {
    match c.tier {
        Tier::Wrap64 => eval::<i64>(&c.expr, env) != 0,
        Tier::Wrap128 => eval::<i128>(&c.expr, env) != 0,
        Tier::Unbounded => !eval_big(&c.expr, env).is_zero(),
    }
}

/// The value modulo 2^width in `out`, which holds `words_for(width)` words.
pub fn store_words(c: &Compiled, env: Env<'_>, width: u32, out: &mut [u64]) {
    match c.tier {
        Tier::Wrap64 => fill(i128::from(eval::<i64>(&c.expr, env)), out),
        Tier::Wrap128 => fill(eval::<i128>(&c.expr, env), out),
        Tier::Unbounded => return words_from_big(&eval_big(&c.expr, env), width, out),
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

/// Decimal text of the value, for `log_msg`.
pub fn display(c: &Compiled, env: Env<'_>) -> String {
    eval_big(&c.expr, env).to_string()
}
