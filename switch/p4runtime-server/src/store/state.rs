// SPDX-License-Identifier: Apache-2.0
//! State that clients wrote, as they will read it back.

use super::compiled;
use super::entry::{Entry, ProfileState, TableState};
use super::idle_timers::IdleTimers;
use crate::errors::{Failure, Outcome};
use crate::pipeline::{Pipeline, Profile};
use crate::runtime::Nodes;
use crate::target::EntryId;
use std::collections::{BTreeMap, HashMap};
use tidemark_proto::p4::v1 as p4;

/// All state written under one pipeline.
pub(crate) struct Store {
    pub(super) tables: HashMap<u32, TableState>,
    pub(super) profiles: HashMap<u32, ProfileState>,
    /// Configurations by meter and cell, unless they are the default.
    pub meters: BTreeMap<(u32, usize), p4::MeterConfig>,
    pub digests: BTreeMap<u32, p4::digest_entry::Config>,
    pub value_sets: BTreeMap<u32, Vec<p4::ValueSetMember>>,
    pub groups: BTreeMap<u32, p4::MulticastGroupEntry>,
    pub sessions: BTreeMap<u32, p4::CloneSessionEntry>,
    /// Nodes, of which BMv2's runtime services make multicast groups.
    pub nodes: Nodes,
    /// Times at which entries are checked for idleness.
    pub idle: IdleTimers,
    next_id: u64,
}

impl Store {
    /// Starts with the entries compiled into the program.
    pub(crate) fn new(pipeline: &Pipeline) -> Outcome<Self> {
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
            nodes: Nodes::default(),
            idle: IdleTimers::default(),
            next_id: 1,
        })
    }

    pub(crate) fn fresh_id(&mut self) -> EntryId {
        let id = EntryId(self.next_id);
        self.next_id += 1;
        id
    }

    /// Returns an id for a member or group that the server makes itself.
    pub(crate) fn fresh_hidden_id(&mut self) -> u64 {
        (1 << 32) + self.fresh_id().0
    }

    pub(crate) fn table(&self, id: u32) -> Outcome<&TableState> {
        self.tables.get(&id).ok_or_else(|| no_table(id))
    }

    pub(crate) fn table_mut(&mut self, id: u32) -> Outcome<&mut TableState> {
        self.tables.get_mut(&id).ok_or_else(|| no_table(id))
    }

    /// Adds or replaces an entry, and starts its idle timeout; returns the previous entry.
    pub(crate) fn put_entry(
        &mut self,
        table: u32,
        id: EntryId,
        entry: Entry,
    ) -> Outcome<Option<Entry>> {
        if entry.idle_timeout_ns > 0 {
            self.idle.start((table, id));
        } else {
            self.idle.stop((table, id));
        }
        Ok(self.table_mut(table)?.put(id, entry))
    }

    pub(crate) fn profile(&self, id: u32) -> Outcome<&ProfileState> {
        self.profiles.get(&id).ok_or_else(|| no_profile(id))
    }

    pub(crate) fn profile_mut(&mut self, id: u32) -> Outcome<&mut ProfileState> {
        self.profiles.get_mut(&id).ok_or_else(|| no_profile(id))
    }

    /// Returns whether an entry of the profile's tables has this action.
    pub(crate) fn refers(&self, profile: &Profile, to: &p4::table_action::Type) -> bool {
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
