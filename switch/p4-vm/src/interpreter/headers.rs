// SPDX-License-Identifier: Apache-2.0
//! Copies, validates, invalidates and shifts whole headers and stacks.

use crate::packet::Packet;
use crate::vector::{field_bits, set_word, word};
use p4_ir::{Header, Program, Stack};

/// Makes a header valid, and the other members of its union invalid.
#[inline]
pub(super) fn make_valid(h: &Header, words: &mut [u64]) {
    set_word(words, h.valid, 1);
    for other in &h.rivals {
        set_word(words, *other, 0);
    }
}

/// Copies a header; an invalid source makes the destination invalid.
pub(super) fn copy_header(d: &Header, s: &Header, words: &mut [u64]) {
    if move_header(d, s, words) {
        make_valid(d, words);
    }
}

/// Copies a header but not its effect on a union; returns `false` if it was invalid.
fn move_header(d: &Header, s: &Header, words: &mut [u64]) -> bool {
    if word(words, s.valid) == 0 {
        set_word(words, d.valid, 0);
        return false;
    }
    let fits = s.words.end <= words.len() && d.words.end <= words.len();
    if d.words.len() == s.words.len() && fits {
        words.copy_within(s.words.clone(), d.words.start);
        set_word(words, d.valid, 1);
    }
    true
}

fn move_to(program: &Program, words: &mut [u64], dst: Option<&u32>, src: Option<&u32>) {
    let header = |id: Option<&u32>| program.headers.get(*id? as usize);
    if let (Some(d), Some(s)) = (header(dst), header(src)) {
        move_header(d, s, words);
    }
}

/// Copies a union as pairs of members; at most one of the sources is valid.
pub(super) fn copy_union(program: &Program, words: &mut [u64], pairs: &[(u32, u32)]) {
    for (d, s) in pairs {
        move_to(program, words, Some(d), Some(s));
    }
}

/// Iterates over the stack and, in a stack of unions, the stacks of the other members.
fn parallel(program: &Program, stack: u32) -> impl Iterator<Item = &Stack> {
    let first = program.stacks.get(stack as usize);
    let others = first.map_or(&[][..], |s| &s.others);
    let others = others
        .iter()
        .filter_map(|o| program.stacks.get(*o as usize));
    first.into_iter().chain(others)
}

pub(super) fn copy_stack(program: &Program, words: &mut [u64], dst: u32, src: u32) {
    for (d, s) in parallel(program, dst).zip(parallel(program, src)) {
        for (to, from) in d.headers.iter().zip(&s.headers) {
            move_to(program, words, Some(to), Some(from));
        }
        set_word(words, d.next, word(words, s.next));
    }
}

/// Returns the number of bytes that the header occupies in the packet.
fn header_bytes(h: &Header, words: &[u64]) -> u32 {
    let variable = h.variable.and_then(|i| h.fields.get(i));
    (h.fixed_bits + variable.map_or(0, |f| field_bits(words, *f))) / 8
}

pub(super) fn add_header(header: &Header, p: &mut Packet) {
    if word(&p.words, header.valid) != 0 {
        return;
    }
    if let Some(fields) = p.words.get_mut(header.words.clone()) {
        fields.fill(0);
    }
    make_valid(header, &mut p.words);
    p.length_bytes += header_bytes(header, &p.words);
}

pub(super) fn remove_header(header: &Header, p: &mut Packet) {
    if word(&p.words, header.valid) == 0 {
        return;
    }
    set_word(&mut p.words, header.valid, 0);
    let bytes = header_bytes(header, &p.words);
    p.length_bytes = p.length_bytes.saturating_sub(bytes);
}

/// Moves elements to higher indices (`push_front`) or lower ones (`pop_front`); freed
/// elements become invalid.
pub(super) fn shift_stack(
    program: &Program,
    words: &mut [u64],
    stack: u32,
    count: u32,
    push: bool,
) {
    let Some(s) = program.stacks.get(stack as usize) else {
        return;
    };
    let next = word(words, s.next) as usize;
    let next = if push {
        (next + count as usize).min(s.headers.len())
    } else {
        next.saturating_sub(count as usize)
    };
    for s in parallel(program, stack) {
        shift_elements(program, words, s, count as usize, push);
    }
    set_word(words, s.next, next as u64);
}

fn shift_elements(program: &Program, words: &mut [u64], s: &Stack, count: usize, push: bool) {
    let n = s.headers.len();
    let count = count.min(n);
    let mut step = |to: usize, from: usize| {
        move_to(program, words, s.headers.get(to), s.headers.get(from));
    };
    let free = if push {
        (count..n).rev().for_each(|i| step(i, i - count));
        0..count
    } else {
        (0..n - count).for_each(|i| step(i, i + count));
        n - count..n
    };
    for id in s.headers.get(free).unwrap_or_default() {
        if let Some(h) = program.headers.get(*id as usize) {
            set_word(words, h.valid, 0);
        }
    }
}
