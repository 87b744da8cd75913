// SPDX-License-Identifier: Apache-2.0
//! Steps that write words of the header vector.

use crate::bmv2::op::{Affine, Word};
use crate::engine::eval::word;

#[inline(always)]
pub fn store_words(list: &[Word], words: &mut [u64]) {
    for w in list {
        let part = word(words, w.from).rotate_left(u32::from(w.rotate)) & w.mask;
        store_word(w, part, words);
    }
}

#[inline(always)]
pub fn store_args(list: &[Word], words: &mut [u64], args: &[u64]) {
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
pub fn store_affine(list: &[Affine], words: &mut [u64]) {
    for a in list {
        let v = a.from.get(words).wrapping_mul(a.factor);
        a.to.set(words, v.wrapping_add(a.term));
    }
}

/// Cheaper than a call for the one to three words of most headers.
#[inline(always)]
pub fn clear(words: &mut [u64], first: usize, count: usize) {
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
