// SPDX-License-Identifier: Apache-2.0
//! Records of a ring, as Linux 6.18 on x86-64 wrote them.

const RING: &[u8] = include_bytes!("../../fixtures/ring.linux-6.18.bin");
const HEADER_BYTES: usize = 8;

/// Type and body of the six records.
pub(crate) fn records() -> Vec<(u32, &'static [u8])> {
    let (mut records, mut left) = (Vec::new(), RING);
    while let Some((header, _)) = left.split_first_chunk::<HEADER_BYTES>() {
        let kind = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
        let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
        let (record, rest) = left.split_at(size);
        records.push((kind, &record[HEADER_BYTES..]));
        left = rest;
    }
    records
}
