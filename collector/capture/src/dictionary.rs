// SPDX-License-Identifier: Apache-2.0
//! The distinct values of a column chunk, numbered in order of appearance.

use rustc_hash::FxHashMap;
use std::collections::HashMap;
use std::sync::Arc;

/// Distinct numbers.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    pub entries: Vec<u64>,
    known: FxHashMap<u64, u32>,
}

impl Numbers {
    /// Returns the index of a value; adds a new value.
    #[inline]
    pub(crate) fn index(&mut self, value: u64) -> u32 {
        *self.known.entry(value).or_insert_with(|| {
            self.entries.push(value);
            self.entries.len() as u32 - 1
        })
    }
}

/// Distinct words.
#[derive(Debug, Default)]
pub struct Words {
    pub entries: Vec<Arc<str>>,
    known: HashMap<Arc<str>, u32>,
    /// Index of the last word, because words mostly repeat.
    last: u32,
}

impl Words {
    pub fn index(&mut self, word: &str) -> u32 {
        if let Some(last) = self.entries.get(self.last as usize)
            && **last == *word
        {
            return self.last;
        }
        self.last = match self.known.get(word) {
            Some(&i) => i,
            None => {
                let i = self.entries.len() as u32;
                let word: Arc<str> = word.into();
                self.entries.push(word.clone());
                self.known.insert(word, i);
                i
            }
        };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_number() {
        let mut d = Numbers::default();
        for round in 0..2 {
            for i in 0..5000u64 {
                assert_eq!(d.index(i * 7919), i as u32, "{round}");
            }
        }
        assert_eq!(d.entries.len(), 5000);
        let mut w = Words::default();
        assert_eq!(
            ["a", "b", "a", "c", "b"].map(|x| w.index(x)),
            [0, 1, 0, 2, 1]
        );
    }
}
