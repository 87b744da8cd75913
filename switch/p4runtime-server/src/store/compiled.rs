// SPDX-License-Identifier: Apache-2.0
//! Entries and default actions compiled into the program.

use super::entry::{Entry, Labels, TableState};
use crate::actions::of_entry;
use crate::bytestring::prefix_mask;
use crate::errors::{Failure, Outcome, refuse};
use crate::pipeline::{KeyKind, Pipeline, Table};
use crate::target::{EntryId, MatchValue};
use p4_ir::bits::{bytes_from_words, words_for};
use tidemark_proto::p4::v1 as p4;

pub(crate) fn entries(pipeline: &Pipeline, table: &Table) -> Outcome<TableState> {
    let mut state = TableState::default();
    let Some(in_program) = pipeline.program.table(&table.name) else {
        return Ok(state);
    };
    for (index, entry) in (0u32..).zip(&in_program.const_entries) {
        let matches = table
            .keys
            .iter()
            .zip(&entry.matches)
            .map(|(key, m)| compiled_match(key.kind, key.values.bits, m))
            .collect::<Outcome<Vec<_>>>()?;
        state.put(
            EntryId::compiled(index),
            Entry {
                matches,
                // The two number priorities in opposite order.
                priority: if table.needs_priority() {
                    i32::MAX - entry.priority.max(0)
                } else {
                    0
                },
                action: of_entry(compiled_action(pipeline, table, &entry.call)?),
                one_shot: None,
                meter: None,
                idle_timeout_ns: 0,
                labels: Labels::default(),
                given: None,
            },
        );
    }
    Ok(state)
}

fn compiled_match(kind: KeyKind, bits: u32, m: &p4_ir::MatchValue) -> Outcome<MatchValue> {
    let bytes = |words: &[u64]| bytes_from_words(words, bits);
    Ok(match (kind, m) {
        (KeyKind::Exact, p4_ir::MatchValue::Exact(v)) => MatchValue::Exact(bytes(v)),
        (KeyKind::Lpm, p4_ir::MatchValue::Lpm { value, prefix_bits }) => MatchValue::Lpm {
            value: and(bytes(value), &prefix_mask(bits, *prefix_bits)),
            prefix_bits: *prefix_bits,
        },
        (KeyKind::Ternary | KeyKind::Optional, p4_ir::MatchValue::Ternary { value, mask }) => {
            let mask = bytes(mask);
            MatchValue::Ternary {
                value: and(bytes(value), &mask),
                mask,
            }
        }
        (KeyKind::Range, p4_ir::MatchValue::Range { low, high }) => MatchValue::Range {
            low: bytes(low),
            high: bytes(high),
        },
        _ => refuse!(invalid: "an entry has a key of another match type"),
    })
}

fn and(mut value: Vec<u8>, mask: &[u8]) -> Vec<u8> {
    value.iter_mut().zip(mask).for_each(|(v, m)| *v &= m);
    value
}

fn compiled_action(
    pipeline: &Pipeline,
    table: &Table,
    call: &p4_ir::ActionCall,
) -> Outcome<p4::Action> {
    let actions = &pipeline.program.actions;
    let action = actions.get(call.action as usize).and_then(|a| {
        let ids = table.actions.iter();
        let mut known = ids.filter_map(|(id, _)| pipeline.actions.get(id));
        Some((known.find(|k| k.name == a.name)?, &a.params))
    });
    let (action, places) = action.ok_or_else(|| {
        Failure::invalid("an entry has an action that is not one of the table's in the P4Info")
    })?;
    let params = action.params.iter().zip(places).map(|(p, place)| {
        let words = call.args.iter().skip(place.offset as usize);
        let words: Vec<u64> = words.take(words_for(place.width)).copied().collect();
        p4::action::Param {
            param_id: p.id,
            value: p.values.canonical(&bytes_from_words(&words, place.width)),
        }
    });
    Ok(p4::Action {
        action_id: action.id,
        params: params.collect(),
    })
}

/// Returns the default action as the program has it: older P4Info does not name it, or names
/// it without its arguments.
pub(crate) fn default_action(pipeline: &Pipeline, table: &Table) -> Option<p4::Action> {
    let in_program = pipeline.program.table(&table.name);
    let compiled = in_program.and_then(|t| t.default.as_ref());
    compiled
        .and_then(|call| compiled_action(pipeline, table, call).ok())
        .or_else(|| table.initial_default.clone())
}
