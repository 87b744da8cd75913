// SPDX-License-Identifier: Apache-2.0
//! Calculations: checksums and hashes over fields.

use crc::{CRC_16_ARC, CRC_16_IBM_3740, CRC_32_ISO_HDLC, Crc, Table};

use super::crc32::crc32;
use crate::layout::calculation::Calculation;
use crate::layout::fixed_input::{self, FixedInput};
use crate::layout::ones_complement;
use crate::packet::Packet;
use crate::state::cells::Cells;
use crate::vector::{field_bits, own_words, word};
use p4_ir::bits::BitWriter;
use p4_ir::{Algorithm, CalcInput};

static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
static CRC_CCITT: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_3740);
static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);

/// Returns the value of `c` over the packet.
pub(super) fn calculate(c: &Calculation, p: &Packet, cells: &mut Cells) -> u64 {
    if let Some(s) = &c.sum {
        return s.checksum(&p.words, p.payload());
    }
    if let Some(g) = &c.fixed {
        return gathered(c.algorithm, g, &p.words, cells);
    }
    collect(c, p, &mut cells.scratch);
    digest(c.algorithm, &cells.scratch, &mut cells.round_robin)
}

/// Returns the value over an input with a fixed layout.
#[inline]
pub(super) fn gathered(a: Algorithm, g: &FixedInput, words: &[u64], cells: &mut Cells) -> u64 {
    let list = g.words(words);
    if a == Algorithm::Crc32 {
        return u64::from(crc32(&list, g.bytes));
    }
    let bytes = fixed_input::bytes(&list);
    let bytes = bytes.get(..g.bytes).unwrap_or_default();
    digest(a, bytes, &mut cells.round_robin)
}

/// Returns the hash modulo `max` (at least 1); a division takes as long as a short hash.
#[inline]
pub(super) fn below(hash: u64, max: u64) -> u64 {
    let max = max.max(1);
    if max.is_power_of_two() {
        hash & (max - 1)
    } else {
        hash % max
    }
}

/// Collects the input byte by byte.
fn collect(c: &Calculation, p: &Packet, scratch: &mut Vec<u8>) {
    let words = &*p.words;
    scratch.clear();
    let mut w = BitWriter::default();
    for i in &c.input {
        match i {
            CalcInput::Run { pieces, valid } => {
                if valid.is_none_or(|v| word(words, v) != 0) {
                    for piece in pieces {
                        w.push(scratch, piece.get(words), u32::from(piece.width));
                    }
                }
            }
            CalcInput::Field { field, valid } => {
                if valid.is_none_or(|v| word(words, v) != 0) {
                    if field.width <= 64 && !field.variable {
                        w.push(scratch, field.get(words), field.width);
                    } else {
                        let bits = field_bits(words, *field);
                        w.push_wide(scratch, own_words(words, *field), bits);
                    }
                }
            }
            CalcInput::Const { words, width_bits } => w.push_wide(scratch, words, *width_bits),
            CalcInput::Payload => {
                w.finish(scratch);
                scratch.extend_from_slice(p.payload());
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
        Algorithm::Csum16 => ones_complement::of_bytes(data),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_check_values() {
        assert_eq!(CRC16.checksum(b"123456789"), 0xbb3d);
        assert_eq!(CRC_CCITT.checksum(b"123456789"), 0x29b1);
        assert_eq!(CRC32.checksum(b"123456789"), 0xcbf4_3926);
    }
}
