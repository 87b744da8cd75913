// SPDX-License-Identifier: Apache-2.0
//! Table entries as clients wrote them.

use super::handles::Handles;
use crate::matchfields;
use crate::pipeline::Table;
use crate::target::{EntryId, MatchValue};
use std::collections::{BTreeMap, HashMap};
use tidemark_proto::p4::v1 as p4;

/// Identity of an entry within its table.
pub(crate) type EntryKey = (Vec<MatchValue>, i32);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub matches: Vec<MatchValue>,
    pub priority: i32,
    pub action: p4::TableAction,
    /// Group that the server made for a one-shot entry.
    pub one_shot: Option<OneShot>,
    /// Configuration of its direct meter; `None` is the default.
    pub meter: Option<p4::MeterConfig>,
    /// Idle timeout; 0 means none.
    pub idle_timeout_ns: i64,
    pub labels: Labels,
    /// The key as given to BMv2's runtime services, if it differs from `matches`: they accept
    /// bits below a prefix, and show them.
    pub given: Option<Vec<MatchValue>>,
}

impl Entry {
    /// Returns the key of the entry.
    pub(crate) fn key(&self, table: &Table) -> p4::TableEntry {
        p4::TableEntry {
            table_id: table.id,
            r#match: matchfields::to_proto(table, &self.matches),
            priority: self.priority,
            ..Default::default()
        }
    }

    /// Returns the entry as a client may write it.
    pub(crate) fn to_proto(&self, table: &Table) -> p4::TableEntry {
        p4::TableEntry {
            action: Some(self.action.clone()),
            meter_config: self.meter,
            idle_timeout_ns: self.idle_timeout_ns,
            metadata: self.labels.metadata.clone(),
            controller_metadata: self.labels.controller_metadata,
            ..self.key(table)
        }
    }
}

/// A group and its members that the server made for one entry. Their ids in the target are
/// beyond the range that clients can use.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OneShot {
    pub group: u64,
    pub members: Vec<u64>,
}

/// Labels that a client attaches to an entry; they have no meaning for the switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Labels {
    pub metadata: Vec<u8>,
    pub controller_metadata: u64,
}

/// Entries of one table.
#[derive(Default)]
pub(crate) struct TableState {
    entries: BTreeMap<EntryId, Entry>,
    by_key: HashMap<EntryKey, EntryId>,
    /// Handles by which BMv2's runtime services identify entries.
    pub handles: Handles,
    /// Default entry, if it is not the program's.
    pub default: Option<(p4::Action, Labels)>,
    /// Member whose action is the default action.
    pub default_member: Option<u32>,
}

impl TableState {
    pub(crate) fn id_of(&self, key: &EntryKey) -> Option<EntryId> {
        self.by_key.get(key).copied()
    }

    pub(crate) fn get(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(&id)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Iterates in the order of insertion; entries of the program come last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EntryId, &Entry)> {
        self.entries.iter().map(|(&id, e)| (id, e))
    }

    /// Adds or replaces an entry; returns the previous one.
    pub(crate) fn put(&mut self, id: EntryId, entry: Entry) -> Option<Entry> {
        self.by_key
            .insert((entry.matches.clone(), entry.priority), id);
        self.handles.add(id);
        self.entries.insert(id, entry)
    }

    pub(crate) fn remove(&mut self, id: EntryId) -> Option<Entry> {
        let e = self.entries.remove(&id)?;
        self.handles.remove(id);
        self.by_key.remove(&(e.matches.clone(), e.priority));
        Some(e)
    }

    pub(crate) fn get_mut(&mut self, id: EntryId) -> Option<&mut Entry> {
        self.entries.get_mut(&id)
    }

    /// Stores the configuration of an entry's meter.
    pub(crate) fn set_meter(&mut self, id: EntryId, config: Option<p4::MeterConfig>) {
        if let Some(e) = self.entries.get_mut(&id) {
            e.meter = config;
        }
    }
}

/// Members and groups of one action profile.
#[derive(Default)]
pub(crate) struct ProfileState {
    pub members: BTreeMap<u32, p4::ActionProfileMember>,
    pub groups: BTreeMap<u32, p4::ActionProfileGroup>,
    /// Number of entries that bring their own action sets.
    pub one_shots: usize,
    /// Number of members that represent actions of these sets.
    pub one_shot_members: usize,
}
