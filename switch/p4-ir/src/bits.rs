// SPDX-License-Identifier: Apache-2.0
//! Bit fields in packets and in words.
//!
//! A value wider than 64 bits occupies consecutive words, most significant
//! first, right-aligned.

use num_bigint::{BigInt, BigUint, Sign};

/// Returns the number of words that a value of `width_bits` occupies.
#[inline]
pub const fn words_for(width_bits: u32) -> usize {
    if width_bits <= 64 {
        1
    } else {
        width_bits.div_ceil(64) as usize
    }
}

/// Returns a mask of the lowest `width_bits` bits; all bits from 64 up.
#[inline]
pub const fn mask64(width_bits: u32) -> u64 {
    if width_bits >= 64 {
        u64::MAX
    } else {
        (1 << width_bits) - 1
    }
}

/// Sign-extends the lowest `width_bits` bits of `v`.
#[inline]
pub const fn sign_extend64(v: u64, width_bits: u32) -> i64 {
    if width_bits == 0 {
        return 0;
    }
    if width_bits >= 64 {
        return v as i64;
    }
    let shift = 64 - width_bits;
    ((v << shift) as i64) >> shift
}

/// Reads `width_bits` (at most 64) bits at `bit_offset`, big-endian; bits beyond the end
/// of `data` read as 0.
#[inline]
pub fn read64(data: &[u8], bit_offset: usize, width_bits: u32) -> u64 {
    let first = bit_offset / 8;
    let lead = (bit_offset % 8) as u32;
    let mask = mask64(width_bits);
    if lead + width_bits <= 64
        && let Some(chunk) = data.get(first..first + 8)
        && let Ok(eight) = <[u8; 8]>::try_from(chunk)
    {
        if width_bits == 0 {
            return 0;
        }
        return (u64::from_be_bytes(eight) >> (64 - lead - width_bits)) & mask;
    }
    let last = (bit_offset + width_bits as usize).div_ceil(8);
    let mut acc = 0u128;
    for i in first..last {
        acc = (acc << 8) | u128::from(data.get(i).copied().unwrap_or(0));
    }
    let tail = last * 8 - bit_offset - width_bits as usize;
    ((acc >> tail) as u64) & mask
}

/// Reads `width_bits` bits at `bit_offset` into `out`, right-aligned.
#[inline]
pub fn read_wide(data: &[u8], bit_offset: usize, width_bits: u32, out: &mut [u64]) {
    let mut left = width_bits;
    for w in out.iter_mut().rev() {
        let take = left.min(64);
        left -= take;
        *w = if take == 0 {
            0
        } else {
            read64(data, bit_offset + left as usize, take)
        };
    }
}

/// Appends bit fields to a byte vector.
#[derive(Debug, Default, Clone, Copy)]
pub struct BitWriter {
    acc: u64,
    used_bits: u32,
}

impl BitWriter {
    /// Appends the lowest `width_bits` (at most 64) bits of `v`.
    #[inline]
    pub fn push(&mut self, out: &mut Vec<u8>, v: u64, width_bits: u32) {
        if self.used_bits == 0 && width_bits.is_multiple_of(8) && width_bits > 0 {
            let end = out.len() + (width_bits / 8) as usize;
            out.extend_from_slice(&(v << (64 - width_bits)).to_be_bytes());
            out.truncate(end);
        } else if width_bits > 32 {
            self.push32(out, v >> 32, width_bits - 32);
            self.push32(out, v, 32);
        } else {
            self.push32(out, v, width_bits);
        }
    }

    #[inline]
    fn push32(&mut self, out: &mut Vec<u8>, v: u64, width_bits: u32) {
        self.acc = (self.acc << width_bits) | (v & mask64(width_bits));
        self.used_bits += width_bits;
        while self.used_bits >= 8 {
            self.used_bits -= 8;
            out.push((self.acc >> self.used_bits) as u8);
        }
    }

    /// Appends `width_bits` bits of a right-aligned wide value.
    #[inline]
    pub fn push_wide(&mut self, out: &mut Vec<u8>, words: &[u64], width_bits: u32) {
        let mut left = width_bits;
        let skip = words.len().saturating_sub(words_for(width_bits));
        for w in words.iter().skip(skip) {
            if left == 0 {
                break;
            }
            let take = (left - 1) % 64 + 1;
            self.push(out, *w, take);
            left -= take;
        }
    }

    /// Pads with zeros to a whole byte.
    #[inline]
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        if self.used_bits > 0 {
            let pad = 8 - self.used_bits;
            self.push32(out, 0, pad);
        }
    }
}

/// Converts big-endian bytes to right-aligned words of `width_bits`; excess leading bits
/// are dropped.
#[inline]
pub fn words_from_bytes(bytes: &[u8], width_bits: u32) -> Vec<u64> {
    let n = words_for(width_bits);
    let mut out = vec![0u64; n];
    for (i, b) in bytes.iter().rev().enumerate().take(n * 8) {
        out[n - 1 - i / 8] |= u64::from(*b) << (8 * (i % 8));
    }
    mask_words(&mut out, width_bits);
    out
}

/// Converts words to `ceil(width / 8)` big-endian bytes.
#[inline]
pub fn bytes_from_words(words: &[u64], width_bits: u32) -> Vec<u8> {
    let n = (width_bits as usize).div_ceil(8).max(1);
    let all: Vec<u8> = words.iter().flat_map(|w| w.to_be_bytes()).collect();
    let skip = all.len().saturating_sub(n);
    all[skip..].to_vec()
}

/// Clears the bits above `width_bits`.
#[inline]
pub fn mask_words(words: &mut [u64], width_bits: u32) {
    let mut left = width_bits;
    for w in words.iter_mut().rev() {
        *w &= mask64(left.min(64));
        left = left.saturating_sub(64);
    }
}

/// Returns the number that these words hold.
pub fn big_from_words(words: &[u64], width_bits: u32, signed: bool) -> BigInt {
    let mut v = BigInt::from(0);
    for w in words {
        v = (v << 64) | BigInt::from(*w);
    }
    if signed && width_bits > 0 && v.bit(u64::from(width_bits) - 1) {
        v -= BigInt::from(1) << width_bits;
    }
    v
}

/// Stores `v` modulo 2^width.
pub fn words_from_big(v: &BigInt, width_bits: u32, out: &mut [u64]) {
    let modulus = BigInt::from(1) << width_bits;
    let mut r = v % &modulus;
    if r.sign() == Sign::Minus {
        r += &modulus;
    }
    let digits = r.magnitude().to_u64_digits();
    for (i, w) in out.iter_mut().rev().enumerate() {
        *w = digits.get(i).copied().unwrap_or(0);
    }
}

/// Parses p4c's `hexstr`, which may be negative.
pub fn parse_hexstr(s: &str) -> Option<BigInt> {
    let (negative, rest) = match s.strip_prefix('-') {
        Some(r) => (true, r),
        None => (false, s),
    };
    let digits = rest
        .strip_prefix("0x")
        .or_else(|| rest.strip_prefix("0X"))
        .unwrap_or(rest);
    if digits.is_empty() || digits.len() > 4096 {
        return None;
    }
    let magnitude = BigUint::parse_bytes(digits.as_bytes(), 16)?;
    let v = BigInt::from(magnitude);
    Some(if negative { -v } else { v })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_across_bytes_and_past_the_end() {
        let d = [0xab, 0xcd, 0xef, 0x01];
        assert_eq!(read64(&d, 4, 8), 0xbc);
        assert_eq!(read64(&d, 0, 32), 0xabcd_ef01);
        assert_eq!(read64(&d, 24, 16), 0x0100);
        let long: Vec<u8> = (0..20).collect();
        assert_eq!(read64(&long, 3, 64), 0x0008_1018_2028_3038);
    }

    #[test]
    fn hexstr_signs() {
        assert_eq!(parse_hexstr("-0x10"), Some(BigInt::from(-16)));
        assert_eq!(parse_hexstr("0xff"), Some(BigInt::from(255)));
        assert_eq!(parse_hexstr("0x"), None);
        assert_eq!(parse_hexstr("zz"), None);
    }

    proptest! {
        #[test]
        fn write_then_read(values in proptest::collection::vec((any::<u64>(), 1u32..=64), 1..20)) {
            let mut out = Vec::new();
            let mut w = BitWriter::default();
            for (v, n) in &values { w.push(&mut out, *v, *n); }
            w.finish(&mut out);
            let mut at = 0usize;
            for (v, n) in &values {
                prop_assert_eq!(read64(&out, at, *n), v & mask64(*n));
                at += *n as usize;
            }
            prop_assert_eq!(out.len(), at.div_ceil(8));
        }

        #[test]
        fn wide_round_trip(bytes in proptest::collection::vec(any::<u8>(), 1..40), lead in 0usize..8) {
            let width = (bytes.len() * 8 - lead) as u32;
            let mut words = vec![0u64; words_for(width)];
            read_wide(&bytes, lead, width, &mut words);
            let mut out = Vec::new();
            let mut w = BitWriter::default();
            w.push(&mut out, 0, lead as u32);
            w.push_wide(&mut out, &words, width);
            let mut want = bytes.clone();
            want[0] &= 0xffu8.checked_shr(lead as u32).unwrap_or(0);
            prop_assert_eq!(&out, &want);
            let big = big_from_words(&words, width, false);
            let mut again = vec![0u64; words.len()];
            words_from_big(&big, width, &mut again);
            prop_assert_eq!(again, words.clone());
            prop_assert_eq!(words_from_bytes(&bytes_from_words(&words, width), width), words);
        }
    }
}
