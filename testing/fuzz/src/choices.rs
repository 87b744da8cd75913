// SPDX-License-Identifier: Apache-2.0
//! Reads an input as a sequence of choices.

/// The rest of an input. After its end, every choice is the first one.
pub(crate) struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a number of this many bytes.
    fn number(&mut self, bytes: usize) -> u64 {
        let (now, later) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = later;
        now.iter().rev().fold(0, |n, b| (n << 8) | u64::from(*b))
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.number(1) as u8
    }

    pub(crate) fn u64(&mut self) -> u64 {
        self.number(8)
    }

    /// Chooses one of `0..n`; 0 if `n` is 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let bytes = match n {
            0 | 1 => 0,
            2..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 4,
        };
        self.number(bytes) as usize % n.max(1)
    }

    /// Changes, inserts, removes or cuts off some bytes.
    pub(crate) fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..self.below(5) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.byte()),
                2 if at < bytes.len() => drop(bytes.remove(at)),
                _ => {
                    if let Some(b) = bytes.get_mut(at) {
                        *b = self.byte();
                    }
                }
            }
        }
    }
}
