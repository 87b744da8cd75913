// SPDX-License-Identifier: Apache-2.0
//! Integers on the wire: big-endian; received with any number of leading zero bytes, sent
//! in the shortest form.

use crate::errors::{Outcome, refuse};

/// Returns the number of bytes that hold `bits`.
pub(crate) const fn bytes_for(bits: u32) -> usize {
    bits.div_ceil(8) as usize
}

/// Returns the value in exactly [`bytes_for`]`(bits)` bytes.
///
/// # Errors
/// `OUT_OF_RANGE` if the value is empty or does not fit.
pub(crate) fn parse(value: &[u8], bits: u32) -> Outcome<Vec<u8>> {
    if value.is_empty() {
        refuse!(out_of_range: "empty value; zero is written as one zero byte");
    }
    let short = strip(value);
    let used_bits = short
        .first()
        .map_or(0, |b| short.len() as u32 * 8 - b.leading_zeros());
    if used_bits > bits {
        refuse!(out_of_range:
            "value 0x{} takes {used_bits} bits, the field has {bits}",
            hex(short)
        );
    }
    let mut out = vec![0; bytes_for(bits)];
    let start = out.len() - short.len();
    out[start..].copy_from_slice(short);
    Ok(out)
}

/// Returns the shortest form; one zero byte for zero.
pub(crate) fn canonical(value: &[u8]) -> Vec<u8> {
    match strip(value) {
        [] => vec![0],
        short => short.to_vec(),
    }
}

/// Returns a mask of the top `ones` bits of a field of `bits`.
pub(crate) fn prefix_mask(bits: u32, ones: u32) -> Vec<u8> {
    let mut mask = vec![0u8; bytes_for(bits)];
    let total = mask.len() as u32 * 8;
    for i in 0..ones.min(bits) {
        let at = total - bits + i;
        mask[(at / 8) as usize] |= 0x80 >> (at % 8);
    }
    mask
}

pub(crate) fn is_zero(value: &[u8]) -> bool {
    value.iter().all(|&b| b == 0)
}

/// Returns whether `value` has a bit outside `mask`; both have equal length.
pub(crate) fn exceeds(value: &[u8], mask: &[u8]) -> bool {
    value.iter().zip(mask).any(|(v, m)| v & !m != 0)
}

/// Returns the value as `u64`, if it fits.
pub(crate) fn to_u64(value: &[u8]) -> Option<u64> {
    let short = strip(value);
    (!value.is_empty() && short.len() <= 8)
        .then(|| short.iter().fold(0, |n, &b| n << 8 | u64::from(b)))
}

/// Returns the value as `u32`, if it fits.
pub(crate) fn to_u32(value: &[u8]) -> Option<u32> {
    to_u64(value).and_then(|n| u32::try_from(n).ok())
}

pub(crate) fn hex(value: &[u8]) -> String {
    use std::fmt::Write as _;
    value.iter().fold(String::new(), |mut s, b| {
        let _ = write!(s, "{b:02x}");
        s
    })
}

fn strip(value: &[u8]) -> &[u8] {
    let zeros = value.iter().take_while(|&&b| b == 0).count();
    &value[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    #[test]
    fn leading_zeros_are_accepted_and_removed() {
        assert_eq!(parse(&[0, 0, 0, 1, 2], 16).unwrap(), [1, 2]);
        assert_eq!(parse(&[1], 32).unwrap(), [0, 0, 0, 1]);
        assert_eq!(canonical(&[0, 0, 1, 0]), [1, 0]);
        assert_eq!(canonical(&[0, 0]), [0]);
    }

    #[test]
    fn width_is_counted_in_bits() {
        assert_eq!(parse(&[1, 0xff], 9).unwrap(), [1, 0xff]);
        assert_eq!(parse(&[2, 0], 9).unwrap_err().code, Code::OutOfRange);
        assert_eq!(parse(&[], 9).unwrap_err().code, Code::OutOfRange);
        assert_eq!(parse(&[0], 1).unwrap(), [0]);
    }

    #[test]
    fn masks() {
        assert_eq!(prefix_mask(32, 9), [0xff, 0x80, 0, 0]);
        assert_eq!(prefix_mask(9, 1), [1, 0]);
        assert_eq!(prefix_mask(9, 9), [1, 0xff]);
        assert!(exceeds(&[1], &[2]) && !exceeds(&[2], &[3]));
    }

    #[test]
    fn numbers() {
        assert_eq!(to_u32(&[0, 0, 0, 0, 0, 1, 2]), Some(258));
        assert_eq!(to_u32(&[]), None);
        assert_eq!(to_u32(&[1, 0, 0, 0, 0]), None);
    }
}
