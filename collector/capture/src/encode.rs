// SPDX-License-Identifier: Apache-2.0
//! Parquet's integer encodings, applied to a whole page at once.
//!
//! The parquet crate encodes one value after another, which costs more than
//! everything before the capture. A page at a time, most of the work is done in
//! registers.

use parquet::basic::Encoding;

/// Values per block and per miniblock of DELTA_BINARY_PACKED: the sizes that every
/// writer uses and every reader accepts.
const BLOCK: usize = 128;
const MINIBLOCK: usize = 32;
/// Shortest run of equal values that is encoded as a run.
const LEAST_RUN: usize = 16;

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint(((value << 1) ^ (value >> 63)) as u64, out);
}

/// Returns the number of bits that a value needs.
#[inline]
fn width_of(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// Encodes as DELTA_BINARY_PACKED. `narrow`: values have 32 bits, and only the lower
/// half of each counts; differences wrap at the width, as the format requires.
pub(crate) fn delta(values: &[u64], narrow: bool, out: &mut Vec<u8>) {
    if narrow {
        delta_of(values, |v| i64::from(v as i32), out);
    } else {
        delta_of(values, |v| v as i64, out);
    }
}

#[inline(always)]
fn delta_of(values: &[u64], signed: impl Fn(u64) -> i64, out: &mut Vec<u8>) {
    varint(BLOCK as u64, out);
    varint((BLOCK / MINIBLOCK) as u64, out);
    varint(values.len() as u64, out);
    let first = values.first().copied().unwrap_or(0);
    zigzag(signed(first), out);
    let rest = values.get(1..).unwrap_or_default();
    let mut differences = [0i64; BLOCK];
    for (block, before) in rest.chunks(BLOCK).zip(values.chunks(BLOCK)) {
        for ((d, &v), &b) in differences.iter_mut().zip(block).zip(before) {
            *d = signed(v.wrapping_sub(b));
        }
        let used = differences.get(..block.len()).unwrap_or_default();
        let least = used.iter().copied().min().unwrap_or(0);
        zigzag(least, out);
        // A miniblock is packed whole; padding after the last value is not read.
        let mut above = [0u64; BLOCK];
        for (a, &d) in above.iter_mut().zip(used) {
            *a = d.wrapping_sub(least) as u64;
        }
        let mut widths = [0u8; BLOCK / MINIBLOCK];
        for (w, mini) in widths.iter_mut().zip(above.chunks_exact(MINIBLOCK)) {
            *w = width_of(mini.iter().fold(0, |all, v| all | v)) as u8;
        }
        out.extend_from_slice(&widths);
        let minis = block.len().div_ceil(MINIBLOCK);
        for (w, mini) in widths.iter().zip(above.chunks_exact(MINIBLOCK)).take(minis) {
            pack(mini, u32::from(*w), out);
        }
    }
}

/// Packs values of up to `width` bits, lowest bit first; the number of values must
/// be a multiple of 8.
#[inline]
fn pack(values: &[u64], width: u32, out: &mut Vec<u8>) {
    match width {
        0 => {}
        1..=32 => pack_narrow(values.iter().copied(), width, out),
        _ => pack_wide(values, width, out),
    }
}

#[inline(always)]
fn pack_narrow(values: impl ExactSizeIterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let bytes = values.len() * width as usize / 8;
    let start = out.len();
    // Stores whole words; the excess bytes are cut off at the end.
    out.resize(start + bytes + 8, 0);
    let mut words = out.get_mut(start..).unwrap_or_default().chunks_exact_mut(4);
    let (mut gathered, mut bits) = (0u64, 0u32);
    for value in values {
        gathered |= value << bits;
        bits += width;
        if bits >= 32 {
            if let Some(word) = words.next() {
                word.copy_from_slice(&(gathered as u32).to_le_bytes());
            }
            gathered >>= 32;
            bits -= 32;
        }
    }
    if let Some(word) = words.next() {
        word.copy_from_slice(&(gathered as u32).to_le_bytes());
    }
    out.truncate(start + bytes);
}

fn pack_wide(values: &[u64], width: u32, out: &mut Vec<u8>) {
    let (mut gathered, mut bits) = (0u128, 0u32);
    for &value in values {
        gathered |= u128::from(value) << bits;
        bits += width;
        if bits >= 64 {
            out.extend_from_slice(&(gathered as u64).to_le_bytes());
            gathered >>= 64;
            bits -= 64;
        }
    }
    // A multiple of 8 values ends at a byte.
    let left = bits.div_ceil(8) as usize;
    let last = (gathered as u64).to_le_bytes();
    out.extend_from_slice(last.get(..left).unwrap_or_default());
}

/// Encodes as Parquet's hybrid of runs and bit-packed groups, used for levels,
/// booleans and dictionary indices.
pub(crate) fn hybrid(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let mut packed_from = 0;
    let mut at = 0;
    while let Some(&value) = values.get(at) {
        let run = run_length(values.get(at..).unwrap_or_default(), value);
        // Values of the run fill up the last group of eight.
        let fill = (8 - (at - packed_from) % 8) % 8;
        if run >= fill + LEAST_RUN {
            packed(
                values.get(packed_from..at + fill).unwrap_or_default(),
                width,
                out,
            );
            repeated(value, run - fill, width, out);
            packed_from = at + run;
        }
        at += run;
    }
    packed(values.get(packed_from..).unwrap_or_default(), width, out);
}

/// Appends a run of the [`hybrid`]: `count` (at least 1) times the same value.
pub(crate) fn repeated(value: u32, count: usize, width: u32, out: &mut Vec<u8>) {
    varint((count as u64) << 1, out);
    let bytes = value.to_le_bytes();
    let used = width.div_ceil(8) as usize;
    out.extend_from_slice(bytes.get(..used).unwrap_or_default());
}

/// Returns the length of a run. Most are short or very long: compares the first values singly.
#[inline]
fn run_length(values: &[u32], value: u32) -> usize {
    const ONE_BY_ONE: usize = 8;
    const AT_ONCE: usize = 32;
    let same = |values: &[u32]| values.iter().take_while(|&&v| v == value).count();
    let (first, rest) = values.split_at_checked(ONE_BY_ONE).unwrap_or((values, &[]));
    let short = same(first);
    if short < first.len() {
        return short;
    }
    let chunks = rest.chunks_exact(AT_ONCE);
    let differs = |chunk: &[u32]| chunk.iter().fold(0, |d, &v| d | (v ^ value)) != 0;
    let whole = chunks.take_while(|c| !differs(c)).count() * AT_ONCE;
    short + whole + same(rest.get(whole..).unwrap_or_default())
}

/// Appends bit-packed groups; the last may be padded with zeros.
fn packed(values: &[u32], width: u32, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(8);
    varint((groups as u64) << 1 | 1, out);
    let whole = values.len() / 8 * 8;
    let (body, tail) = values.split_at_checked(whole).unwrap_or((values, &[]));
    pack_narrow(body.iter().map(|&v| u64::from(v)), width, out);
    if !tail.is_empty() {
        let mut last = [0u32; 8];
        for (l, &v) in last.iter_mut().zip(tail) {
            *l = v;
        }
        pack_narrow(last.iter().map(|&v| u64::from(v)), width, out);
    }
}

/// Appends the width of a dictionary index, then the indices.
pub(crate) fn indexes(numbers: &[u32], entries: usize, out: &mut Vec<u8>) -> Encoding {
    let width = width_of(entries.saturating_sub(1) as u64).max(1);
    out.push(width as u8);
    hybrid(numbers, width, out);
    Encoding::RLE_DICTIONARY
}

/// Encodes as PLAIN: the values one after another, in four bytes if `narrow`, else in eight.
pub(crate) fn plain(bits: &[u64], narrow: bool, out: &mut Vec<u8>) {
    for b in bits {
        let bytes = b.to_le_bytes();
        let used = if narrow { 4 } else { 8 };
        out.extend_from_slice(bytes.get(..used).unwrap_or_default());
    }
}
