// SPDX-License-Identifier: Apache-2.0
//! Keys, actions, entries and counts in the form of the service "standard".

use p4runtime_server::runtime::{ActionEntry, Entry, Match, Rate, TableError};
use p4runtime_server::target::CounterValue;
use thrift::protocol::TType;

use super::value::{Fields, Value};

pub(super) fn blobs(a: &Fields, id: i16) -> Vec<Vec<u8>> {
    let list = a.list(id).iter().map(|v| match v {
        Value::Bytes(b) => b.clone(),
        _ => Vec::new(),
    });
    list.collect()
}

pub(super) fn data(list: Vec<Vec<u8>>) -> Value {
    Value::List(TType::String, list.into_iter().map(Value::Bytes).collect())
}

pub(super) fn priority(a: &Fields, id: i16) -> i32 {
    a.fields(id).map_or(0, |o| o.i32(1))
}

/// Reads keys; a type of BMv2's `BmMatchParamType` plus two is the number of its field.
pub(super) fn key(a: &Fields, id: i16) -> Result<Vec<Match>, TableError> {
    let one = |m: &Fields| {
        let kind = i16::try_from(m.i32(1)).ok()?;
        let v = m.fields(kind.checked_add(2)?)?;
        let bytes = |id| v.bytes(id).to_vec();
        Some(match kind {
            0 => Match::Exact(bytes(1)),
            1 => Match::Lpm(bytes(1), v.u32(2)),
            2 => Match::Ternary(bytes(1), bytes(2)),
            3 => Match::Valid(v.bool(1)),
            4 => Match::Range(bytes(1), bytes(2)),
            _ => return None,
        })
    };
    let params = a.structs(id).map(one).collect::<Option<Vec<_>>>();
    params.ok_or(TableError::BadMatchKey)
}

fn shown_key(m: &Match) -> Fields {
    let bytes = |b: &[u8]| Value::Bytes(b.to_vec());
    let (kind, value) = match m {
        Match::Exact(v) => (0, vec![bytes(v)]),
        Match::Lpm(v, bits) => (1, vec![bytes(v), Value::I32(bits.cast_signed())]),
        Match::Ternary(v, mask) => (2, vec![bytes(v), bytes(mask)]),
        Match::Valid(v) => (3, vec![Value::Bool(*v)]),
        Match::Range(low, high) => (4, vec![bytes(low), bytes(high)]),
    };
    Fields(vec![
        (1, Value::I32(i32::from(kind))),
        (kind + 2, Value::Struct(Fields::of(value))),
    ])
}

pub(super) fn action_entry(action: Option<&ActionEntry>) -> Fields {
    let mut fields = match action {
        None => vec![(1, Value::I32(0))],
        Some(ActionEntry::Call(name, bytes)) => vec![
            (1, Value::I32(1)),
            (2, Value::text(name)),
            (3, data(bytes.clone())),
        ],
        Some(ActionEntry::Member(m)) => vec![(1, Value::I32(2)), (4, Value::I32(m.cast_signed()))],
        Some(ActionEntry::Group(g)) => vec![(1, Value::I32(3)), (5, Value::I32(g.cast_signed()))],
    };
    fields.shrink_to_fit();
    Fields(fields)
}

pub(super) fn entry(e: &Entry) -> Fields {
    let options = Fields::of([Value::I32(e.priority.unwrap_or(-1))]);
    let mut fields = vec![
        (1, Value::structs(e.key.iter().map(shown_key))),
        (2, Value::Struct(options)),
        (3, Value::I32(e.handle.cast_signed())),
        (4, Value::Struct(action_entry(Some(&e.action)))),
    ];
    if let Some(age) = e.age {
        let ms = |v: i64| Value::I32(i32::try_from(v).unwrap_or(i32::MAX));
        let idle = i64::try_from(age.idle_ms).unwrap_or(i64::MAX);
        let life = Fields::of([ms(age.timeout_ms), ms(idle)]);
        fields.push((5, Value::Struct(life)));
    }
    Fields(fields)
}

pub(super) fn counter(v: CounterValue) -> Value {
    Value::Struct(Fields::of(
        [v.bytes, v.packets].map(|n| Value::I64(n.cast_signed())),
    ))
}

pub(super) fn counter_of(a: &Fields, id: i16) -> CounterValue {
    let none = Fields::default();
    let v = a.fields(id).unwrap_or(&none);
    CounterValue {
        bytes: v.i64(1).cast_unsigned(),
        packets: v.i64(2).cast_unsigned(),
    }
}

pub(super) fn rates_of(a: &Fields, id: i16) -> Vec<Rate> {
    let rate = |f: &Fields| Rate {
        units_per_us: f.double(1),
        burst: f.u32(2),
    };
    a.structs(id).map(rate).collect()
}

pub(super) fn rates(list: Vec<Rate>) -> Value {
    Value::structs(list.iter().map(|r| {
        Fields::of([
            Value::Double(r.units_per_us),
            Value::I32(r.burst.cast_signed()),
        ])
    }))
}
