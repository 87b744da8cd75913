// SPDX-License-Identifier: Apache-2.0
//! CRC-32 (ISO-HDLC) of short inputs held in words, eight bytes at a time.

/// `TABLES[k][b]`: the CRC of byte `b` with `k` zero bytes after it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut t = [[0u32; 256]; 8];
    let mut b = 0;
    while b < 256 {
        let mut c = b as u32;
        let mut i = 0;
        while i < 8 {
            c = if c & 1 == 1 {
                (c >> 1) ^ 0xedb8_8320
            } else {
                c >> 1
            };
            i += 1;
        }
        t[0][b] = c;
        b += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut b = 0;
        while b < 256 {
            let c = t[k - 1][b];
            t[k][b] = (c >> 8) ^ t[0][(c & 0xff) as usize];
            b += 1;
        }
        k += 1;
    }
    t
}

/// Returns the CRC of the first `bytes` bytes of big-endian words.
#[inline]
pub(super) fn crc32(words: &[u64], bytes: usize) -> u32 {
    let mut crc = u32::MAX;
    let mut left = bytes;
    for w in words {
        let first_byte_lowest = w.swap_bytes();
        if left < 8 {
            return !tail(first_byte_lowest, left, crc);
        }
        let x = first_byte_lowest ^ u64::from(crc);
        crc = 0;
        for (k, t) in TABLES.iter().rev().enumerate() {
            crc ^= t[(x >> (8 * k)) as usize & 0xff];
        }
        left -= 8;
    }
    !crc
}

/// Adds fewer than eight bytes, of which the first is the lowest.
#[inline]
fn tail(mut x: u64, mut bytes: usize, mut crc: u32) -> u32 {
    if bytes >= 4 {
        let four = x as u32 ^ crc;
        let [d, c, b, a, ..] = &TABLES;
        crc = a[four as usize & 0xff]
            ^ b[(four >> 8) as usize & 0xff]
            ^ c[(four >> 16) as usize & 0xff]
            ^ d[(four >> 24) as usize];
        x >>= 32;
        bytes -= 4;
    }
    for _ in 0..bytes {
        crc = TABLES[0][(crc as u8 ^ x as u8) as usize] ^ (crc >> 8);
        x >>= 8;
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::fixed_input;
    use proptest::prelude::*;

    #[test]
    fn check_value() {
        let words = [u64::from_be_bytes(*b"12345678"), u64::from(b'9') << 56];
        assert_eq!(crc32(&words, 9), 0xcbf4_3926);
        assert_eq!(crc32(&[], 0), 0);
    }

    proptest! {
        #[test]
        fn any_length(words in any::<[u64; 8]>(), bytes in 0usize..=64) {
            let data = &fixed_input::bytes(&words)[..bytes];
            let want = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(data);
            prop_assert_eq!(crc32(&words, bytes), want);
        }
    }
}
