// SPDX-License-Identifier: Apache-2.0
//! Stores and copies fields of any width.

use super::env::Env;
use super::eval;
use crate::packet::Packet;
use crate::vector::{field_bits, own_words, set_word};
use p4_ir::FieldRef;
use p4_ir::Program;
use p4_ir::TypedExpr;
use p4_ir::bits::{bytes_from_words, mask_words, words_for, words_from_bytes};

/// Stores a number of at most 64 bits.
pub(super) fn store_number(words: &mut [u64], dst: FieldRef, v: u64) {
    if dst.width <= 64 {
        dst.set(words, v);
    } else {
        copy_words(words, dst, &[v]);
    }
}

/// Copies words right-aligned, truncated to the destination's width.
pub(super) fn copy_words(words: &mut [u64], dst: FieldRef, src: &[u64]) {
    if dst.width <= 64 && !dst.variable {
        dst.set(words, src.last().copied().unwrap_or(0));
        return;
    }
    let start = dst.slot as usize;
    if let Some(out) = words.get_mut(start..start + words_for(dst.width)) {
        for (i, w) in out.iter_mut().rev().enumerate() {
            *w = src
                .len()
                .checked_sub(i + 1)
                .and_then(|n| src.get(n))
                .copied()
                .unwrap_or(0);
        }
        mask_words(out, dst.width);
    }
}

pub(super) fn store(
    program: &Program,
    value: &TypedExpr,
    args: &[u64],
    dst: FieldRef,
    p: &mut Packet,
) {
    let env = Env {
        program,
        words: &p.words,
        args,
    };
    if dst.width <= 64 {
        let v = eval::low64(value, env);
        dst.set(&mut p.words, v);
        return;
    }
    // Wide results are rare enough for an allocation.
    let mut out = vec![0u64; words_for(dst.width)];
    eval::store_words(value, env, dst.width, &mut out);
    copy_words(&mut p.words, dst, &out);
}

pub(super) fn copy_wide(words: &mut [u64], dst: FieldRef, src: FieldRef) {
    if src.width <= 64 {
        return copy_words(words, dst, &[src.get(words)]);
    }
    let (to, from) = (words_for(dst.width), words_for(src.width));
    let (d, s) = (dst.slot as usize, src.slot as usize);
    if to == from && s + from <= words.len() && d + to <= words.len() {
        words.copy_within(s..s + from, d);
    } else {
        let v = own_words(words, src).to_vec();
        copy_words(words, dst, &v);
    }
}

/// Copies value and length; a value longer than the destination is cut off at its end.
pub(super) fn copy_variable(words: &mut [u64], dst: FieldRef, src: FieldRef) {
    let bits = field_bits(words, src);
    let bytes = bytes_from_words(own_words(words, src), bits);
    let kept = bits.min(dst.width);
    let out = words_from_bytes(
        bytes.get(..(kept / 8) as usize).unwrap_or(&bytes),
        dst.width,
    );
    copy_words(words, dst, &out);
    set_word(words, dst.slot.wrapping_sub(1), u64::from(kept));
}
