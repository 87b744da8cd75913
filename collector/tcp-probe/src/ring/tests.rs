// SPDX-License-Identifier: Apache-2.0
use proptest::prelude::*;

use super::*;

fn sample_of(time: u64, length: u32, raw: &[u8]) -> Vec<u8> {
    let mut body = time.to_ne_bytes().to_vec();
    body.extend(length.to_ne_bytes());
    body.extend(raw);
    // The kernel pads records to eight bytes.
    body.resize(body.len().next_multiple_of(8), 0xee);
    body
}

#[test]
fn both_records_of_losses_count() {
    let lost = [77u64.to_ne_bytes(), 3u64.to_ne_bytes()].concat();
    assert_eq!(Record::read(TYPE_LOST, &lost), Record::Lost(3));
    let lost = 5u64.to_ne_bytes();
    assert_eq!(Record::read(TYPE_LOST_SAMPLES, &lost), Record::Lost(5));
}

#[test]
fn raw_data_longer_than_the_record_is_malformed() {
    let body = sample_of(1, 100, &[0; 12]);
    assert_eq!(Record::read(TYPE_SAMPLE, &body), Record::Malformed);
}

proptest! {
    #[test]
    fn a_sample_has_its_time_and_data(
        time_ns in any::<u64>(),
        raw in prop::collection::vec(any::<u8>(), 0..160),
    ) {
        let body = sample_of(time_ns, raw.len() as u32, &raw);
        prop_assert_eq!(Record::read(TYPE_SAMPLE, &body), Record::Sample { time_ns, raw: &raw });
    }

    #[test]
    fn too_short_is_malformed(
        kind in prop::sample::select(vec![TYPE_LOST, TYPE_SAMPLE, TYPE_LOST_SAMPLES]),
        body in prop::collection::vec(any::<u8>(), 0..8),
    ) {
        prop_assert_eq!(Record::read(kind, &body), Record::Malformed);
    }

    #[test]
    fn no_bytes_panic(
        kind in 0u32..20,
        body in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = Record::read(kind, &body);
    }
}
