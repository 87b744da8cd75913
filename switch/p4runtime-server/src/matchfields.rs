// SPDX-License-Identifier: Apache-2.0
//! Checks the match fields of an entry, puts them in the order of the table's keys, and
//! converts them back.

use crate::bytestring::{self, canonical, exceeds, is_zero, prefix_mask};
use crate::errors::{Failure, Outcome, refuse};
use crate::pipeline::{Key, KeyKind, Table};
use crate::target::MatchValue;
use tidemark_proto::p4::v1::FieldMatch;
use tidemark_proto::p4::v1::field_match::{self as fm, FieldMatchType};

/// Returns one value per key of the table.
pub(crate) fn parse(table: &Table, fields: &[FieldMatch]) -> Outcome<Vec<MatchValue>> {
    if let Some(f) = fields
        .iter()
        .find(|f| table.keys.iter().all(|k| k.id != f.field_id))
    {
        refuse!(invalid: "table {} has no match field with id {}", table.name, f.field_id);
    }
    table
        .keys
        .iter()
        .map(|key| {
            let mut given = fields.iter().filter(|f| f.field_id == key.id);
            match (given.next(), given.next()) {
                (None, _) => missing(key),
                (Some(f), None) => value(key, f),
                (Some(_), Some(_)) => Err(Failure::invalid("given twice")),
            }
            .map_err(|f| f.at(format!("table {}, match field {}", table.name, key.name)))
        })
        .collect()
}

/// Checks the priority of an entry: required if entries can overlap, otherwise forbidden.
pub(crate) fn check_priority(table: &Table, priority: i32) -> Outcome<()> {
    match (table.needs_priority(), priority) {
        (true, 1..) | (false, 0) => Ok(()),
        (true, p) => Err(Failure::invalid(format!(
            "table {}: priority is {p}; a table with ternary, range or optional keys needs one above 0",
            table.name
        ))),
        (false, p) => Err(Failure::invalid(format!(
            "table {}: priority is {p}; a table with only exact and LPM keys takes none",
            table.name
        ))),
    }
}

/// Returns the canonical form for clients: keys that match everything are omitted.
pub(crate) fn to_proto(table: &Table, values: &[MatchValue]) -> Vec<FieldMatch> {
    table
        .keys
        .iter()
        .zip(values)
        .filter_map(|(key, value)| {
            let kind = match value {
                MatchValue::Exact(v) => FieldMatchType::Exact(fm::Exact {
                    value: key.values.canonical(v),
                }),
                MatchValue::Lpm { prefix_bits: 0, .. } => return None,
                MatchValue::Lpm { value, prefix_bits } => FieldMatchType::Lpm(fm::Lpm {
                    value: canonical(value),
                    prefix_len: i32::try_from(*prefix_bits).unwrap_or(i32::MAX),
                }),
                MatchValue::Ternary { mask, .. } if is_zero(mask) => return None,
                MatchValue::Ternary { value, .. } if key.kind == KeyKind::Optional => {
                    FieldMatchType::Optional(fm::Optional {
                        value: key.values.canonical(value),
                    })
                }
                MatchValue::Ternary { value, mask } => FieldMatchType::Ternary(fm::Ternary {
                    value: canonical(value),
                    mask: canonical(mask),
                }),
                MatchValue::Range { low, high } if all(key, low, high) => return None,
                MatchValue::Range { low, high } => FieldMatchType::Range(fm::Range {
                    low: canonical(low),
                    high: canonical(high),
                }),
            };
            Some(FieldMatch {
                field_id: key.id,
                field_match_type: Some(kind),
            })
        })
        .collect()
}

fn all(key: &Key, low: &[u8], high: &[u8]) -> bool {
    is_zero(low) && high == prefix_mask(key.values.bits, key.values.bits)
}

fn missing(key: &Key) -> Outcome<MatchValue> {
    let zero = vec![0; bytestring::bytes_for(key.values.bits)];
    Ok(match key.kind {
        KeyKind::Exact => refuse!(invalid: "is missing; every exact key needs a value"),
        KeyKind::Lpm => MatchValue::Lpm {
            value: zero,
            prefix_bits: 0,
        },
        KeyKind::Ternary | KeyKind::Optional => MatchValue::Ternary {
            value: zero.clone(),
            mask: zero,
        },
        KeyKind::Range => MatchValue::Range {
            low: zero,
            high: prefix_mask(key.values.bits, key.values.bits),
        },
    })
}

fn value(key: &Key, field: &FieldMatch) -> Outcome<MatchValue> {
    let bits = key.values.bits;
    let parse = |v: &[u8]| key.values.parse(v);
    let omit =
        || Failure::invalid("matches everything; leave the field out instead (canonical form)");
    match (key.kind, field.field_match_type.as_ref()) {
        (KeyKind::Exact, Some(FieldMatchType::Exact(f))) => Ok(MatchValue::Exact(parse(&f.value)?)),
        (KeyKind::Lpm, Some(FieldMatchType::Lpm(f))) => {
            let value = parse(&f.value)?;
            let prefix_bits = match u32::try_from(f.prefix_len) {
                Ok(0) => return Err(omit()),
                Ok(n) if n <= bits => n,
                _ => refuse!(invalid: "prefix length {} is not in 1..={bits}", f.prefix_len),
            };
            if exceeds(&value, &prefix_mask(bits, prefix_bits)) {
                refuse!(invalid:
                    "value 0x{} has bits set below its prefix of {prefix_bits}",
                    bytestring::hex(&value)
                );
            }
            Ok(MatchValue::Lpm { value, prefix_bits })
        }
        (KeyKind::Ternary, Some(FieldMatchType::Ternary(f))) => {
            let (value, mask) = (parse(&f.value)?, parse(&f.mask)?);
            if is_zero(&mask) {
                return Err(omit());
            }
            if exceeds(&value, &mask) {
                refuse!(invalid:
                    "value 0x{} has bits set outside its mask 0x{}",
                    bytestring::hex(&value), bytestring::hex(&mask)
                );
            }
            Ok(MatchValue::Ternary { value, mask })
        }
        (KeyKind::Range, Some(FieldMatchType::Range(f))) => {
            let (low, high) = (parse(&f.low)?, parse(&f.high)?);
            if low > high {
                refuse!(invalid: "low end of the range is above its high end");
            }
            if all(key, &low, &high) {
                return Err(omit());
            }
            Ok(MatchValue::Range { low, high })
        }
        (KeyKind::Optional, Some(FieldMatchType::Optional(f))) => Ok(MatchValue::Ternary {
            value: parse(&f.value)?,
            mask: prefix_mask(bits, bits),
        }),
        (_, None) => Err(Failure::invalid("has no value")),
        (kind, Some(_)) => Err(Failure::invalid(format!(
            "is of another match type; this key is {}",
            match kind {
                KeyKind::Exact => "exact",
                KeyKind::Lpm => "LPM",
                KeyKind::Ternary => "ternary",
                KeyKind::Range => "range",
                KeyKind::Optional => "optional",
            }
        ))),
    }
}

#[cfg(test)]
#[path = "tests/matchfields.rs"]
mod tests;
