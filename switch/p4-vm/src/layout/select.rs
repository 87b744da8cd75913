// SPDX-License-Identifier: Apache-2.0
//! Transitions of a parser state whose key consists of fields and fits in one word.

use p4_ir::Bits;
use p4_ir::{Case, END, KeyPiece, KeySource, ParseState, Transition};

#[derive(Debug)]
pub(crate) struct Select {
    parts: Box<[(Bits, u8)]>,
    cases: Box<[SelectCase]>,
    /// Next state if no case matches.
    otherwise: u32,
}

#[derive(Debug)]
struct SelectCase {
    value: u64,
    mask: u64,
    next: u32,
}

impl Select {
    /// `None` if the general method is needed.
    pub(crate) fn new(s: &ParseState) -> Option<Self> {
        let part = |k: &KeyPiece| match &k.source {
            KeySource::Field(f) if f.width <= 64 && k.padded_bits <= 64 && !f.variable => {
                Some(((*f).into(), k.padded_bits as u8))
            }
            _ => None,
        };
        let mut cases = Vec::new();
        let mut otherwise = END;
        for Transition { case, next } in &s.transitions {
            match case {
                Case::Default => {
                    otherwise = *next;
                    break;
                }
                Case::Value { value, mask } => {
                    let ([value], [mask]) = (value.as_slice(), mask.as_slice()) else {
                        return None;
                    };
                    cases.push(SelectCase {
                        value: *value,
                        mask: *mask,
                        next: *next,
                    });
                }
                Case::Set(_) => return None,
            }
        }
        Some(Self {
            parts: s.key.iter().map(part).collect::<Option<_>>()?,
            cases: cases.into(),
            otherwise,
        })
        .filter(|_| s.key_words == 1)
    }

    #[inline]
    pub(crate) fn next(&self, words: &[u64]) -> u32 {
        let mut key = 0u64;
        for (bits, padded) in &self.parts {
            // A piece of 64 bits is always alone.
            key = (key << (padded & 63)) | bits.get(words);
        }
        self.cases
            .iter()
            .find(|c| key & c.mask == c.value)
            .map_or(self.otherwise, |c| c.next)
    }
}
