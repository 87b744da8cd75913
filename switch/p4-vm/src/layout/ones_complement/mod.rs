// SPDX-License-Identifier: Apache-2.0
//! One's complement sums over header fields, with a layout computed once.
//!
//! In a one's complement sum 2^16 equals 1, and so does 2^64: a field is added as it stands
//! in its word, rotated so that it ends on a 16-bit boundary of the input.

use p4_ir::CalcInput;
use p4_ir::FieldRef;
use p4_ir::bits::{mask64, words_for};

#[derive(Debug, Default)]
pub(crate) struct OnesComplementSum {
    segments: Vec<Segment>,
    /// Fields of variable length.
    variable: Vec<FieldRef>,
}

/// Adjacent inputs under one header's validity, up to the next rotation. Each segment is laid out
/// as if it came first; a length that is no multiple of 16 bits then rotates the sum.
#[derive(Debug, Default)]
struct Segment {
    /// Slot of the validity bit; `None`: always valid.
    valid: Option<u32>,
    /// Sum of the constants.
    constant: u64,
    adds: Vec<Add>,
    end: End,
    bits: u32,
}

/// Adds bits of a word, rotated left.
#[derive(Debug, Clone, Copy)]
struct Add {
    mask: u64,
    slot: u32,
    rotate: u8,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum End {
    #[default]
    Aligned,
    /// Rotates the sum by this many bits.
    Rotate(u32),
    /// Adds the variable-length field with this number.
    Variable(u32),
    Payload,
}

impl Segment {
    /// Advances by a value of this width; returns the bits from its end to the next boundary.
    fn advance(&mut self, width: u32) -> u32 {
        self.bits += width;
        short(self.bits)
    }

    fn piece(&mut self, slot: u32, shift: u32, width: u32) {
        let rotate = ((self.advance(width) + 64 - shift) % 16) as u8;
        let mask = mask64(width) << shift;
        match self.adds.last_mut() {
            // Adjacent pieces of a word are added at once.
            Some(a) if (a.slot, a.rotate) == (slot, rotate) && a.mask & mask == 0 => a.mask |= mask,
            _ => self.adds.push(Add { mask, slot, rotate }),
        }
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
            self.constant = add(self.constant, (w & mask64(width)).rotate_left(short));
            width = 64;
        }
    }
}

fn short(bits: u32) -> u32 {
    bits.wrapping_neg() % 16
}

/// Returns the bits in the first word of a value of this width.
fn top_bits(width: u32) -> u32 {
    (width.max(1) - 1) % 64 + 1
}

#[inline(always)]
fn get(words: &[u64], slot: u32) -> u64 {
    words.get(slot as usize).copied().unwrap_or(0)
}

impl OnesComplementSum {
    pub(crate) fn new(input: &[CalcInput]) -> Self {
        let mut sum = Self::default();
        let mut segment = Segment::default();
        for i in input {
            let valid = match i {
                CalcInput::Run { valid, .. } | CalcInput::Field { valid, .. } => *valid,
                CalcInput::Const { .. } | CalcInput::Payload => None,
            };
            if segment.valid != valid {
                sum.close(&mut segment, End::Aligned);
                segment.valid = valid;
            }
            match i {
                CalcInput::Run { pieces, .. } => {
                    for p in pieces {
                        segment.piece(p.slot, p.shift.into(), p.width.into());
                    }
                }
                CalcInput::Field { field, .. } if field.variable => {
                    let id = sum.variable.len() as u32;
                    sum.variable.push(*field);
                    sum.close(&mut segment, End::Variable(id));
                }
                CalcInput::Field { field, .. } => segment.wide(*field),
                CalcInput::Const { words, width_bits } => segment.constant(words, *width_bits),
                CalcInput::Payload => sum.close(&mut segment, End::Payload),
            }
        }
        sum.close(&mut segment, End::Aligned);
        sum
    }

    /// Ends the segment before `end`; the next segment belongs to the same header.
    fn close(&mut self, segment: &mut Segment, end: End) {
        let valid = segment.valid;
        let next = || Segment {
            valid,
            ..Segment::default()
        };
        let mut done = std::mem::replace(segment, next());
        if !done.bits.is_multiple_of(16) {
            done.end = End::Rotate(done.bits % 16);
        }
        if done.bits > 0 {
            self.segments.push(done);
        }
        if end != End::Aligned {
            self.segments.push(Segment { end, ..next() });
        }
    }

    // Not inlined, so that the loop's variables stay in registers.
    #[inline(never)]
    pub(crate) fn checksum(&self, words: &[u64], payload: &[u8]) -> u64 {
        let mut total = 0;
        let mut turned = 0;
        for s in &self.segments {
            if s.valid.is_some_and(|v| get(words, v) == 0) {
                continue;
            }
            total = add(total, s.constant);
            for a in &s.adds {
                let part = get(words, a.slot) & a.mask;
                total = add(total, part.rotate_left(u32::from(a.rotate)));
            }
            if s.end != End::Aligned {
                let more;
                (total, more) = self.end(s.end, words, payload, total);
                turned += more;
            }
        }
        folded(total.rotate_right(turned % 64))
    }

    /// Returns the sum after `end`, and the number of bits by which it was rotated.
    #[cold]
    fn end(&self, end: End, words: &[u64], payload: &[u8], total: u64) -> (u64, u32) {
        match end {
            End::Aligned => (total, 0),
            End::Rotate(by) => (total.rotate_left(by), by),
            End::Variable(id) => self.add_variable(id, words, total),
            End::Payload => {
                let total = add_bytes(payload, total);
                let odd = payload.len() as u32 % 2 * 8;
                (total.rotate_left(odd), odd)
            }
        }
    }

    /// Adds the field and rotates the sum by its length; returns the sum and the rotation.
    fn add_variable(&self, id: u32, words: &[u64], mut total: u64) -> (u64, u32) {
        let Some(f) = self.variable.get(id as usize) else {
            return (total, 0);
        };
        let bits = (get(words, f.slot.wrapping_sub(1)) as u32).min(f.width);
        // The value is right-aligned in its words.
        let last = f.slot + words_for(f.width) as u32;
        for slot in last - bits.div_ceil(64)..last {
            total = add(total, get(words, slot).rotate_left(short(bits)));
        }
        (total.rotate_left(bits % 16), bits % 16)
    }
}

/// Returns the checksum of bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> u64 {
    folded(add_bytes(bytes, 0))
}

/// Adds bytes as if zeros followed up to a 16-bit boundary.
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

/// Adds with end-around carry.
#[inline(always)]
fn add(a: u64, b: u64) -> u64 {
    let (sum, carry) = a.overflowing_add(b);
    sum + u64::from(carry)
}

#[cfg(test)]
pub(crate) mod tests;
