// SPDX-License-Identifier: Apache-2.0
//! MD5 (RFC 1321), with which clients compare programs; it protects nothing.

const SHIFTS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

pub(super) fn md5(text: &[u8]) -> [u8; 16] {
    let mut data = text.to_vec();
    data.push(0x80);
    data.resize(data.len().next_multiple_of(64), 0);
    if data.len() - text.len() < 9 {
        data.resize(data.len() + 64, 0);
    }
    data.truncate(data.len() - 8);
    data.extend((text.len() as u64).wrapping_mul(8).to_le_bytes());
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    for block in data.chunks_exact(64) {
        let words: Vec<u32> = block
            .chunks_exact(4)
            .map(|b| b.iter().rev().fold(0, |w, x| w << 8 | u32::from(*x)))
            .collect();
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64usize {
            let round = i / 16;
            let (f, at) = match round {
                0 => ((b & c) | (!b & d), i),
                1 => ((d & b) | (!d & c), 5 * i + 1),
                2 => (b ^ c ^ d, 3 * i + 5),
                _ => (c ^ (b | !d), 7 * i),
            };
            let constant = ((i as f64 + 1.0).sin().abs() * 4_294_967_296.0) as u32;
            let word = words.get(at % 16).copied().unwrap_or(0);
            let shift = SHIFTS.get(round).and_then(|s| s.get(i % 4)).copied();
            let sum = a.wrapping_add(f).wrapping_add(constant).wrapping_add(word);
            a = d;
            d = c;
            c = b;
            b = b.wrapping_add(sum.rotate_left(shift.unwrap_or(0)));
        }
        for (s, x) in state.iter_mut().zip([a, b, c, d]) {
            *s = s.wrapping_add(x);
        }
    }
    let mut out = [0; 16];
    let bytes = state.iter().flat_map(|w| w.to_le_bytes());
    out.iter_mut().zip(bytes).for_each(|(o, b)| *o = b);
    out
}

#[cfg(test)]
mod tests {
    use super::md5;

    #[test]
    fn examples_of_the_rfc() {
        let hex = |t: &str| -> String {
            md5(t.as_bytes())
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect()
        };
        assert_eq!(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
        let digits = "1234567890".repeat(8);
        assert_eq!(hex(&digits), "57edf4a22be3c955ac49da2e2107b67a");
        // 55 and 56 bytes: the length fits in the last block, and does not fit.
        assert_eq!(hex(&"a".repeat(55)), "ef1772b6dff9a122358552954ad0df65");
        assert_eq!(hex(&"a".repeat(56)), "3b0c8ac703f828b04c6c197006d17218");
    }
}
