// SPDX-License-Identifier: Apache-2.0
//! Input of a hash with an invariable layout, as words.

use p4_ir::CalcInput;
use p4_ir::bits::words_for;

/// Most words of an input with a fixed layout.
const MOST: usize = 8;

/// The input: big-endian words, zero after the last byte.
pub(crate) type Words = [u64; MOST];

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FixedInput {
    parts: Vec<Part>,
    /// Bits of the constants in the input.
    base: Words,
    bits: u32,
    /// Length of the input; the last byte is padded with zeros.
    pub bytes: usize,
}

/// Moves the `mask` bits of the source word, rotated left by `rotate`, to word `to`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Part {
    slot: u32,
    to: u8,
    rotate: u8,
    mask: u64,
}

impl FixedInput {
    /// `None` for an input that is long or whose length varies.
    pub(crate) fn new(input: &[CalcInput]) -> Option<Self> {
        let mut g = Self {
            parts: Vec::new(),
            base: Words::default(),
            bits: 0,
            bytes: 0,
        };
        for i in input {
            match i {
                CalcInput::Run {
                    pieces,
                    valid: None,
                } => {
                    for p in pieces {
                        g.append(Source::Slot(p.slot, p.shift), p.width.into())?;
                    }
                }
                CalcInput::Field { field, valid: None } if !field.variable => {
                    let slots = (field.slot..).take(words_for(field.width));
                    g.wide(slots.map(|s| Source::Slot(s, 0)), field.width)?;
                }
                CalcInput::Const { words, width_bits } => {
                    let skip = words.len().checked_sub(words_for(*width_bits))?;
                    let list = words.iter().skip(skip).map(|w| Source::Constant(*w));
                    g.wide(list, *width_bits)?;
                }
                _ => return None,
            }
        }
        g.bytes = g.bits.div_ceil(8) as usize;
        Some(g)
    }

    /// Appends a value that has words of its own, right-aligned.
    fn wide(&mut self, list: impl Iterator<Item = Source>, width: u32) -> Option<()> {
        if width == 0 {
            return Some(());
        }
        let mut take = (width - 1) % 64 + 1;
        for s in list {
            self.append(s, take)?;
            take = 64;
        }
        Some(())
    }

    /// Appends the lowest `width` bits, 1 to 64, of the source.
    fn append(&mut self, source: Source, width: u32) -> Option<()> {
        // Distance from the value's last bit to the end of the word in which the value begins.
        let (first, end) = (self.bits / 64, self.bits % 64 + width);
        self.bits += width;
        for (to, left) in [
            (first, 64 - i64::from(end)),
            (first + 1, 128 - i64::from(end)),
        ] {
            let ones = p4_ir::bits::mask64(width);
            let shifted = |v: u64| match left {
                0..64 => v << left,
                -63..0 => v >> -left,
                _ => 0,
            };
            let mask = shifted(ones);
            if mask == 0 {
                continue;
            }
            let place = self.base.get_mut(to as usize)?;
            match source {
                Source::Constant(c) => *place |= shifted(c & ones),
                Source::Slot(slot, shift) => self.parts.push(Part {
                    slot,
                    to: to as u8,
                    rotate: (left - i64::from(shift)).rem_euclid(64) as u8,
                    mask,
                }),
            }
        }
        Some(())
    }

    /// Iterates over the words that are read.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|p| p.slot)
    }

    #[inline]
    pub(crate) fn words(&self, vector: &[u64]) -> Words {
        let mut out = self.base;
        for p in &self.parts {
            let word = vector.get(p.slot as usize).copied().unwrap_or(0);
            out[usize::from(p.to) % MOST] |= word.rotate_left(u32::from(p.rotate)) & p.mask;
        }
        out
    }
}

/// Returns the words as bytes.
pub(crate) fn bytes(words: &Words) -> [u8; MOST * 8] {
    let mut out = [0; MOST * 8];
    for (o, w) in out.chunks_exact_mut(8).zip(words) {
        o.copy_from_slice(&w.to_be_bytes());
    }
    out
}

#[derive(Clone, Copy)]
enum Source {
    /// Number of the word, and position within it.
    Slot(u32, u8),
    Constant(u64),
}

#[cfg(test)]
mod tests {
    use super::*;
    use p4_ir::FieldRef;
    use p4_ir::Piece;
    use p4_ir::bits::{BitWriter, mask64};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_the_fields_in_order(
            fields in prop::collection::vec((any::<u64>(), 1u8..=64, 0u8..64, any::<bool>()), 0..9),
            wide in any::<[u64; 2]>(),
            wide_bits in 65u32..=128,
            at in 0usize..9,
        ) {
            let mut vector = vec![0; 20];
            vector[10..12].copy_from_slice(&wide);
            vector[10] &= mask64(wide_bits - 64);
            let (mut input, mut want, mut w) = (Vec::new(), Vec::new(), BitWriter::default());
            for (i, (v, width, shift, constant)) in fields.iter().enumerate() {
                if i == at {
                    let field = FieldRef::alone(10, wide_bits);
                    input.push(CalcInput::Field { field, valid: None });
                    w.push_wide(&mut want, &vector[10..12], wide_bits);
                }
                let width_bits = u32::from(*width);
                if *constant {
                    let words = vec![v & mask64(width_bits)];
                    w.push_wide(&mut want, &words, width_bits);
                    input.push(CalcInput::Const { words, width_bits });
                } else {
                    let shift = shift % (65 - width);
                    vector[i] = *v;
                    w.push(&mut want, (v >> shift) & mask64(width_bits), width_bits);
                    let pieces = vec![Piece { slot: i as u32, shift, width: *width }];
                    input.push(CalcInput::Run { pieces, valid: None });
                }
            }
            w.finish(&mut want);
            match FixedInput::new(&input) {
                Some(g) => {
                    prop_assert_eq!(g.bytes, want.len());
                    prop_assert_eq!(&bytes(&g.words(&vector))[..g.bytes], &want[..]);
                }
                None => prop_assert!(want.len() > 8 * MOST),
            }
        }
    }

    #[test]
    fn input_of_varying_length_has_no_layout() {
        let variable = FieldRef {
            variable: true,
            ..FieldRef::alone(1, 80)
        };
        for i in [
            CalcInput::Payload,
            CalcInput::Field {
                field: variable,
                valid: None,
            },
            CalcInput::Run {
                pieces: Vec::new(),
                valid: Some(0),
            },
        ] {
            assert!(FixedInput::new(&[i]).is_none());
        }
    }
}
