// SPDX-License-Identifier: Apache-2.0
//! What clients have written, as they will read it back.

pub mod compiled;
mod replay;

use crate::errors::{Failure, Outcome};
use crate::pipeline::{Pipeline, Profile};
use crate::target::{EntryId, MatchValue};
use std::collections::{BTreeMap, HashMap};
use tidemark_proto::p4::v1 as p4;

/// Identity of an entry within its table.
pub type EntryKey = (Vec<MatchValue>, i32);

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub matches: Vec<MatchValue>,
    pub priority: i32,
    pub action: p4::TableAction,
    /// What stands for the action set of a one-shot entry.
    pub one_shot: Option<OneShot>,
    /// Of its direct meter; `None` is the default.
    pub meter: Option<p4::MeterConfig>,
    pub labels: Labels,
}

/// A group and its members that the server made for one entry. Their ids in the
/// target lie beyond those that clients can give.
#[derive(Clone, Debug, PartialEq)]
pub struct OneShot {
    pub group: u64,
    pub members: Vec<u64>,
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

    /// Adds or replaces; returns what was there.
    pub fn put(&mut self, id: EntryId, entry: Entry) -> Option<Entry> {
        self.by_key
            .insert((entry.matches.clone(), entry.priority), id);
        self.entries.insert(id, entry)
    }

    pub fn remove(&mut self, id: EntryId) -> Option<Entry> {
        let e = self.entries.remove(&id)?;
        self.by_key.remove(&(e.matches.clone(), e.priority));
        Some(e)
    }

    /// Remembers the configuration of an entry's meter.
    pub fn set_meter(&mut self, id: EntryId, config: Option<p4::MeterConfig>) {
        if let Some(e) = self.entries.get_mut(&id) {
            e.meter = config;
        }
    }
}

/// Members and groups of one action profile.
#[derive(Default)]
pub struct ProfileState {
    pub members: BTreeMap<u32, p4::ActionProfileMember>,
    pub groups: BTreeMap<u32, p4::ActionProfileGroup>,
    /// Entries that bring their own action sets.
    pub one_shots: usize,
    /// Members that stand for actions of these sets.
    pub one_shot_members: usize,
}

/// All that was written under one pipeline.
pub struct Store {
    tables: HashMap<u32, TableState>,
    profiles: HashMap<u32, ProfileState>,
    /// By meter and cell, where it is not the default.
    pub meters: BTreeMap<(u32, usize), p4::MeterConfig>,
    pub digests: BTreeMap<u32, p4::digest_entry::Config>,
    pub value_sets: BTreeMap<u32, Vec<p4::ValueSetMember>>,
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
                compiled::entries(pipeline, t)
                    .map(|s| (id, s))
                    .map_err(|f| f.at(format!("entries of table {} in the program", t.name)))
            })
            .collect::<Outcome<_>>()?;
        Ok(Self {
            tables,
            profiles: pipeline
                .profiles
                .keys()
                .map(|&id| (id, ProfileState::default()))
                .collect(),
            meters: BTreeMap::new(),
            digests: BTreeMap::new(),
            value_sets: BTreeMap::new(),
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

    /// An id for a member or group of the server's own.
    pub fn fresh_hidden_id(&mut self) -> u64 {
        (1 << 32) + self.fresh_id().0
    }

    pub fn table(&self, id: u32) -> Outcome<&TableState> {
        self.tables.get(&id).ok_or_else(|| no_table(id))
    }

    pub fn table_mut(&mut self, id: u32) -> Outcome<&mut TableState> {
        self.tables.get_mut(&id).ok_or_else(|| no_table(id))
    }

    pub fn profile(&self, id: u32) -> Outcome<&ProfileState> {
        self.profiles.get(&id).ok_or_else(|| no_profile(id))
    }

    pub fn profile_mut(&mut self, id: u32) -> Outcome<&mut ProfileState> {
        self.profiles.get_mut(&id).ok_or_else(|| no_profile(id))
    }

    /// Whether an entry of the profile's tables has this action.
    pub fn refers(&self, profile: &Profile, to: &p4::table_action::Type) -> bool {
        profile
            .tables
            .iter()
            .filter_map(|id| self.tables.get(id))
            .flat_map(TableState::iter)
            .any(|(_, e)| e.action.r#type.as_ref() == Some(to))
    }
}

fn no_profile(id: u32) -> Failure {
    Failure::not_found(format!("no action profile with id {id} in the P4Info"))
}

fn no_table(id: u32) -> Failure {
    Failure::not_found(format!("no table with id {id} in the P4Info"))
}
