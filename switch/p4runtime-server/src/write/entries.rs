// SPDX-License-Identifier: Apache-2.0
//! Table entries.

use super::arrays::counter_value;
use super::lookup::entry_key;
use super::meters::{self, no_colour_counters};
use super::table_actions::Wanted;
use super::writer::Writer;
use crate::errors::{Failure, Outcome, refuse, refuse_at};
use crate::pipeline::Table;
use crate::store::{Entry, EntryKey, Labels, OneShot};
use crate::target::{EntryId, KeyMatch, TableEntry};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

impl Writer<'_> {
    pub(super) async fn table_entry(&mut self, kind: Type, e: &p4::TableEntry) -> Outcome<()> {
        let pipeline = self.pipeline;
        let table = pipeline.tables.get(e.table_id)?;
        let at = |f: Failure| f.at(format!("table {}", table.name));
        if table.keys.is_empty() {
            refuse_at!(at, invalid: "it has no keys; set is_default_action to change its action");
        }
        if table.const_entries {
            refuse_at!(at, denied: "its entries are constant");
        }
        let key = entry_key(table, e)?;
        let present = self.store.table(table.id)?.id_of(&key);
        match (kind, present) {
            (Type::Insert, Some(_)) => Err(at(Failure::new(
                Code::AlreadyExists,
                "there is an entry with this match and priority; use MODIFY",
            ))),
            (Type::Insert, None) => self.insert(table, e, key).await.map_err(at),
            (_, None) => Err(at(Failure::not_found(
                "no entry with this match and priority",
            ))),
            (Type::Delete, Some(id)) => self.delete(table, id).await,
            (_, Some(id)) => self.modify(table, e, key, id).await.map_err(at),
        }
    }

    async fn insert(&mut self, table: &Table, e: &p4::TableEntry, key: EntryKey) -> Outcome<()> {
        check_extras(table, e)?;
        let action = self.wanted(table, e.action.as_ref())?;
        self.add(table, e, key, action).await.map(|_| ())
    }

    /// Adds an entry whose key and action are checked; only the other fields of `e` are used.
    pub(crate) async fn add(
        &mut self,
        table: &Table,
        e: &p4::TableEntry,
        key: EntryKey,
        (wanted, canonical): (Wanted, p4::TableAction),
    ) -> Outcome<EntryId> {
        let config = meters::checked(self.pipeline, table, e.meter_config.as_ref())?;
        if self.store.table(table.id)?.len() >= table.size {
            return Err(Failure::exhausted(format!(
                "it is full: it holds {}",
                table.size
            )));
        }
        let id = self.store.fresh_id();
        let (action, one_shot) = self.prepare(table, wanted).await?;
        if let Some(t) = self.target {
            let entry = TableEntry {
                matches: table
                    .keys
                    .iter()
                    .zip(&key.0)
                    .map(|(k, v)| KeyMatch {
                        bits: k.values.bits,
                        value: v.clone(),
                    })
                    .collect(),
                priority: key.1,
                action,
            };
            if let Err(refused) = t.insert_entry(&table.name, id, &entry).await {
                self.discard(table, &canonical, one_shot).await?;
                return Err(refused.into());
            }
        }
        // The entry exists from here on, even if setting its counter or meter fails.
        self.store
            .put_entry(table.id, id, held(e, key, canonical, one_shot))?;
        if config.is_some() {
            self.set_direct_meter(table, id, config).await?;
        }
        self.set_counter(table, id, e.counter_data.as_ref()).await?;
        Ok(id)
    }

    async fn modify(
        &mut self,
        table: &Table,
        e: &p4::TableEntry,
        key: EntryKey,
        id: EntryId,
    ) -> Outcome<()> {
        check_extras(table, e)?;
        let action = self.wanted(table, e.action.as_ref())?;
        self.replace(table, e, key, id, action).await
    }

    /// Replaces an entry whose action is checked; only the other fields of `e` are used.
    pub(crate) async fn replace(
        &mut self,
        table: &Table,
        e: &p4::TableEntry,
        key: EntryKey,
        id: EntryId,
        (wanted, canonical): (Wanted, p4::TableAction),
    ) -> Outcome<()> {
        let config = meters::checked(self.pipeline, table, e.meter_config.as_ref())?;
        let (action, one_shot) = self.prepare(table, wanted).await?;
        if let Some(t) = self.target
            && let Err(refused) = t.modify_entry(&table.name, id, &action).await
        {
            self.discard(table, &canonical, one_shot).await?;
            return Err(refused.into());
        }
        let entry = held(e, key, canonical, one_shot);
        let before = self.store.put_entry(table.id, id, entry)?;
        if let Some(b) = before {
            self.discard(table, &b.action, b.one_shot).await?;
        }
        // If omitted, the meter's configuration is reset to the default.
        if table.direct_meter.is_some() {
            self.set_direct_meter(table, id, config).await?;
        }
        self.set_counter(table, id, e.counter_data.as_ref()).await
    }

    pub(crate) async fn delete(&mut self, table: &Table, id: EntryId) -> Outcome<()> {
        if let Some(t) = self.target {
            t.remove_entry(&table.name, id).await?;
        }
        self.store.idle.stop((table.id, id));
        if let Some(e) = self.store.table_mut(table.id)?.remove(id) {
            self.discard(table, &e.action, e.one_shot).await?;
        }
        Ok(())
    }
}

/// Builds an entry as it is stored.
fn held(
    e: &p4::TableEntry,
    (matches, priority): EntryKey,
    action: p4::TableAction,
    one_shot: Option<OneShot>,
) -> Entry {
    Entry {
        matches,
        priority,
        action,
        one_shot,
        meter: e.meter_config,
        idle_timeout_ns: e.idle_timeout_ns,
        labels: labels(e),
        given: None,
    }
}

pub(super) fn labels(e: &p4::TableEntry) -> Labels {
    Labels {
        metadata: e.metadata.clone(),
        controller_metadata: e.controller_metadata,
    }
}

pub(super) fn check_extras(table: &Table, e: &p4::TableEntry) -> Outcome<()> {
    no_colour_counters(e.meter_counter_data.as_ref())?;
    if e.idle_timeout_ns < 0 {
        refuse!(invalid: "idle_timeout_ns is negative");
    }
    if e.idle_timeout_ns != 0 && !table.idle_timeouts {
        refuse!(invalid:
            "idle_timeout_ns is set, but it has no idle timeouts (support_timeout in the program)"
        );
    }
    if e.time_since_last_hit.is_some() {
        refuse!(invalid: "time_since_last_hit cannot be written");
    }
    match &e.counter_data {
        Some(_) if table.direct_counter.is_none() => Err(Failure::invalid(
            "counter_data is set, but it has no direct counter",
        )),
        Some(data) => counter_value(data).map(|_| ()),
        None => Ok(()),
    }
}
