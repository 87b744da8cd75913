// SPDX-License-Identifier: Apache-2.0
//! Entries and default actions compiled into the program.

use super::entry::{Entry, Labels, TableState};
use crate::actions::of_entry;
use crate::bytestring::{self, prefix_mask};
use crate::errors::{Failure, Outcome};
use crate::pipeline::{KeyKind, Pipeline, Table};
use crate::program::{self, MatchKey};
use crate::target::{EntryId, MatchValue};
use tidemark_proto::p4::v1 as p4;

pub(crate) fn entries(pipeline: &Pipeline, table: &Table) -> Outcome<TableState> {
    let mut state = TableState::default();
    let Some(json) = pipeline.program.table(&table.name) else {
        return Ok(state);
    };
    for (index, entry) in (0u32..).zip(&json.entries) {
        if entry.match_key.len() != table.keys.len() {
            return Err(Failure::invalid("an entry has the wrong number of keys"));
        }
        let matches = table
            .keys
            .iter()
            .zip(&entry.match_key)
            .map(|(key, m)| compiled_match(key.kind, key.bits, m))
            .collect::<Outcome<Vec<_>>>()?;
        state.put(
            EntryId::compiled(index),
            Entry {
                matches,
                // The order is reversed between the two.
                priority: if table.needs_priority() {
                    i32::MAX - entry.priority.max(0)
                } else {
                    0
                },
                action: of_entry(compiled_action(pipeline, table, &entry.action_entry)?),
                one_shot: None,
                meter: None,
                idle_timeout_ns: 0,
                labels: Labels::default(),
            },
        );
    }
    Ok(state)
}

fn number(text: &str, bits: u32) -> Outcome<Vec<u8>> {
    let mut bytes = program::hex_bytes(text)
        .ok_or_else(|| Failure::invalid(format!("{text:?} is not a hexadecimal number")))?;
    if bytes.is_empty() {
        bytes.push(0);
    }
    bytestring::parse(&bytes, bits)
}

fn compiled_match(kind: KeyKind, bits: u32, m: &MatchKey) -> Outcome<MatchValue> {
    Ok(match (kind, m) {
        (KeyKind::Exact, MatchKey::Exact { key }) => MatchValue::Exact(number(key, bits)?),
        (KeyKind::Lpm, MatchKey::Lpm { key, prefix_length }) => MatchValue::Lpm {
            value: and(number(key, bits)?, &prefix_mask(bits, *prefix_length)),
            prefix_bits: *prefix_length,
        },
        (
            KeyKind::Ternary | KeyKind::Optional,
            MatchKey::Ternary { key, mask } | MatchKey::Optional { key, mask },
        ) => {
            let mask = number(mask, bits)?;
            MatchValue::Ternary {
                value: and(number(key, bits)?, &mask),
                mask,
            }
        }
        (KeyKind::Range, MatchKey::Range { start, end }) => MatchValue::Range {
            low: number(start, bits)?,
            high: number(end, bits)?,
        },
        _ => return Err(Failure::invalid("an entry has a key of another match type")),
    })
}

fn and(mut value: Vec<u8>, mask: &[u8]) -> Vec<u8> {
    value.iter_mut().zip(mask).for_each(|(v, m)| *v &= m);
    value
}

fn compiled_action(
    pipeline: &Pipeline,
    table: &Table,
    entry: &program::ActionEntry,
) -> Outcome<p4::Action> {
    let action = pipeline
        .program
        .actions
        .iter()
        .find(|a| a.id == entry.action_id)
        .and_then(|a| {
            table
                .actions
                .iter()
                .filter_map(|(id, _)| pipeline.actions.get(id))
                .find(|known| known.name == a.name)
        })
        .ok_or_else(|| {
            Failure::invalid(format!("an entry has unknown action {}", entry.action_id))
        })?;
    let params = action
        .params
        .iter()
        .zip(&entry.action_data)
        .map(|(p, text)| {
            Ok(p4::action::Param {
                param_id: p.id,
                value: bytestring::canonical(&number(text, p.bits)?),
            })
        })
        .collect::<Outcome<_>>()?;
    Ok(p4::Action {
        action_id: action.id,
        params,
    })
}

/// Default entry of a table as the program has it: from P4Info, else from the
/// program itself.
pub(crate) fn default_action(pipeline: &Pipeline, table: &Table) -> Option<p4::Action> {
    table.initial_default.clone().or_else(|| {
        let json = pipeline.program.table(&table.name)?;
        compiled_action(pipeline, table, json.default_entry.as_ref()?).ok()
    })
}
