// SPDX-License-Identifier: Apache-2.0
//! Whole headers and stacks: copied, made valid or invalid, shifted.

use crate::packet::Packet;
use crate::vector::{field_bits, set_word, word};
use p4_ir::Program;

/// An invalid source makes the destination invalid.
pub(super) fn copy_header(program: &Program, words: &mut [u64], dst: u32, src: u32) {
    let (Some(d), Some(s)) = (
        program.headers.get(dst as usize),
        program.headers.get(src as usize),
    ) else {
        return;
    };
    if word(words, s.valid) == 0 {
        set_word(words, d.valid, 0);
        return;
    }
    if d.words.len() == s.words.len() && s.words.end <= words.len() && d.words.end <= words.len() {
        words.copy_within(s.words.clone(), d.words.start);
        set_word(words, d.valid, 1);
    }
}

pub(super) fn copy_stack(program: &Program, words: &mut [u64], dst: u32, src: u32) {
    let (Some(d), Some(s)) = (
        program.stacks.get(dst as usize),
        program.stacks.get(src as usize),
    ) else {
        return;
    };
    for (to, from) in d.headers.iter().zip(&s.headers) {
        copy_header(program, words, *to, *from);
    }
    set_word(words, d.next, word(words, s.next));
}

/// Bytes the header takes in the packet.
fn header_bytes(program: &Program, words: &[u64], h: u32) -> u32 {
    program.headers.get(h as usize).map_or(0, |h| {
        let variable = h
            .variable
            .and_then(|i| h.fields.get(i))
            .map_or(0, |f| field_bits(words, *f));
        (h.fixed_bits + variable) / 8
    })
}

pub(super) fn add_header(program: &Program, p: &mut Packet, h: u32) {
    let Some(header) = program.headers.get(h as usize) else {
        return;
    };
    if word(&p.words, header.valid) != 0 {
        return;
    }
    if let Some(fields) = p.words.get_mut(header.words.clone()) {
        fields.fill(0);
    }
    set_word(&mut p.words, header.valid, 1);
    p.length_bytes += header_bytes(program, &p.words, h);
}

pub(super) fn remove_header(program: &Program, p: &mut Packet, h: u32) {
    let Some(header) = program.headers.get(h as usize) else {
        return;
    };
    if word(&p.words, header.valid) == 0 {
        return;
    }
    set_word(&mut p.words, header.valid, 0);
    let bytes = header_bytes(program, &p.words, h);
    p.length_bytes = p.length_bytes.saturating_sub(bytes);
}

/// `push_front` moves elements to higher indices, `pop_front` to lower ones;
/// what becomes free is invalid.
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
    let n = s.headers.len();
    let count = (count as usize).min(n);
    let invalidate = |words: &mut [u64], i: usize| {
        if let Some(h) = s
            .headers
            .get(i)
            .and_then(|h| program.headers.get(*h as usize))
        {
            set_word(words, h.valid, 0);
        }
    };
    let move_to = |words: &mut [u64], to: usize, from: usize| {
        if let (Some(t), Some(f)) = (s.headers.get(to), s.headers.get(from)) {
            copy_header(program, words, *t, *f);
        }
    };
    let next = word(words, s.next) as usize;
    let next = if push {
        for i in (count..n).rev() {
            move_to(words, i, i - count);
        }
        (0..count).for_each(|i| invalidate(words, i));
        (next + count).min(n)
    } else {
        for i in 0..n - count {
            move_to(words, i, i + count);
        }
        (n - count..n).for_each(|i| invalidate(words, i));
        next.saturating_sub(count)
    };
    set_word(words, s.next, next as u64);
}
