// SPDX-License-Identifier: Apache-2.0
//! P4Runtime byte strings: the canonical form of values (P4Runtime specification, "Bytestrings").

use crate::Error;

/// Returns the shortest big-endian form: no leading zero bytes, `\0` for zero.
pub(super) fn canonical(value: impl Into<u128>) -> Vec<u8> {
    let bytes = value.into().to_be_bytes();
    let first = bytes.iter().position(|&b| b != 0).unwrap_or(15);
    bytes[first..].to_vec()
}

/// Encodes a value that must fit a field of `bits` bits.
pub(super) fn fitted(value: u64, bits: i32, field: &str) -> Result<Vec<u8>, Error> {
    if (0..64).contains(&bits) && value >> bits != 0 {
        let max = (1u64 << bits) - 1;
        return Err(Error::value(
            field,
            format!("{value} does not fit {bits} bits (at most {max})"),
        ));
    }
    Ok(canonical(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::number;

    #[test]
    fn canonical_form_is_shortest() {
        assert_eq!(canonical(0u64), [0]);
        assert_eq!(canonical(5u64), [5]);
        assert_eq!(canonical(0x100u64), [1, 0]);
        assert_eq!(canonical(u64::MAX).len(), 8);
        for v in [0, 1, 255, 256, u64::MAX] {
            assert_eq!(number(&canonical(v)), Ok(v));
        }
    }

    #[test]
    fn values_are_held_to_their_width() {
        assert!(fitted(511, 9, "port").is_ok());
        let e = fitted(512, 9, "port").unwrap_err().to_string();
        assert_eq!(e, "port: 512 does not fit 9 bits (at most 511)");
        assert!(fitted(u64::MAX, 64, "x").is_ok());
    }

    #[test]
    fn wide_values() {
        assert_eq!(canonical(0u64), [0]);
        assert_eq!(canonical(1u128 << 64), [1, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
