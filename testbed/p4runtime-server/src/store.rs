// SPDX-License-Identifier: Apache-2.0
//! What clients have written, as they will read it back.

use crate::bytestring::{self, prefix_mask};
use crate::errors::{Failure, Outcome};
use crate::pipeline::{KeyKind, Pipeline, Table};
use crate::program::{self, MatchKey};
use crate::target::{EntryId, MatchValue};
use std::collections::{BTreeMap, HashMap};
use tidemark_proto::p4::v1 as p4;

/// Identity of an entry within its table.
pub type EntryKey = (Vec<MatchValue>, i32);

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub matches: Vec<MatchValue>,
    pub priority: i32,
    pub action: p4::Action,
    pub labels: Labels,
}

/// What a client attaches to an entry; means nothing to the switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    pub metadata: Vec<u8>,
    pub controller_metadata: u64,
}

/// Entries of one table.
#[derive(Default)]
pub struct TableState {
    entries: BTreeMap<EntryId, Entry>,
    by_key: HashMap<EntryKey, EntryId>,
    /// Default entry, if it is not the program's.
    pub default: Option<(p4::Action, Labels)>,
}

impl TableState {
    pub fn id_of(&self, key: &EntryKey) -> Option<EntryId> {
        self.by_key.get(key).copied()
    }

    pub fn get(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// In order of insertion, those of the program last.
    pub fn iter(&self) -> impl Iterator<Item = (EntryId, &Entry)> {
        self.entries.iter().map(|(&id, e)| (id, e))
    }

    /// Adds or replaces.
    pub fn put(&mut self, id: EntryId, entry: Entry) {
        self.by_key
            .insert((entry.matches.clone(), entry.priority), id);
        self.entries.insert(id, entry);
    }

    pub fn remove(&mut self, id: EntryId) {
        if let Some(e) = self.entries.remove(&id) {
            self.by_key.remove(&(e.matches, e.priority));
        }
    }
}

/// All that was written under one pipeline.
pub struct Store {
    tables: HashMap<u32, TableState>,
    pub groups: BTreeMap<u32, p4::MulticastGroupEntry>,
    pub sessions: BTreeMap<u32, p4::CloneSessionEntry>,
    next_id: u64,
}

impl Store {
    /// Begins with the entries compiled into the program.
    pub fn new(pipeline: &Pipeline) -> Outcome<Self> {
        let tables = pipeline
            .tables
            .iter()
            .map(|(&id, t)| {
                compiled_entries(pipeline, t)
                    .map(|s| (id, s))
                    .map_err(|f| f.at(format!("entries of table {} in the program", t.name)))
            })
            .collect::<Outcome<_>>()?;
        Ok(Self {
            tables,
            groups: BTreeMap::new(),
            sessions: BTreeMap::new(),
            next_id: 1,
        })
    }

    pub fn fresh_id(&mut self) -> EntryId {
        let id = EntryId(self.next_id);
        self.next_id += 1;
        id
    }

    pub fn table(&self, id: u32) -> Outcome<&TableState> {
        self.tables.get(&id).ok_or_else(|| no_table(id))
    }

    pub fn table_mut(&mut self, id: u32) -> Outcome<&mut TableState> {
        self.tables.get_mut(&id).ok_or_else(|| no_table(id))
    }
}

fn no_table(id: u32) -> Failure {
    Failure::not_found(format!("no table with id {id} in the P4Info"))
}

fn compiled_entries(pipeline: &Pipeline, table: &Table) -> Outcome<TableState> {
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
                action: compiled_action(pipeline, table, &entry.action_entry)?,
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
pub fn program_default(pipeline: &Pipeline, table: &Table) -> Option<p4::Action> {
    table.initial_default.clone().or_else(|| {
        let json = pipeline.program.table(&table.name)?;
        compiled_action(pipeline, table, json.default_entry.as_ref()?).ok()
    })
}
