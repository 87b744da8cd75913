// SPDX-License-Identifier: Apache-2.0
//! Evaluates expressions in the arithmetic that was chosen at load.
//!
//! Where BMv2 would abort (division by zero, negative shift) the result is 0.

use num_bigint::{BigInt, Sign};
use num_traits::{ToPrimitive, Zero};

use crate::bmv2::bits::{big_from_words, mask_words, sign_extend64, words_for, words_from_big};
use crate::bmv2::expr::{BinOp, Compiled, Expr, FieldRef, Tier, UnOp, WrapOp};
use crate::bmv2::fast::{Fast, read};
use crate::bmv2::ir::Program;

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

trait Int: Copy + PartialEq + PartialOrd + From<bool> {
    fn constant(v: i64) -> Self;
    fn big(low: i128) -> Self;
    fn read(words: &[u64], f: FieldRef) -> Self;
    fn add(self, o: Self) -> Self;
    fn sub(self, o: Self) -> Self;
    fn mul(self, o: Self) -> Self;
    fn div(self, o: Self) -> Self;
    fn rem(self, o: Self) -> Self;
    fn and(self, o: Self) -> Self;
    fn or(self, o: Self) -> Self;
    fn xor(self, o: Self) -> Self;
    fn not(self) -> Self;
    fn shl(self, by: Self) -> Self;
    fn shr(self, by: Self) -> Self;
    fn wrap(self, op: WrapOp, width: u32) -> Self;
    fn index(self) -> usize;
}

macro_rules! int {
    ($t:ty, $read:expr) => {
        impl Int for $t {
            #[inline(always)]
            fn constant(v: i64) -> Self {
                v as Self
            }
            #[inline(always)]
            fn big(low: i128) -> Self {
                low as Self
            }
            #[inline(always)]
            fn read(words: &[u64], f: FieldRef) -> Self {
                $read(words, f)
            }
            #[inline(always)]
            fn add(self, o: Self) -> Self {
                self.wrapping_add(o)
            }
            #[inline(always)]
            fn sub(self, o: Self) -> Self {
                self.wrapping_sub(o)
            }
            #[inline(always)]
            fn mul(self, o: Self) -> Self {
                self.wrapping_mul(o)
            }
            fn div(self, o: Self) -> Self {
                self.checked_div(o).unwrap_or(0)
            }
            fn rem(self, o: Self) -> Self {
                self.checked_rem(o).unwrap_or(0)
            }
            #[inline(always)]
            fn and(self, o: Self) -> Self {
                self & o
            }
            #[inline(always)]
            fn or(self, o: Self) -> Self {
                self | o
            }
            #[inline(always)]
            fn xor(self, o: Self) -> Self {
                self ^ o
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            fn shl(self, by: Self) -> Self {
                u32::try_from(by)
                    .ok()
                    .and_then(|n| self.checked_shl(n))
                    .unwrap_or(0)
            }
            fn shr(self, by: Self) -> Self {
                if by < 0 {
                    return 0;
                }
                let n = u32::try_from(by).unwrap_or(u32::MAX).min(Self::BITS - 1);
                self >> n
            }
            fn wrap(self, op: WrapOp, width: u32) -> Self {
                match op {
                    WrapOp::TwosComplement => {
                        let s = Self::BITS.saturating_sub(width);
                        if s == Self::BITS { 0 } else { (self << s) >> s }
                    }
                    WrapOp::SaturateUnsigned => {
                        let max = ((1 as $t) << width.min(Self::BITS - 1)).wrapping_sub(1);
                        self.clamp(0, max)
                    }
                    WrapOp::SaturateSigned => {
                        let half = (1 as $t) << (width.max(1) - 1).min(Self::BITS - 2);
                        self.clamp(-half, half - 1)
                    }
                }
            }
            fn index(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
        }
    };
}

fn read_i128(words: &[u64], f: FieldRef) -> i128 {
    if f.width <= 64 {
        let v = f.get(words);
        return if f.signed {
            i128::from(sign_extend64(v, f.width))
        } else {
            i128::from(v)
        };
    }
    let v = (u128::from(word(words, f.slot)) << 64) | u128::from(word(words, f.slot + 1));
    if f.signed {
        (v as i128) << (128 - f.width) >> (128 - f.width)
    } else {
        v as i128
    }
}

int!(i64, read);
int!(i128, read_i128);

fn arg_ref(offset: u32, width: u32) -> FieldRef {
    FieldRef::alone(offset, width)
}

/// Element of the stack that was extracted last, or else its first.
pub fn stack_last(env: Env<'_>, stack: u32, field: u32) -> Option<FieldRef> {
    let s = env.program.stacks.get(stack as usize)?;
    stack_field(
        env,
        stack,
        word(env.words, s.next).saturating_sub(1) as usize,
        field,
    )
}

/// Field of element `index`; `None` outside the stack.
pub fn stack_field(env: Env<'_>, stack: u32, index: usize, field: u32) -> Option<FieldRef> {
    let s = env.program.stacks.get(stack as usize)?;
    let h = env.program.headers.get(*s.headers.get(index)? as usize)?;
    match h.fields.get(field as usize) {
        Some(f) => Some(f.field),
        // The field behind the last is the validity bit.
        None => Some(arg_ref(h.valid, 1)),
    }
}

pub fn headers_equal(env: Env<'_>, a: u32, b: u32) -> bool {
    let (Some(a), Some(b)) = (
        env.program.headers.get(a as usize),
        env.program.headers.get(b as usize),
    ) else {
        return false;
    };
    let valid = word(env.words, a.valid);
    valid == word(env.words, b.valid)
        && (valid == 0 || env.words.get(a.words.clone()) == env.words.get(b.words.clone()))
}

fn stacks_equal(env: Env<'_>, a: u32, b: u32) -> bool {
    let list = |s: u32| {
        env.program
            .stacks
            .get(s as usize)
            .map(|s| s.headers.as_slice())
    };
    match (list(a), list(b)) {
        (Some(x), Some(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(a, b)| headers_equal(env, *a, *b))
        }
        _ => false,
    }
}

fn last_index(env: Env<'_>, stack: u32) -> i64 {
    env.program
        .stacks
        .get(stack as usize)
        .map_or(0, |s| word(env.words, s.next) as i64 - 1)
}

/// Most operands are leaves: they need no call.
#[inline(always)]
fn eval<T: Int>(e: &Expr, env: Env<'_>) -> T {
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

/// Largest left shift computed with unbounded integers: beyond every width.
const MAX_SHIFT: usize = 1 << 17;

fn eval_big(e: &Expr, env: Env<'_>) -> BigInt {
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
