// SPDX-License-Identifier: Apache-2.0
//! One's complement sums over header fields, laid out at load.
//!
//! In such a sum 2^16 is 1, and so is 2^64: a field counts as it stands in its
//! word, rotated so far that it ends on a 16-bit boundary of the input.

use super::bits::{mask64, words_for};
use super::expr::FieldRef;
use super::ir::CalcInput;

#[derive(Debug)]
pub struct Sum {
    groups: Box<[Group]>,
}

/// Neighbouring inputs that count when the header of slot `valid` is valid, laid
/// out as if they came first.
#[derive(Debug, Default)]
struct Group {
    valid: Option<u32>,
    /// Of constants.
    base: u64,
    pieces: Vec<Piece>,
    bits: u32,
    /// A field of variable length behind them.
    variable: Option<FieldRef>,
}

#[derive(Debug, Clone, Copy)]
struct Piece {
    slot: u32,
    rotate: u8,
    mask: u64,
}

impl Group {
    /// Bits that a value of this width is short of a boundary where it ends.
    fn advance(&mut self, width: u32) -> u32 {
        self.bits += width;
        short(self.bits)
    }

    fn piece(&mut self, slot: u32, shift: u32, width: u32) {
        let short = self.advance(width);
        self.pieces.push(Piece {
            slot,
            rotate: ((short + 64 - shift) % 16) as u8,
            mask: mask64(width) << shift,
        });
    }

    fn wide(&mut self, f: FieldRef) {
        let mut width = top_bits(f.width);
        for i in 0..words_for(f.width) as u32 {
            self.piece(f.slot + i, 0, width);
            width = 64;
        }
    }

    fn constant(&mut self, words: &[u64], width: u32) {
        let mut width = top_bits(width);
        for w in words {
            let short = self.advance(width);
            self.base = add(self.base, (w & mask64(width)).rotate_left(short));
            width = 64;
        }
    }
}

fn short(bits: u32) -> u32 {
    bits.wrapping_neg() % 16
}

/// In the first word of a value of this width.
fn top_bits(width: u32) -> u32 {
    (width.max(1) - 1) % 64 + 1
}

/// The group for the next input.
fn group(groups: &mut Vec<Group>, valid: Option<u32>) -> Option<&mut Group> {
    if groups
        .last()
        .is_none_or(|g| g.valid != valid || g.variable.is_some())
    {
        groups.push(Group {
            valid,
            ..Group::default()
        });
    }
    groups.last_mut()
}

impl Sum {
    /// `None` for inputs that are not laid out here.
    pub fn new(input: &[CalcInput]) -> Option<Self> {
        let mut groups = Vec::new();
        for i in input {
            match i {
                CalcInput::Run { pieces, valid } => {
                    let g = group(&mut groups, *valid)?;
                    for p in pieces {
                        g.piece(p.slot, u32::from(p.shift), u32::from(p.width));
                    }
                }
                CalcInput::Field { field, valid } => {
                    let g = group(&mut groups, *valid)?;
                    if field.variable {
                        g.variable = Some(*field);
                    } else {
                        g.wide(*field);
                    }
                }
                CalcInput::Const { words, width_bits } => {
                    group(&mut groups, None)?.constant(words, *width_bits);
                }
                CalcInput::Header(_) | CalcInput::Payload => return None,
            }
        }
        Some(Self {
            groups: groups.into(),
        })
    }

    #[inline]
    pub fn checksum(&self, words: &[u64]) -> u64 {
        let get = |slot: u32| words.get(slot as usize).copied().unwrap_or(0);
        let mut total = 0u64;
        let mut bits = 0u32;
        for g in &self.groups {
            if g.valid.is_some_and(|v| get(v) == 0) {
                continue;
            }
            let mut sum = g.base;
            for p in &g.pieces {
                sum = add(sum, (get(p.slot) & p.mask).rotate_left(u32::from(p.rotate)));
            }
            let mut length = g.bits;
            if let Some(f) = g.variable {
                let more = (get(f.slot.wrapping_sub(1)) as u32).min(f.width);
                length += more;
                // Right-aligned in its words.
                let last = f.slot + words_for(f.width) as u32;
                for slot in last - more.div_ceil(64)..last {
                    sum = add(sum, get(slot).rotate_left(short(length)));
                }
            }
            // What came before shifts the whole group.
            total = add(total, sum.rotate_right(bits % 16));
            bits = bits.wrapping_add(length);
        }
        let sum = (total & 0xffff_ffff) + (total >> 32);
        let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        !sum & 0xffff
    }
}

/// With the carry around the end.
#[inline(always)]
fn add(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u64::from(carry)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bmv2::bits::{BitWriter, read_wide};
    use crate::bmv2::ir::Piece as Bits;
    use proptest::prelude::*;

    /// RFC 1071 as written.
    pub(crate) fn reference(data: &[u8]) -> u64 {
        let mut s = 0u64;
        for c in data.chunks(2) {
            s += (u64::from(c[0]) << 8) | u64::from(c.get(1).copied().unwrap_or(0));
        }
        while s >> 16 != 0 {
            s = (s & 0xffff) + (s >> 16);
        }
        !s & 0xffff
    }

    proptest! {
        /// A header that may be invalid, a wide field, a constant, a field of
        /// variable length, then fields of any width that may be invalid too.
        #[test]
        fn sums_as_the_bytes_in_order(
            first in any::<[u64; 3]>(),
            valid in any::<bool>(),
            wide in any::<[u8; 16]>(),
            variable in prop::collection::vec(any::<u8>(), 0..20),
            rest in prop::collection::vec((any::<u64>(), 1u32..=64, 0u8..64, any::<bool>()), 0..10),
        ) {
            let (mut words, mut bytes, mut w) = (vec![0u64; 40], Vec::new(), BitWriter::default());
            words[0] = u64::from(valid);
            words[1..4].copy_from_slice(&first);
            let piece = |slot, shift, width| Bits { slot, shift, width };
            let mut input = vec![CalcInput::Run {
                pieces: vec![piece(1, 4, 12), piece(2, 0, 5), piece(3, 16, 48)],
                valid: Some(0),
            }];
            if valid {
                for (v, shift, width) in [(first[0], 4, 12), (first[1], 0, 5), (first[2], 16, 48)] {
                    w.push(&mut bytes, (v >> shift) & mask64(width), width);
                }
            }
            read_wide(&wide, 0, 128, &mut words[4..6]);
            input.push(CalcInput::Field { field: FieldRef::alone(4, 128), valid: None });
            for b in wide {
                w.push(&mut bytes, b.into(), 8);
            }
            input.push(CalcInput::Const { words: vec![0xabc], width_bits: 13 });
            w.push(&mut bytes, 0xabc, 13);
            // Its length is in word 6, the value in words 7 to 9.
            words[6] = variable.len() as u64 * 8;
            read_wide(&variable, 0, variable.len() as u32 * 8, &mut words[7..10]);
            let field = FieldRef { variable: true, ..FieldRef::alone(7, 160) };
            input.push(CalcInput::Field { field, valid: None });
            for b in &variable {
                w.push(&mut bytes, (*b).into(), 8);
            }
            for (i, (v, width, shift, present)) in rest.iter().enumerate() {
                let shift = shift % (65 - *width as u8);
                words[20 + i] = *v;
                words[30 + i] = u64::from(*present);
                input.push(CalcInput::Run {
                    pieces: vec![piece(20 + i as u32, shift, *width as u8)],
                    valid: Some(30 + i as u32),
                });
                if *present {
                    w.push(&mut bytes, (v >> shift) & mask64(*width), *width);
                }
            }
            w.finish(&mut bytes);
            let sum = Sum::new(&input).map(|s| s.checksum(&words));
            prop_assert_eq!(sum, Some(reference(&bytes)));
        }
    }
}
