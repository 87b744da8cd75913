// SPDX-License-Identifier: Apache-2.0
//! Keys and action data in BMv2's form: as many bytes as the field needs, with any bits beyond
//! the field's width.

use super::codes::TableError;
use super::types::Match;
use crate::bytestring::{bytes_for, canonical, prefix_mask};
use crate::pipeline::{Action, Key, KeyKind, Table};
use crate::store::EntryKey;
use crate::target::{ActionCall, MatchValue};
use tidemark_proto::p4::v1 as p4;

/// Returns the kind of a key as a `Match` without a value.
pub(super) fn kind(key: &Key) -> Match {
    match key.kind {
        KeyKind::Exact => Match::Exact(Vec::new()),
        KeyKind::Lpm => Match::Lpm(Vec::new(), 0),
        KeyKind::Ternary | KeyKind::Optional => Match::Ternary(Vec::new(), Vec::new()),
        KeyKind::Range => Match::Range(Vec::new(), Vec::new()),
    }
}

/// Converts a priority: in BMv2 the smallest wins.
pub(super) fn reversed(priority: i32) -> i32 {
    i32::MAX - priority
}

/// Returns an entry's key, and the key to show if it differs.
pub(super) fn read(
    table: &Table,
    given: &[Match],
    priority: i32,
) -> Result<(EntryKey, Option<Vec<MatchValue>>), TableError> {
    if given.len() != table.keys.len() {
        return Err(TableError::BadMatchKey);
    }
    let mut matches = Vec::with_capacity(given.len());
    let mut shown = Vec::with_capacity(given.len());
    for (key, m) in table.keys.iter().zip(given) {
        let (value, as_given) = value(key, m).ok_or(TableError::BadMatchKey)?;
        matches.push(value);
        shown.push(as_given);
    }
    let priority = match table.needs_priority() {
        true if priority < 0 => return Err(TableError::BadMatchKey),
        true => reversed(priority).max(1),
        false => 0,
    };
    // Only tables with just exact and LPM keys keep the bits below a prefix.
    let differs = !table.needs_priority() && shown != matches;
    Ok(((matches, priority), differs.then_some(shown)))
}

fn value(key: &Key, given: &Match) -> Option<(MatchValue, MatchValue)> {
    let bits = key.values.bits;
    let fits = |v: &[u8]| v.len() == bytes_for(bits);
    let all = prefix_mask(bits, bits);
    let one = |v: MatchValue| Some((v.clone(), v));
    match (key.kind, given) {
        (KeyKind::Exact, Match::Exact(v)) if fits(v) => one(MatchValue::Exact(and(v, &all))),
        (KeyKind::Exact, Match::Valid(v)) if bits <= 8 => {
            one(MatchValue::Exact(vec![u8::from(*v)]))
        }
        (KeyKind::Lpm, Match::Lpm(v, prefix_bits)) if fits(v) && *prefix_bits <= bits => {
            let lpm = |value| MatchValue::Lpm {
                value,
                prefix_bits: *prefix_bits,
            };
            let below = lpm(and(v, &prefix_mask(bits, *prefix_bits)));
            Some((below, lpm(and(v, &all))))
        }
        (KeyKind::Ternary | KeyKind::Optional, Match::Ternary(v, mask))
            if fits(v) && fits(mask) =>
        {
            let mask = and(mask, &all);
            let value = and(v, &mask);
            one(MatchValue::Ternary { value, mask })
        }
        (KeyKind::Range, Match::Range(low, high)) if fits(low) && fits(high) && low <= high => {
            one(MatchValue::Range {
                low: and(low, &all),
                high: and(high, &all),
            })
        }
        _ => None,
    }
}

fn and(value: &[u8], mask: &[u8]) -> Vec<u8> {
    value.iter().zip(mask).map(|(v, m)| v & m).collect()
}

pub(super) fn show(m: &MatchValue) -> Match {
    match m.clone() {
        MatchValue::Exact(v) => Match::Exact(v),
        MatchValue::Lpm { value, prefix_bits } => Match::Lpm(value, prefix_bits),
        MatchValue::Ternary { value, mask } => Match::Ternary(value, mask),
        MatchValue::Range { low, high } => Match::Range(low, high),
    }
}

/// Returns an action call, which runs with the bits of its parameters' widths, and the action
/// as given, which is remembered.
pub(super) fn call(
    action: &Action,
    data: &[Vec<u8>],
) -> Result<(ActionCall, p4::Action), TableError> {
    if data.len() != action.params.len() {
        return Err(TableError::BadActionData);
    }
    let params = action.params.iter().zip(data).map(|(p, given)| {
        let (bits, bytes) = (p.values.bits, bytes_for(p.values.bits));
        let mut value = vec![0; bytes.saturating_sub(given.len())];
        value.extend(given.iter().skip(given.len().saturating_sub(bytes)));
        and(&value, &prefix_mask(bits, bits))
    });
    let held = action.params.iter().zip(data);
    let held = held.map(|(p, given)| p4::action::Param {
        param_id: p.id,
        value: canonical(given),
    });
    Ok((
        ActionCall {
            name: action.name.clone(),
            params: params.collect(),
        },
        p4::Action {
            action_id: action.id,
            params: held.collect(),
        },
    ))
}
