// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::pipeline::{Form, Values};
use tonic::Code;

/// Keys 1 exact 9, 2 LPM 32, 3 ternary 16, 4 range 16, 5 optional 8.
fn table() -> Table {
    let kinds = [
        (9, KeyKind::Exact),
        (32, KeyKind::Lpm),
        (16, KeyKind::Ternary),
        (16, KeyKind::Range),
        (8, KeyKind::Optional),
    ];
    Table {
        id: 1,
        name: "t".into(),
        keys: kinds
            .into_iter()
            .zip(1..)
            .map(|((bits, kind), id)| Key {
                id,
                name: format!("k{id}"),
                values: Values {
                    bits,
                    form: Form::Number,
                },
                kind,
            })
            .collect(),
        actions: Vec::new(),
        idle_timeouts: false,
        const_default: false,
        const_entries: false,
        size: 10,
        direct_counter: None,
        direct_meter: None,
        profile: None,
        initial_default: None,
    }
}

fn field(id: u32, kind: FieldMatchType) -> FieldMatch {
    FieldMatch {
        field_id: id,
        field_match_type: Some(kind),
    }
}

fn exact(id: u32, v: &[u8]) -> FieldMatch {
    field(id, FieldMatchType::Exact(fm::Exact { value: v.into() }))
}

fn lpm(v: &[u8], prefix_len: i32) -> FieldMatch {
    field(
        2,
        FieldMatchType::Lpm(fm::Lpm {
            value: v.into(),
            prefix_len,
        }),
    )
}

fn ternary(v: &[u8], m: &[u8]) -> FieldMatch {
    field(
        3,
        FieldMatchType::Ternary(fm::Ternary {
            value: v.into(),
            mask: m.into(),
        }),
    )
}

fn range(low: &[u8], high: &[u8]) -> FieldMatch {
    field(
        4,
        FieldMatchType::Range(fm::Range {
            low: low.into(),
            high: high.into(),
        }),
    )
}

fn optional(v: &[u8]) -> FieldMatch {
    field(
        5,
        FieldMatchType::Optional(fm::Optional { value: v.into() }),
    )
}

#[test]
fn order_of_keys_and_canonical_form() {
    let t = table();
    let given = [
        optional(&[0, 6]),
        range(&[0, 10], &[0, 20]),
        ternary(&[0x10, 0], &[0xf0, 0]),
        lpm(&[10, 0, 0, 0], 8),
        exact(1, &[0, 0, 1, 1]),
    ];
    let values = parse(&t, &given).unwrap();
    assert_eq!(
        values,
        [
            MatchValue::Exact(vec![1, 1]),
            MatchValue::Lpm {
                value: vec![10, 0, 0, 0],
                prefix_bits: 8
            },
            MatchValue::Ternary {
                value: vec![0x10, 0],
                mask: vec![0xf0, 0]
            },
            MatchValue::Range {
                low: vec![0, 10],
                high: vec![0, 20]
            },
            MatchValue::Ternary {
                value: vec![6],
                mask: vec![0xff]
            },
        ]
    );
    let back = to_proto(&t, &values);
    assert_eq!(
        back,
        [
            exact(1, &[1, 1]),
            lpm(&[10, 0, 0, 0], 8),
            ternary(&[0x10, 0], &[0xf0, 0]),
            range(&[10], &[20]),
            optional(&[6]),
        ]
    );
    assert_eq!(parse(&t, &back).unwrap(), values);
}

#[test]
fn left_out_keys_match_everything() {
    let t = table();
    let values = parse(&t, &[exact(1, &[0])]).unwrap();
    assert_eq!(
        values[3],
        MatchValue::Range {
            low: vec![0, 0],
            high: vec![0xff, 0xff]
        }
    );
    assert_eq!(to_proto(&t, &values), [exact(1, &[0])]);
}

#[test]
fn refusals() {
    let e = exact(1, &[1]);
    let cases: Vec<(&str, Vec<FieldMatch>, Code)> = vec![
        ("exact missing", vec![], Code::InvalidArgument),
        ("twice", vec![e.clone(), e.clone()], Code::InvalidArgument),
        (
            "unknown field",
            vec![e.clone(), exact(9, &[1])],
            Code::InvalidArgument,
        ),
        (
            "other kind",
            vec![e.clone(), exact(3, &[1])],
            Code::InvalidArgument,
        ),
        ("too wide", vec![exact(1, &[2, 0])], Code::OutOfRange),
        ("empty", vec![exact(1, &[])], Code::OutOfRange),
        (
            "prefix 0",
            vec![e.clone(), lpm(&[0], 0)],
            Code::InvalidArgument,
        ),
        (
            "prefix 33",
            vec![e.clone(), lpm(&[1], 33)],
            Code::InvalidArgument,
        ),
        (
            "below prefix",
            vec![e.clone(), lpm(&[10, 0, 0, 1], 8)],
            Code::InvalidArgument,
        ),
        (
            "mask 0",
            vec![e.clone(), ternary(&[0], &[0])],
            Code::InvalidArgument,
        ),
        (
            "outside mask",
            vec![e.clone(), ternary(&[3], &[1])],
            Code::InvalidArgument,
        ),
        (
            "low above high",
            vec![e.clone(), range(&[2], &[1])],
            Code::InvalidArgument,
        ),
        (
            "whole range",
            vec![e.clone(), range(&[0], &[0xff, 0xff])],
            Code::InvalidArgument,
        ),
    ];
    for (name, fields, code) in cases {
        assert_eq!(parse(&table(), &fields).unwrap_err().code, code, "{name}");
    }
}

#[test]
fn priorities() {
    let mut t = table();
    assert!(check_priority(&t, 1).is_ok());
    assert!(check_priority(&t, 0).is_err() && check_priority(&t, -1).is_err());
    t.keys.truncate(2);
    assert!(check_priority(&t, 0).is_ok());
    assert!(check_priority(&t, 1).is_err());
}
