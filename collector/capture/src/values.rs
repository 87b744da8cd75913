// SPDX-License-Identifier: Apache-2.0
//! Buffer of a column's values between rows and pages.

use crate::dictionary::Words;

/// Values of a column that are not in a page yet.
#[derive(Debug, Default)]
pub struct Values {
    /// Bits of the present values; for words, their dictionary indices.
    pub bits: Vec<u64>,
    /// Whether each row has a value; empty if the column is not nullable.
    pub valid: Vec<bool>,
    pub words: Words,
}

impl Values {
    /// Appends a word.
    pub fn word(&mut self, word: &str) {
        let i = self.words.index(word);
        self.bits.push(i.into());
    }
}
