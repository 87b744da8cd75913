// SPDX-License-Identifier: Apache-2.0
//! Header stacks in expressions, and comparison of whole headers.

use crate::interpreter::env::Env;
use crate::vector::word;
use p4_ir::{Expr, FieldRef, Header, HeaderRef, Program};

/// Refers to an argument of the action, or any other unsigned value alone in its words.
pub(super) fn arg_ref(offset: u32, width: u32) -> FieldRef {
    FieldRef::alone(offset, width)
}

/// Returns a field of the most recently extracted element, or else of the first.
pub(crate) fn stack_last(env: Env<'_>, stack: u32, field: u32) -> Option<FieldRef> {
    let s = env.program.stacks.get(stack as usize)?;
    stack_field(
        env,
        stack,
        word(env.words, s.next).saturating_sub(1) as usize,
        field,
    )
}

/// Returns a field of element `index`; `None` if outside the stack.
pub(crate) fn stack_field(env: Env<'_>, stack: u32, index: usize, field: u32) -> Option<FieldRef> {
    let s = env.program.stacks.get(stack as usize)?;
    let h = env.program.headers.get(*s.headers.get(index)? as usize)?;
    match h.fields.get(field as usize) {
        Some(f) => Some(*f),
        // The field after the last is the validity bit.
        None => Some(arg_ref(h.valid, 1)),
    }
}

/// Returns the header; `None` if outside its stack. `value` evaluates an index.
pub(super) fn header<'p>(
    program: &'p Program,
    h: &HeaderRef,
    value: impl Fn(&Expr) -> usize,
) -> Option<&'p Header> {
    let id = match h {
        HeaderRef::Of(id) => *id,
        HeaderRef::At { stack, index } => {
            let s = program.stacks.get(*stack as usize)?;
            *s.headers.get(value(index))?
        }
    };
    program.headers.get(id as usize)
}

pub(super) fn headers_equal(env: Env<'_>, a: Option<&Header>, b: Option<&Header>) -> bool {
    let (Some(a), Some(b)) = (a, b) else {
        return false;
    };
    let valid = word(env.words, a.valid);
    valid == word(env.words, b.valid)
        && (valid == 0 || env.words.get(a.words.clone()) == env.words.get(b.words.clone()))
}

pub(super) fn stacks_equal(env: Env<'_>, a: u32, b: u32) -> bool {
    let stack = |s: u32| env.program.stacks.get(s as usize);
    let (Some(x), Some(y)) = (stack(a), stack(b)) else {
        return false;
    };
    let others = x.others.iter().zip(&y.others);
    std::iter::once((&a, &b)).chain(others).all(|(a, b)| {
        let headers = |s: &u32| stack(*s).map_or(&[][..], |s| &s.headers);
        let (x, y) = (headers(a), headers(b));
        let header = |id: &u32| env.program.headers.get(*id as usize);
        let same = |(a, b)| headers_equal(env, header(a), header(b));
        x.len() == y.len() && x.iter().zip(y).all(same)
    })
}

pub(super) fn last_index(env: Env<'_>, stack: u32) -> i64 {
    env.program
        .stacks
        .get(stack as usize)
        .map_or(0, |s| word(env.words, s.next) as i64 - 1)
}
