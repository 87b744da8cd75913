// SPDX-License-Identifier: Apache-2.0
//! One's complement sums over header fields, with a layout computed once.
//!
//! In such a sum 2^16 is 1, and so is 2^64: a field counts as it stands in its
//! word, rotated so far that it ends on a 16-bit boundary of the input.

use p4_ir::CalcInput;
use p4_ir::FieldRef;
use p4_ir::bits::{mask64, words_for};

#[derive(Debug, Default)]
pub(crate) struct OnesComplementSum {
    terms: Vec<Term>,
    /// Fields of variable length.
    variable: Vec<FieldRef>,
}

/// One term of the sum. Neighbouring inputs that count when one header is valid
/// form a group. Each group is laid out as if it came first. The sum of what came
/// before is rotated by the group's length, where that is no multiple of 16 bits.
#[derive(Debug, Clone, Copy)]
struct Term {
    slot: u32,
    rotate: u8,
    kind: Kind,
    /// Of [`Kind::IfValid`]: so many terms and one more are skipped when the word
    /// is 0.
    skip: u16,
    mask: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// These bits of the word.
    Add,
    IfValid,
    /// A constant: the mask.
    Constant,
    /// After a group.
    Rotate,
    /// Number `slot` of the variable fields.
    Variable,
    Payload,
}

/// The inputs of one group.
#[derive(Default)]
struct Group {
    valid: Option<u32>,
    terms: Vec<Term>,
    bits: u32,
}

fn term(kind: Kind, slot: u32, rotate: u32, mask: u64) -> Term {
    Term {
        slot,
        rotate: rotate as u8,
        kind,
        skip: 0,
        mask,
    }
}

impl Group {
    /// Bits that a value of this width is short of a boundary where it ends.
    fn advance(&mut self, width: u32) -> u32 {
        self.bits += width;
        short(self.bits)
    }

    fn piece(&mut self, slot: u32, shift: u32, width: u32) {
        let rotate = (self.advance(width) + 64 - shift) % 16;
        self.terms
            .push(term(Kind::Add, slot, rotate, mask64(width) << shift));
    }

    fn wide(&mut self, f: FieldRef) {
        let mut width = top_bits(f.width);
        for slot in (f.slot..).take(words_for(f.width)) {
            self.piece(slot, 0, width);
            width = 64;
        }
    }

    fn constant(&mut self, words: &[u64], width: u32) {
        let mut width = top_bits(width);
        for w in words {
            let short = self.advance(width);
            let value = (w & mask64(width)).rotate_left(short);
            if value != 0 {
                self.terms.push(term(Kind::Constant, 0, 0, value));
            }
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

#[inline(always)]
fn get(words: &[u64], slot: u32) -> u64 {
    words.get(slot as usize).copied().unwrap_or(0)
}

impl OnesComplementSum {
    /// `None` for more fields of one header than can be skipped.
    pub(crate) fn new(input: &[CalcInput]) -> Option<Self> {
        let mut sum = Self::default();
        let mut group = Group::default();
        for i in input {
            let valid = match i {
                CalcInput::Run { valid, .. } | CalcInput::Field { valid, .. } => *valid,
                CalcInput::Const { .. } | CalcInput::Payload => None,
            };
            if group.valid != valid {
                sum.close(std::mem::take(&mut group))?;
                group.valid = valid;
            }
            match i {
                CalcInput::Run { pieces, .. } => {
                    for p in pieces {
                        group.piece(p.slot, p.shift.into(), p.width.into());
                    }
                }
                CalcInput::Field { field, .. } if field.variable => {
                    let id = sum.variable.len() as u32;
                    sum.variable.push(*field);
                    sum.rotate(&mut group);
                    group.terms.push(term(Kind::Variable, id, 0, 0));
                }
                CalcInput::Field { field, .. } => group.wide(*field),
                CalcInput::Const { words, width_bits } => group.constant(words, *width_bits),
                CalcInput::Payload => {
                    sum.rotate(&mut group);
                    group.terms.push(term(Kind::Payload, 0, 0, 0));
                }
            }
        }
        sum.close(group)?;
        Some(sum)
    }

    /// Restarts at a 16-bit boundary.
    fn rotate(&self, g: &mut Group) {
        if !g.bits.is_multiple_of(16) {
            g.terms.push(term(Kind::Rotate, 0, g.bits % 16, 0));
        }
        g.bits = 0;
    }

    fn close(&mut self, mut g: Group) -> Option<()> {
        self.rotate(&mut g);
        if let (Some(valid), Some(more)) = (g.valid, g.terms.len().checked_sub(1)) {
            let skip = u16::try_from(more).ok()?;
            self.terms.push(Term {
                skip,
                ..term(Kind::IfValid, valid, 0, 0)
            });
        }
        self.terms.extend(g.terms);
        Some(())
    }

    // Alone, so that what its loop needs stays in registers.
    #[inline(never)]
    pub(crate) fn checksum(&self, words: &[u64], payload: &[u8]) -> u64 {
        let mut total = 0;
        let mut turned = 0;
        let mut rest = self.terms.iter();
        while let Some(s) = rest.next() {
            match s.kind {
                Kind::Add => {
                    let part = get(words, s.slot) & s.mask;
                    total = add(total, part.rotate_left(u32::from(s.rotate)));
                }
                Kind::IfValid => {
                    if get(words, s.slot) == 0 {
                        rest.nth(usize::from(s.skip));
                    }
                }
                _ => {
                    let more;
                    (total, more) = self.cold_term(*s, words, payload, total);
                    turned += more;
                }
            }
        }
        folded(total.rotate_right(turned % 64))
    }

    /// The sum after the term, and by how much it has been rotated.
    #[cold]
    fn cold_term(&self, s: Term, words: &[u64], payload: &[u8], total: u64) -> (u64, u32) {
        match s.kind {
            Kind::Rotate => {
                let by = u32::from(s.rotate);
                (total.rotate_left(by), by)
            }
            Kind::Variable => self.add_variable(s.slot, words, total),
            Kind::Payload => {
                let total = add_bytes(payload, total);
                let odd = payload.len() as u32 % 2 * 8;
                (total.rotate_left(odd), odd)
            }
            _ => (add(total, s.mask), 0),
        }
    }

    /// Adds the field and rotates by its length, which is returned, too.
    fn add_variable(&self, id: u32, words: &[u64], mut total: u64) -> (u64, u32) {
        let Some(f) = self.variable.get(id as usize) else {
            return (total, 0);
        };
        let bits = (get(words, f.slot.wrapping_sub(1)) as u32).min(f.width);
        // Right-aligned in its words.
        let last = f.slot + words_for(f.width) as u32;
        for slot in last - bits.div_ceil(64)..last {
            total = add(total, get(words, slot).rotate_left(short(bits)));
        }
        (total.rotate_left(bits % 16), bits % 16)
    }
}

/// The checksum of bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    folded(add_bytes(bytes, 0))
}

/// As if zeros followed up to a 16-bit boundary.
fn add_bytes(bytes: &[u8], mut total: u64) -> u64 {
    let (words, rest) = bytes.as_chunks();
    for w in words {
        total = add(total, u64::from_be_bytes(*w));
    }
    let mut last = [0; 8];
    for (to, b) in last.iter_mut().zip(rest) {
        *to = *b;
    }
    add(total, u64::from_be_bytes(last))
}

fn folded(total: u64) -> u64 {
    let sum = (total & 0xffff_ffff) + (total >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    !sum & 0xffff
}

/// With the carry around the end.
#[inline(always)]
fn add(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u64::from(carry)
}

#[cfg(test)]
pub(crate) mod tests;
