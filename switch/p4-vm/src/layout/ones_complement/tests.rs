// SPDX-License-Identifier: Apache-2.0
//! Compares with the checksum of RFC 1071.

use super::*;
use p4_ir::Piece as Bits;
use p4_ir::bits::{BitWriter, read_wide};

use proptest::prelude::*;

/// Checksum as written in RFC 1071.
pub(crate) fn reference(data: &[u8]) -> u64 {
    let mut s = 0u64;
    for c in data.chunks(2) {
        s += (u64::from(c[0]) << 8) | u64::from(c.get(1).copied().unwrap_or(0));
    }
    while s >> 16 != 0 {
        s = (s & 0xffff) + (s >> 16);
    }
    !s & 0xffff
}

proptest! {
    /// A header that may be invalid, a wide field, a constant, a variable-length field, then
    /// fields of any width that may be invalid as well, the payload, and a field: summed in
    /// order.
    #[test]
    fn sums_as_the_bytes_in_order(
        first in any::<[u64; 3]>(),
        valid in any::<bool>(),
        wide in any::<[u8; 16]>(),
        variable in prop::collection::vec(any::<u8>(), 0..20),
        payload in prop::collection::vec(any::<u8>(), 0..40),
        rest in prop::collection::vec((any::<u64>(), 1u32..=64, 0u8..64, any::<bool>()), 0..10),
    ) {
        let (mut words, mut bytes, mut w) = (vec![0u64; 40], Vec::new(), BitWriter::default());
        words[0] = u64::from(valid);
        words[1..4].copy_from_slice(&first);
        let piece = |slot, shift, width| Bits { slot, shift, width };
        let mut input = vec![CalcInput::Run {
            pieces: vec![piece(1, 4, 12), piece(2, 0, 5), piece(3, 16, 48)],
            valid: Some(0),
        }];
        if valid {
            for (v, shift, width) in [(first[0], 4, 12), (first[1], 0, 5), (first[2], 16, 48)] {
                w.push(&mut bytes, (v >> shift) & mask64(width), width);
            }
        }
        read_wide(&wide, 0, 128, &mut words[4..6]);
        input.push(CalcInput::Field { field: FieldRef::alone(4, 128), valid: None });
        for b in wide {
            w.push(&mut bytes, b.into(), 8);
        }
        input.push(CalcInput::Const { words: vec![0xabc], width_bits: 13 });
        w.push(&mut bytes, 0xabc, 13);
        // The length is in word 6, the value in words 7 to 9.
        words[6] = variable.len() as u64 * 8;
        read_wide(&variable, 0, variable.len() as u32 * 8, &mut words[7..10]);
        let field = FieldRef { variable: true, ..FieldRef::alone(7, 160) };
        input.push(CalcInput::Field { field, valid: None });
        for b in &variable {
            w.push(&mut bytes, (*b).into(), 8);
        }
        for (i, (v, width, shift, present)) in rest.iter().enumerate() {
            let shift = shift % (65 - *width as u8);
            words[20 + i] = *v;
            words[30 + i] = u64::from(*present);
            input.push(CalcInput::Run {
                pieces: vec![piece(20 + i as u32, shift, *width as u8)],
                valid: Some(30 + i as u32),
            });
            if *present {
                w.push(&mut bytes, (v >> shift) & mask64(*width), *width);
            }
        }
        input.push(CalcInput::Payload);
        for b in &payload {
            w.push(&mut bytes, (*b).into(), 8);
        }
        input.push(CalcInput::Run { pieces: vec![piece(2, 0, 5)], valid: None });
        w.push(&mut bytes, first[1] & mask64(5), 5);
        w.finish(&mut bytes);
        let sum = OnesComplementSum::new(&input).checksum(&words, &payload);
        prop_assert_eq!(sum, reference(&bytes));
        prop_assert_eq!(of_bytes(&bytes), reference(&bytes));
    }
}
