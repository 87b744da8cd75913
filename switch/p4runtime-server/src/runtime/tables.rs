// SPDX-License-Identifier: Apache-2.0
//! Tables by name, and entries by handle.

use super::codes::TableError;
use super::keys::{self, reversed};
use super::profiles::{handle, id};
use super::types::{ActionEntry, Entry, EntryAge, Match, Runtime, TableShape};
use crate::actions::of_entry;
use crate::errors::Outcome;
use crate::pipeline::{Action, Pipeline, Table};
use crate::store::compiled;
use crate::store::{self, Labels};
use crate::target::{EntryAction, EntryId};
use crate::write::{Wanted, Writer};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::table_action::Type as ActionType;

type Result<T> = std::result::Result<T, TableError>;

pub(super) fn table<'p>(pipeline: &'p Pipeline, name: &str) -> Result<&'p Table> {
    let found = pipeline.tables.values().find(|t| t.name == name);
    found.ok_or(TableError::InvalidTableName)
}

fn action<'p>(pipeline: &'p Pipeline, table: &Table, name: &str) -> Result<&'p Action> {
    let ids = table.actions.iter();
    ids.filter_map(|(id, _)| pipeline.actions.get(id))
        .find(|a| a.name == name)
        .ok_or(TableError::InvalidActionName)
}

impl Writer<'_> {
    pub(super) fn entry_of(&self, table: &Table, handle: u32) -> Result<EntryId> {
        Ok(self.store.table(table.id)?.handles.get(handle)?)
    }

    fn prepared(&self, table: &Table, given: &ActionEntry) -> Result<(Wanted, p4::TableAction)> {
        let kind = match given {
            ActionEntry::Call(name, data) => {
                if table.profile.is_some() {
                    return Err(TableError::WrongTableType);
                }
                let (call, held) = keys::call(action(self.pipeline, table, name)?, data)?;
                return Ok((Wanted::Ready(EntryAction::Call(call)), of_entry(held)));
            }
            ActionEntry::Member(m) => {
                self.member_of(table, *m)?;
                ActionType::ActionProfileMemberId(id(*m))
            }
            ActionEntry::Group(g) => {
                self.group_of(table, *g)?;
                ActionType::ActionProfileGroupId(id(*g))
            }
        };
        let held = p4::TableAction { r#type: Some(kind) };
        Ok(self.wanted(table, Some(&held))?)
    }

    async fn remove_all(&mut self, table: &Table) -> Outcome<()> {
        let state = self.store.table(table.id)?;
        let ids: Vec<EntryId> = state.iter().map(|(id, _)| id).collect();
        for id in ids {
            self.delete(table, id).await?;
        }
        self.store.table_mut(table.id)?.handles = Default::default();
        Ok(())
    }

    pub(super) async fn reset_tables(&mut self) -> Outcome<()> {
        for table in self.pipeline.tables.values() {
            self.remove_all(table).await?;
            // Most tables still have the program's own, and each change waits for the data plane.
            if self.store.table(table.id)?.default.is_some() {
                self.follow_member(table, None).await?;
            }
        }
        Ok(())
    }

    /// Sets the default action to that of a member; `None`: to the program's.
    pub(super) async fn follow_member(
        &mut self,
        table: &Table,
        member: Option<u32>,
    ) -> Outcome<()> {
        let profile = table.profile.map(|p| self.store.profile(p)).transpose()?;
        let held = profile.and_then(|p| p.members.get(&member?)?.action.clone());
        let action = match held {
            None => None,
            Some(a) => Some(crate::actions::parse(
                self.pipeline,
                &table.actions,
                &a,
                crate::actions::Place::Entry,
            )?),
        };
        self.set_default(table, action, Labels::default()).await?;
        self.store.table_mut(table.id)?.default_member = member;
        Ok(())
    }

    async fn shown(&self, table: &Table, id: EntryId, e: &store::Entry) -> Entry {
        let key = e.given.as_ref().unwrap_or(&e.matches);
        let mut age = None;
        if e.idle_timeout_ns > 0
            && let Some(t) = self.target
        {
            let idle = t.idle_ns(&table.name, &[id]).await.unwrap_or_default();
            age = Some(EntryAge {
                timeout_ms: e.idle_timeout_ns / 1_000_000,
                idle_ms: idle.first().copied().flatten().unwrap_or(0) / 1_000_000,
            });
        }
        let handles = self.store.table(table.id).map(|t| t.handles.of(id));
        Entry {
            handle: handles.ok().flatten().unwrap_or(u32::MAX),
            key: key.iter().map(keys::show).collect(),
            priority: table.needs_priority().then(|| reversed(e.priority)),
            action: self.shown_action(table, &e.action),
            age,
        }
    }

    fn shown_action(&self, table: &Table, action: &p4::TableAction) -> ActionEntry {
        match &action.r#type {
            Some(ActionType::Action(a)) => self.shown_call(a),
            Some(ActionType::ActionProfileMemberId(m)) => ActionEntry::Member(handle(*m)),
            Some(ActionType::ActionProfileGroupId(g)) => ActionEntry::Group(handle(*g)),
            // A group that the server made from an action set has no handle.
            Some(ActionType::ActionProfileActionSet(_)) | None => {
                tracing::debug!(table = table.name, "an entry with an action set is shown");
                ActionEntry::Group(u32::MAX)
            }
        }
    }

    pub(super) fn shown_call(&self, a: &p4::Action) -> ActionEntry {
        let name = self.pipeline.actions.get(&a.action_id);
        ActionEntry::Call(
            name.map(|a| a.name.clone()).unwrap_or_default(),
            a.params.iter().map(|p| p.value.clone()).collect(),
        )
    }
}

impl Runtime {
    /// Finds the table with this full name, or the only one whose name ends with `.name`.
    pub async fn table_named(&self, name: &str) -> Option<TableShape> {
        let mut all = self.tables().await;
        if let Some(at) = all.iter().position(|t| t.name == name) {
            return Some(all.swap_remove(at));
        }
        let end = format!(".{name}");
        let mut found = all.into_iter().filter(|t| t.name.ends_with(&end));
        match (found.next(), found.next()) {
            (one, None) => one,
            _ => None,
        }
    }

    /// Returns the number of entries.
    ///
    /// # Errors
    /// There is no such table.
    pub async fn num_entries(&self, name: &str) -> Result<usize> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        Ok(w.store.table(table.id)?.len())
    }

    /// Removes all entries and, if requested, restores the program's default action.
    ///
    /// # Errors
    /// There is no such table.
    pub async fn clear(&self, name: &str, reset_default: bool) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        w.remove_all(table).await?;
        if reset_default {
            w.follow_member(table, None).await?;
        }
        Ok(())
    }

    /// Adds an entry and returns its handle. `priority`: the smallest wins.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn add_entry(
        &self,
        name: &str,
        key: &[Match],
        given: &ActionEntry,
        priority: i32,
    ) -> Result<u32> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if table.keys.is_empty() {
            return Err(TableError::BadMatchKey);
        }
        let action = w.prepared(table, given)?;
        if is_immutable(w.pipeline, table) {
            return Err(TableError::ImmutableEntries);
        }
        let (key, shown) = keys::read(table, key, priority)?;
        if w.store.table(table.id)?.id_of(&key).is_some() {
            return Err(TableError::DuplicateEntry);
        }
        let id = w
            .add(table, &p4::TableEntry::default(), key, action)
            .await?;
        let state = w.store.table_mut(table.id)?;
        if let Some(e) = state.get_mut(id) {
            e.given = shown;
        }
        state.handles.of(id).ok_or(TableError::TableFull)
    }

    /// Replaces the action of an entry.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn modify_entry(&self, name: &str, handle: u32, given: &ActionEntry) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        let action = w.prepared(table, given)?;
        if is_immutable(w.pipeline, table) {
            return Err(TableError::ImmutableEntries);
        }
        let id = w.entry_of(table, handle)?;
        let before = w.store.table(table.id)?.get(id).cloned();
        let before = before.ok_or(TableError::InvalidHandle)?;
        let as_it_is = before.to_proto(table);
        let key = (before.matches, before.priority);
        w.replace(table, &as_it_is, key, id, action).await?;
        if let Some(e) = w.store.table_mut(table.id)?.get_mut(id) {
            e.given = before.given;
        }
        self.shared.idle_changed.notify_one();
        Ok(())
    }

    /// Removes an entry.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn delete_entry(&self, name: &str, handle: u32) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if is_immutable(w.pipeline, table) {
            return Err(TableError::ImmutableEntries);
        }
        let id = w.entry_of(table, handle)?;
        Ok(w.delete(table, id).await?)
    }

    /// Sets the idle timeout of an entry; 0 means none.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn set_timeout(&self, name: &str, handle: u32, timeout_ms: u32) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if !table.idle_timeouts {
            return Err(TableError::AgeingDisabled);
        }
        let id = w.entry_of(table, handle)?;
        let entry = w.store.table(table.id)?.get(id).cloned();
        let mut entry = entry.ok_or(TableError::InvalidHandle)?;
        entry.idle_timeout_ns = i64::from(timeout_ms) * 1_000_000;
        w.store.put_entry(table.id, id, entry)?;
        self.shared.idle_changed.notify_one();
        Ok(())
    }

    /// Sets the default action; `None` restores the program's.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn set_default(&self, name: &str, given: Option<(&str, &[Vec<u8>])>) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if table.profile.is_some() {
            return Err(TableError::WrongTableType);
        }
        let new = match given {
            None => None,
            Some((name, data)) => {
                let action = action(w.pipeline, table, name)?;
                if is_const(w.pipeline, table) {
                    return Err(TableError::DefaultEntryIsConst);
                }
                Some(keys::call(action, data)?)
            }
        };
        Ok(w.set_default(table, new, Labels::default()).await?)
    }

    /// Makes a member the default of a table with an action profile; `None` restores the
    /// program's default action.
    ///
    /// # Errors
    /// BMv2's code; `Error` for a group, which cannot be a default here.
    pub async fn set_default_choice(&self, name: &str, given: Option<&ActionEntry>) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if table.profile.is_none() {
            return Err(TableError::WrongTableType);
        }
        let member = match given {
            None => None,
            Some(ActionEntry::Member(m)) => {
                w.member_of(table, *m)?;
                Some(id(*m))
            }
            Some(ActionEntry::Group(g)) => {
                w.group_of(table, *g)?;
                return Err(TableError::Error);
            }
            Some(ActionEntry::Call(..)) => return Err(TableError::WrongTableType),
        };
        Ok(w.follow_member(table, member).await?)
    }

    /// Returns the default action; `None` if there is none.
    ///
    /// # Errors
    /// There is no such table.
    pub async fn default_action(&self, name: &str) -> Result<Option<ActionEntry>> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        let state = w.store.table(table.id)?;
        if table.profile.is_some() {
            let member = state.default_member.map(handle);
            return Ok(member.map(ActionEntry::Member));
        }
        let action = match &state.default {
            Some((a, _)) => Some(a.clone()),
            None => compiled::default_action(w.pipeline, table),
        };
        Ok(action.map(|a| w.shown_call(&a)))
    }

    /// Returns all entries, in BMv2's order of handles.
    ///
    /// # Errors
    /// There is no such table.
    pub async fn entries(&self, name: &str) -> Result<Vec<Entry>> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        let state = w.store.table(table.id)?;
        let mut out = Vec::with_capacity(state.len());
        for id in state.handles.entries() {
            if let Some(e) = state.get(id) {
                out.push(w.shown(table, id, e).await);
            }
        }
        Ok(out)
    }

    /// Returns one entry.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn entry(&self, name: &str, handle: u32) -> Result<Entry> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        let id = w.entry_of(table, handle)?;
        let state = w.store.table(table.id)?;
        let e = state.get(id).ok_or(TableError::InvalidHandle)?;
        Ok(w.shown(table, id, e).await)
    }

    /// Returns the entry with this key.
    ///
    /// # Errors
    /// `BadMatchKey` if there is none.
    pub async fn entry_with_key(&self, name: &str, key: &[Match], priority: i32) -> Result<Entry> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        let (key, _) = keys::read(table, key, priority)?;
        let state = w.store.table(table.id)?;
        let id = state.id_of(&key).ok_or(TableError::BadMatchKey)?;
        let e = state.get(id).ok_or(TableError::BadMatchKey)?;
        Ok(w.shown(table, id, e).await)
    }
}

/// Returns whether a table's entries are compiled in: BMv2 never lets these be changed.
fn is_immutable(pipeline: &Pipeline, table: &Table) -> bool {
    let in_program = pipeline.program.table(&table.name);
    table.const_entries || in_program.is_some_and(|t| !t.const_entries.is_empty())
}

fn is_const(pipeline: &Pipeline, table: &Table) -> bool {
    let in_program = pipeline.program.table(&table.name);
    table.const_default || in_program.is_some_and(|t| t.default_is_const)
}
