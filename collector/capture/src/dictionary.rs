// SPDX-License-Identifier: Apache-2.0
//! The distinct values of a column chunk, numbered as they come.

use std::collections::HashMap;
use std::sync::Arc;

const LEAST: usize = 256;

/// Distinct numbers: an open hash table of places in a list.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    entries: Vec<u64>,
    /// Number of an entry plus one, 0 where free.
    places: Vec<u32>,
}

impl Numbers {
    pub(crate) fn entries(&self) -> &[u64] {
        &self.entries
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.places.fill(0);
    }

    /// The number of a value.
    #[inline]
    pub(crate) fn index(&mut self, value: u64) -> u32 {
        if self.places.len() < 2 * (self.entries.len() + 1) {
            self.grow();
        }
        let mask = self.places.len() - 1;
        let mut at = place(value) & mask;
        loop {
            let Some(slot) = self.places.get_mut(at) else {
                return 0;
            };
            if *slot == 0 {
                self.entries.push(value);
                *slot = self.entries.len() as u32;
                return *slot - 1;
            }
            if self.entries.get(*slot as usize - 1) == Some(&value) {
                return *slot - 1;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let length = (self.places.len() * 2).max(LEAST);
        self.places.clear();
        self.places.resize(length, 0);
        let mask = length - 1;
        for (i, &value) in self.entries.iter().enumerate() {
            let mut at = place(value) & mask;
            while self.places.get(at).is_some_and(|&p| p != 0) {
                at = (at + 1) & mask;
            }
            if let Some(p) = self.places.get_mut(at) {
                *p = i as u32 + 1;
            }
        }
    }
}

#[inline]
fn place(value: u64) -> usize {
    (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

/// Distinct words.
#[derive(Debug, Default)]
pub struct Words {
    entries: Vec<Arc<str>>,
    known: HashMap<Arc<str>, u32>,
    /// Mostly the same word again and again.
    last: u32,
}

impl Words {
    pub fn entries(&self) -> &[Arc<str>] {
        &self.entries
    }

    pub fn clear(&mut self) {
        *self = Self::default();
    }

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
        assert_eq!(d.entries().len(), 5000);
        d.clear();
        assert_eq!(d.index(5), 0);
        let mut w = Words::default();
        assert_eq!(
            ["a", "b", "a", "c", "b"].map(|x| w.index(x)),
            [0, 1, 0, 2, 1]
        );
    }
}
