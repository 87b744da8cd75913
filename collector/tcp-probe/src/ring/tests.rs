// SPDX-License-Identifier: Apache-2.0
use proptest::prelude::*;

use super::*;

/// An owned copy of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Owned {
    Sample(u64, Vec<u8>),
    Lost(u64),
    Malformed,
    Other(u32),
}

fn own(record: Record<'_>) -> Owned {
    match record {
        Record::Sample { time_ns, raw } => Owned::Sample(time_ns, raw.to_vec()),
        Record::Lost(count) => Owned::Lost(count),
        Record::Malformed => Owned::Malformed,
        Record::Other(kind) => Owned::Other(kind),
    }
}

fn collect(first: &[u8], second: &[u8]) -> (Vec<Owned>, Result<(), Corrupt>) {
    let mut found = Vec::new();
    let result = records(first, second, &mut Vec::new(), |record| {
        found.push(own(record))
    });
    (found, result)
}

fn put(out: &mut Vec<u8>, kind: u32, body: &[u8]) {
    let size = (8 + body.len()) as u16;
    out.extend(kind.to_ne_bytes());
    out.extend(0u16.to_ne_bytes());
    out.extend(size.to_ne_bytes());
    out.extend(body);
}

fn put_record(out: &mut Vec<u8>, record: &Owned) {
    match record {
        Owned::Sample(time, raw) => {
            let mut body = time.to_ne_bytes().to_vec();
            body.extend((raw.len() as u32).to_ne_bytes());
            body.extend(raw);
            // The kernel pads records to eight bytes.
            body.resize(body.len().next_multiple_of(8), 0xee);
            put(out, TYPE_SAMPLE, &body);
        }
        Owned::Lost(count) => {
            let mut body = 77u64.to_ne_bytes().to_vec();
            body.extend(count.to_ne_bytes());
            put(out, TYPE_LOST, &body);
        }
        Owned::Other(kind) => put(out, *kind, &[1, 2, 3, 4, 5, 6, 7, 8]),
        Owned::Malformed => put(out, TYPE_SAMPLE, &[0; 8]),
    }
}

fn record() -> impl Strategy<Value = Owned> {
    prop_oneof![
        8 => (any::<u64>(), prop::collection::vec(any::<u8>(), 0..160))
            .prop_map(|(time, raw)| Owned::Sample(time, raw)),
        1 => any::<u64>().prop_map(Owned::Lost),
        1 => (20u32..99).prop_map(Owned::Other),
        1 => Just(Owned::Malformed),
    ]
}

#[test]
fn lost_samples_record_counts_too() {
    let mut bytes = Vec::new();
    put(&mut bytes, TYPE_LOST_SAMPLES, &5u64.to_ne_bytes());
    assert_eq!(collect(&bytes, &[]), (vec![Owned::Lost(5)], Ok(())));
}

#[test]
fn raw_data_longer_than_the_record_is_malformed() {
    let mut body = 1u64.to_ne_bytes().to_vec();
    body.extend(100u32.to_ne_bytes());
    body.extend([0; 12]);
    let mut bytes = Vec::new();
    put(&mut bytes, TYPE_SAMPLE, &body);
    assert_eq!(collect(&bytes, &[]).0, [Owned::Malformed]);
}

#[test]
fn impossible_sizes_stop_the_walk() {
    let mut bytes = Vec::new();
    put_record(&mut bytes, &Owned::Lost(3));
    let good = bytes.len();
    bytes.extend([9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
    let (found, result) = collect(&bytes, &[]);
    assert_eq!(found, [Owned::Lost(3)]);
    assert_eq!(
        result,
        Err(Corrupt {
            skipped_bytes: bytes.len() - good
        })
    );
    // A record that never ends.
    let mut bytes = Vec::new();
    put(&mut bytes, TYPE_SAMPLE, &[0; 40]);
    bytes.truncate(30);
    assert_eq!(
        collect(&bytes, &[]),
        (vec![], Err(Corrupt { skipped_bytes: 30 }))
    );
}

proptest! {
    #[test]
    fn any_split_gives_the_same_records(
        expected in prop::collection::vec(record(), 1..40),
        split in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        for record in &expected {
            put_record(&mut bytes, record);
        }
        let (first, second) = bytes.split_at(split.index(bytes.len() + 1));
        let (found, result) = collect(first, second);
        prop_assert_eq!(found, expected);
        prop_assert_eq!(result, Ok(()));
    }

    #[test]
    fn no_bytes_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        split in any::<prop::sample::Index>(),
    ) {
        let (first, second) = bytes.split_at(split.index(bytes.len() + 1));
        let _ = collect(first, second);
    }
}
