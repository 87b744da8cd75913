// SPDX-License-Identifier: Apache-2.0
//! Instructions that write words of the header vector.

use crate::bytecode::{Add, Affine, Word};
use crate::state::cells::Cells;
use crate::vector::{set_word, word};
use p4_ir::Bits;

#[inline(always)]
pub(super) fn store_words(list: &[Word], words: &mut [u64]) {
    for w in list {
        let part = word(words, w.from).rotate_left(u32::from(w.rotate)) & w.mask;
        store_word(w, part, words);
    }
}

#[inline(always)]
pub(super) fn store_args(list: &[Word], words: &mut [u64], args: &[u64]) {
    for w in list {
        let part = word(args, w.from).rotate_left(u32::from(w.rotate)) & w.mask;
        store_word(w, part, words);
    }
}

#[inline(always)]
fn store_word(w: &Word, part: u64, words: &mut [u64]) {
    if let Some(x) = words.get_mut(w.slot as usize) {
        *x = (*x & w.keep) | w.value | part;
    }
}

#[inline(always)]
pub(super) fn store_affine(list: &[Affine], words: &mut [u64]) {
    for a in list {
        let v = a.from.get(words).wrapping_mul(a.factor);
        a.to.set(words, v.wrapping_add(a.term));
    }
}

/// Adds headers; returns the number of bytes that are added to the packet.
#[inline(never)]
pub(super) fn add_headers(list: &[Add], words: &mut [u64]) -> u32 {
    let mut bytes = 0;
    for h in list {
        if word(words, h.valid) == 0 {
            clear(words, h.first as usize, h.words as usize);
            set_word(words, h.valid, 1);
            bytes += h.bytes;
        }
    }
    bytes
}

/// Reads a cell into the field; does nothing if the cell does not exist.
#[inline(never)]
pub(super) fn read_cell(cells: &Cells, register: u32, index: usize, to: &Bits, words: &mut [u64]) {
    let register = cells.registers.get(register as usize);
    if let Some(v) = register.and_then(|r| r.first_word(index)) {
        to.set(words, v);
    }
}

#[inline(never)]
pub(super) fn write_cell(cells: &mut Cells, register: u32, index: usize, value: u64) {
    let register = cells.registers.get_mut(register as usize);
    if let Some(v) = register.and_then(|r| r.first_word_mut(index)) {
        *v = value;
    }
}

/// Zeroes words; cheaper than a call for the one to three words of most headers.
#[inline(always)]
fn clear(words: &mut [u64], first: usize, count: usize) {
    let Some(list) = words.get_mut(first..first + count) else {
        return;
    };
    match list {
        [a] => *a = 0,
        [a, b] => (*a, *b) = (0, 0),
        [a, b, c] => (*a, *b, *c) = (0, 0, 0),
        list => list.fill(0),
    }
}
