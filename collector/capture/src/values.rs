// SPDX-License-Identifier: Apache-2.0
//! A column between rows and pages.

use crate::dictionary::Words;

/// The values of a column that have not become a page yet.
#[derive(Debug, Default)]
pub struct Values {
    /// Bits of the values there are; of words, their numbers.
    pub bits: Vec<u64>,
    /// Whether each row has a value; empty in columns where all have.
    pub valid: Vec<bool>,
    pub words: Words,
}

impl Values {
    /// Adds a word.
    pub fn word(&mut self, word: &str) {
        let i = self.words.index(word);
        self.bits.push(i.into());
    }
}
