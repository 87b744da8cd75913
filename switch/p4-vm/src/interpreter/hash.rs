// SPDX-License-Identifier: Apache-2.0
//! Calculations: checksums and hashes over fields.

use crc::{CRC_16_ARC, CRC_16_IBM_3740, CRC_32_ISO_HDLC, Crc, Table};

use super::crc32::crc32;
use crate::layout::calculation::Calculation;
use crate::layout::fixed_input;
use crate::layout::fixed_input::FixedInput;
use crate::state::cells::Cells;
use crate::vector::{field_bits, own_words, word};
use p4_ir::FieldRef;
use p4_ir::bits::{BitWriter, words_for};
use p4_ir::{Algorithm, CalcInput, Piece, Program};

static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
static CRC_CCITT: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_3740);
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

/// The value of `c` over the packet. `scratch` and `round_robin` are kept
/// between calls.
pub(super) fn calculate(
    c: &Calculation,
    program: &Program,
    words: &[u64],
    payload: &[u8],
    scratch: &mut Vec<u8>,
    round_robin: &mut u64,
) -> u64 {
    if c.algorithm == Algorithm::Csum16 {
        return match &c.sum {
            Some(s) => s.checksum(words),
            None => csum16(c, program, words, payload),
        };
    }
    if let Some(g) = &c.fixed {
        return of_words(c.algorithm, g, words, round_robin);
    }
    collect(c, program, words, payload, scratch);
    digest(c.algorithm, scratch, round_robin)
}

/// The value over an input with a fixed layout.
pub(super) fn gathered(a: Algorithm, g: &FixedInput, words: &[u64], cells: &mut Cells) -> u64 {
    of_words(a, g, words, &mut cells.round_robin)
}

#[inline]
fn of_words(a: Algorithm, g: &FixedInput, words: &[u64], round_robin: &mut u64) -> u64 {
    let list = g.words(words);
    if a == Algorithm::Crc32 {
        return u64::from(crc32(&list, g.bytes));
    }
    let bytes = fixed_input::bytes(&list);
    digest(a, bytes.get(..g.bytes).unwrap_or_default(), round_robin)
}

/// The input, byte by byte.
fn collect(
    c: &Calculation,
    program: &Program,
    words: &[u64],
    payload: &[u8],
    scratch: &mut Vec<u8>,
) {
    scratch.clear();
    let mut w = BitWriter::default();
    for i in &c.input {
        match i {
            CalcInput::Run { pieces, valid } => {
                if valid.is_none_or(|v| word(words, v) != 0) {
                    for p in pieces {
                        w.push(scratch, p.get(words), u32::from(p.width));
                    }
                }
            }
            CalcInput::Field { field, valid } => {
                if valid.is_none_or(|v| word(words, v) != 0) {
                    push_field(&mut w, scratch, words, *field);
                }
            }
            CalcInput::Const { words, width_bits } => w.push_wide(scratch, words, *width_bits),
            CalcInput::Header(h) => {
                if let Some(h) = program.headers.get(*h as usize)
                    && word(words, h.valid) != 0
                {
                    for f in &h.fields {
                        push_field(&mut w, scratch, words, f.field);
                    }
                }
            }
            CalcInput::Payload => {
                w.finish(scratch);
                scratch.extend_from_slice(payload);
            }
        }
    }
    w.finish(scratch);
}

fn digest(algorithm: Algorithm, data: &[u8], round_robin: &mut u64) -> u64 {
    match algorithm {
        Algorithm::Crc16 => u64::from(CRC16.checksum(data)),
        Algorithm::Crc32 => u64::from(CRC32.checksum(data)),
        Algorithm::CrcCcitt => u64::from(CRC_CCITT.checksum(data)),
        Algorithm::Xor16 => fold(data, 2),
        Algorithm::Xor32 => fold(data, 4),
        Algorithm::Identity => data.iter().take(8).fold(0, |a, b| (a << 8) | u64::from(*b)),
        Algorithm::RoundRobin => {
            let v = *round_robin;
            *round_robin = v.wrapping_add(1);
            v
        }
        Algorithm::Csum16 => 0,
    }
}

fn fold(data: &[u8], bytes: usize) -> u64 {
    data.chunks(bytes).fold(0, |a, c| {
        let mut v = 0u64;
        for i in 0..bytes {
            v = (v << 8) | u64::from(c.get(i).copied().unwrap_or(0));
        }
        a ^ v
    })
}

fn push_field(w: &mut BitWriter, out: &mut Vec<u8>, words: &[u64], f: FieldRef) {
    if f.width <= 64 && !f.variable {
        w.push(out, f.get(words), f.width);
    } else {
        w.push_wide(out, own_words(words, f), field_bits(words, f));
    }
}

/// One's complement sum: 2^16 ≡ 1, so that a field may be added as it is once
/// it is shifted to end on a 16-bit boundary of the input.
#[derive(Default)]
struct OnesSum {
    sum: u64,
    /// Bits so far, modulo 16.
    position: u32,
}

impl OnesSum {
    #[inline]
    fn add(&mut self, v: u64, width: u32) {
        self.position = (self.position + width) & 15;
        if self.position == 0 {
            self.sum += (v & 0xffff_ffff) + (v >> 32);
            self.sum = (self.sum & 0xffff_ffff_ffff) + (self.sum >> 48);
            return;
        }
        let shifted = u128::from(v) << ((16 - self.position) & 15);
        let folded = (shifted as u64 & 0xffff_ffff)
            + ((shifted >> 32) as u64 & 0xffff_ffff)
            + (shifted >> 64) as u64;
        self.sum += folded;
        self.sum = (self.sum & 0xffff_ffff_ffff) + (self.sum >> 48);
    }

    fn add_wide(&mut self, words: &[u64], width: u32) {
        let mut left = width;
        let skip = words.len().saturating_sub(words_for(width));
        for w in words.iter().skip(skip) {
            if left == 0 {
                break;
            }
            let take = (left - 1) % 64 + 1;
            self.add(*w, take);
            left -= take;
        }
    }

    fn add_run(&mut self, words: &[u64], pieces: &[Piece]) {
        for p in pieces {
            self.add(p.get(words), u32::from(p.width));
        }
    }

    fn add_field(&mut self, words: &[u64], f: FieldRef) {
        if f.width <= 64 && !f.variable {
            self.add(f.get(words), f.width);
        } else {
            self.add_wide(own_words(words, f), field_bits(words, f));
        }
    }

    fn finish(self) -> u64 {
        let mut s = self.sum;
        while s >> 16 != 0 {
            s = (s & 0xffff) + (s >> 16);
        }
        !s & 0xffff
    }
}

fn csum16(c: &Calculation, program: &Program, words: &[u64], payload: &[u8]) -> u64 {
    let mut sum = OnesSum::default();
    for i in &c.input {
        match i {
            CalcInput::Run { pieces, valid } => {
                if valid.is_none_or(|v| word(words, v) != 0) {
                    sum.add_run(words, pieces);
                }
            }
            CalcInput::Field { field, valid } => {
                if valid.is_none_or(|v| word(words, v) != 0) {
                    sum.add_field(words, *field);
                }
            }
            CalcInput::Const { words, width_bits } => sum.add_wide(words, *width_bits),
            CalcInput::Header(h) => {
                if let Some(h) = program.headers.get(*h as usize)
                    && word(words, h.valid) != 0
                {
                    for f in &h.fields {
                        sum.add_field(words, f.field);
                    }
                }
            }
            CalcInput::Payload => {
                let mut chunks = payload.chunks_exact(8);
                for c in &mut chunks {
                    if let Ok(b) = <[u8; 8]>::try_from(c) {
                        sum.add(u64::from_be_bytes(b), 64);
                    }
                }
                for b in chunks.remainder() {
                    sum.add(u64::from(*b), 8);
                }
            }
        }
    }
    sum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::ones_complement::tests::reference;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sum_of_shifted_fields_is_the_internet_checksum(
            fields in proptest::collection::vec((any::<u64>(), 1u32..=64), 0..40)
        ) {
            let mut bytes = Vec::new();
            let mut w = BitWriter::default();
            let mut sum = OnesSum::default();
            for (v, n) in &fields {
                let v = v & p4_ir::bits::mask64(*n);
                w.push(&mut bytes, v, *n);
                sum.add(v, *n);
            }
            w.finish(&mut bytes);
            prop_assert_eq!(sum.finish(), reference(&bytes));
        }
    }

    #[test]
    fn crc_check_values() {
        assert_eq!(CRC16.checksum(b"123456789"), 0xbb3d);
        assert_eq!(CRC_CCITT.checksum(b"123456789"), 0x29b1);
        assert_eq!(CRC32.checksum(b"123456789"), 0xcbf4_3926);
    }
}
