// SPDX-License-Identifier: Apache-2.0
//! One update of a Write: checked, given to the target, then remembered.

use crate::actions::{self, Place};
use crate::bytestring;
use crate::errors::{Failure, Outcome};
use crate::matchfields;
use crate::pipeline::{Array, Pipeline, Table};
use crate::replication;
use crate::store::{Entry, EntryKey, Labels, Store};
use crate::target::{CounterValue, EntryId, KeyMatch, TableEntry, Target};
use std::ops::Range;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

/// A pipeline with what was written to it. Without a target (saved, not yet
/// committed) updates are only checked and remembered.
pub struct Writer<'a> {
    pub pipeline: &'a Pipeline,
    pub store: &'a mut Store,
    pub target: Option<&'a dyn Target>,
}

impl Writer<'_> {
    pub async fn apply(&mut self, update: &p4::Update) -> Outcome<()> {
        let kind = match Type::try_from(update.r#type) {
            Ok(Type::Unspecified) | Err(_) => {
                return Err(Failure::invalid("the update has no type"));
            }
            Ok(t) => t,
        };
        match update.entity.as_ref().and_then(|e| e.entity.as_ref()) {
            Some(Kind::TableEntry(e)) if e.is_default_action => self.default_entry(kind, e).await,
            Some(Kind::TableEntry(e)) => self.table_entry(kind, e).await,
            Some(Kind::DirectCounterEntry(e)) => self.direct_counter(kind, e).await,
            Some(Kind::CounterEntry(e)) => self.counter(kind, e).await,
            Some(Kind::RegisterEntry(e)) => self.register(kind, e).await,
            Some(Kind::PacketReplicationEngineEntry(e)) => match &e.r#type {
                Some(Pre::MulticastGroupEntry(g)) => self.group(kind, g).await,
                Some(Pre::CloneSessionEntry(s)) => self.session(kind, s).await,
                None => Err(Failure::invalid(
                    "neither a multicast group nor a clone session",
                )),
            },
            Some(other) => Err(unsupported(other)),
            None => Err(Failure::invalid("the update has no entity")),
        }
    }

    async fn table_entry(&mut self, kind: Type, e: &p4::TableEntry) -> Outcome<()> {
        let pipeline = self.pipeline;
        let table = pipeline.table(e.table_id)?;
        let at = |f: Failure| f.at(format!("table {}", table.name));
        if table.keys.is_empty() {
            return Err(at(Failure::invalid(
                "it has no keys; set is_default_action to change its action",
            )));
        }
        if table.const_entries {
            return Err(at(Failure::denied("its entries are constant")));
        }
        let key = entry_key(table, e)?;
        let present = self.store.table(table.id)?.id_of(&key);
        match (kind, present) {
            (Type::Insert, Some(_)) => Err(at(Failure::new(
                Code::AlreadyExists,
                "there is an entry with this match and priority; use MODIFY",
            ))),
            (Type::Insert, None) => self.insert(table, e, key).await,
            (_, None) => Err(at(Failure::not_found(
                "no entry with this match and priority",
            ))),
            (Type::Delete, Some(id)) => {
                if let Some(t) = self.target {
                    t.remove_entry(&table.name, id).await?;
                }
                self.store.table_mut(table.id)?.remove(id);
                Ok(())
            }
            (_, Some(id)) => self.modify(table, e, key, id).await,
        }
    }

    async fn insert(&mut self, table: &Table, e: &p4::TableEntry, key: EntryKey) -> Outcome<()> {
        check_extras(table, e)?;
        let (call, action) = actions::parse(self.pipeline, table, e.action.as_ref(), Place::Entry)?;
        if self.store.table(table.id)?.len() >= table.size {
            return Err(Failure::new(
                Code::ResourceExhausted,
                format!("table {} is full: it holds {}", table.name, table.size),
            ));
        }
        let id = self.store.fresh_id();
        if let Some(t) = self.target {
            let entry = TableEntry {
                matches: table
                    .keys
                    .iter()
                    .zip(&key.0)
                    .map(|(k, v)| KeyMatch {
                        name: k.name.clone(),
                        bits: k.bits,
                        value: v.clone(),
                    })
                    .collect(),
                priority: key.1,
                action: call,
            };
            t.insert_entry(&table.name, id, &entry).await?;
        }
        // The entry exists from here on, whatever becomes of its counter.
        self.store.table_mut(table.id)?.put(
            id,
            Entry {
                matches: key.0,
                priority: key.1,
                action,
                labels: labels(e),
            },
        );
        self.set_counter(table, id, e.counter_data.as_ref()).await
    }

    async fn modify(
        &mut self,
        table: &Table,
        e: &p4::TableEntry,
        key: EntryKey,
        id: EntryId,
    ) -> Outcome<()> {
        check_extras(table, e)?;
        let (call, action) = actions::parse(self.pipeline, table, e.action.as_ref(), Place::Entry)?;
        if let Some(t) = self.target {
            t.modify_entry(&table.name, id, &call).await?;
        }
        self.store.table_mut(table.id)?.put(
            id,
            Entry {
                matches: key.0,
                priority: key.1,
                action,
                labels: labels(e),
            },
        );
        self.set_counter(table, id, e.counter_data.as_ref()).await
    }

    async fn default_entry(&mut self, kind: Type, e: &p4::TableEntry) -> Outcome<()> {
        let pipeline = self.pipeline;
        let table = pipeline.table(e.table_id)?;
        let at = |f: Failure| f.at(format!("default entry of table {}", table.name));
        if kind != Type::Modify {
            return Err(at(Failure::invalid(
                "it always exists; only MODIFY applies",
            )));
        }
        if !e.r#match.is_empty() || e.priority != 0 {
            return Err(at(Failure::invalid(
                "it has no match fields and no priority",
            )));
        }
        if table.const_default {
            return Err(at(Failure::denied("the program makes it constant")));
        }
        check_extras(table, e).map_err(at)?;
        if e.counter_data.is_some() {
            return Err(at(Failure::unsupported("misses are not counted")));
        }
        let new = match &e.action {
            None => None,
            given => Some(actions::parse(
                pipeline,
                table,
                given.as_ref(),
                Place::Default,
            )?),
        };
        if let Some(t) = self.target {
            t.set_default_action(&table.name, new.as_ref().map(|(call, _)| call))
                .await?;
        }
        self.store.table_mut(table.id)?.default = new.map(|(_, action)| (action, labels(e)));
        Ok(())
    }

    async fn direct_counter(&mut self, kind: Type, e: &p4::DirectCounterEntry) -> Outcome<()> {
        only_modify(kind, "a direct counter")?;
        let entry = e
            .table_entry
            .as_ref()
            .ok_or_else(|| Failure::invalid("the direct counter names no table entry"))?;
        let (table, id) = counted_entry(self.pipeline, self.store, entry)?;
        if e.data.is_none() {
            return Err(Failure::invalid("the direct counter has no data"));
        }
        self.set_counter(table, id, e.data.as_ref()).await
    }

    async fn set_counter(
        &self,
        table: &Table,
        id: EntryId,
        data: Option<&p4::CounterData>,
    ) -> Outcome<()> {
        if let (Some(data), Some(t)) = (data, self.target) {
            t.write_direct_counter(&table.name, id, counter_value(data)?)
                .await?;
        }
        Ok(())
    }

    async fn counter(&mut self, kind: Type, e: &p4::CounterEntry) -> Outcome<()> {
        only_modify(kind, "a counter")?;
        let counter = self.pipeline.counter(e.counter_id)?;
        let cells = cells(counter, e.index.as_ref())?;
        let data = e
            .data
            .as_ref()
            .ok_or_else(|| Failure::invalid("the counter has no data"))?;
        let value = counter_value(data)?;
        if let Some(t) = self.target {
            t.write_counter(&counter.name, cells, value).await?;
        }
        Ok(())
    }

    async fn register(&mut self, kind: Type, e: &p4::RegisterEntry) -> Outcome<()> {
        only_modify(kind, "a register")?;
        let register = self.pipeline.register(e.register_id)?;
        let cells = cells(register, e.index.as_ref())?;
        let at = |f: Failure| f.at(format!("register {}", register.name));
        let value = match e.data.as_ref().and_then(|d| d.data.as_ref()) {
            Some(p4::p4_data::Data::Bitstring(v)) if register.bits > 0 => {
                bytestring::parse(v, register.bits).map_err(at)?
            }
            Some(_) => {
                return Err(at(Failure::invalid(
                    "only registers of bit<W> with a bitstring value are supported",
                )));
            }
            None => return Err(at(Failure::invalid("it has no data"))),
        };
        if let Some(t) = self.target {
            t.write_register(&register.name, cells, &value).await?;
        }
        Ok(())
    }

    async fn group(&mut self, kind: Type, g: &p4::MulticastGroupEntry) -> Outcome<()> {
        let replicas = replication::group(g)?;
        let id = g.multicast_group_id;
        let what = || format!("multicast group {id}");
        check_presence(kind, self.store.groups.contains_key(&id), what)?;
        let delete = kind == Type::Delete;
        if let Some(t) = self.target {
            t.set_multicast_group(id, (!delete).then_some(replicas.as_slice()))
                .await?;
        }
        if delete {
            self.store.groups.remove(&id);
        } else {
            self.store.groups.insert(id, g.clone());
        }
        Ok(())
    }

    async fn session(&mut self, kind: Type, s: &p4::CloneSessionEntry) -> Outcome<()> {
        let session = replication::session(s)?;
        let id = s.session_id;
        check_presence(kind, self.store.sessions.contains_key(&id), || {
            format!("clone session {id}")
        })?;
        let delete = kind == Type::Delete;
        if let Some(t) = self.target {
            t.set_clone_session(id, (!delete).then_some(&session))
                .await?;
        }
        if delete {
            self.store.sessions.remove(&id);
        } else {
            self.store.sessions.insert(id, s.clone());
        }
        Ok(())
    }
}

/// Match and priority of an entry, checked.
pub fn entry_key(table: &Table, e: &p4::TableEntry) -> Outcome<EntryKey> {
    let matches = matchfields::parse(table, &e.r#match)?;
    matchfields::check_priority(table, e.priority)?;
    Ok((matches, e.priority))
}

/// The entry a direct counter belongs to.
pub fn counted_entry<'p>(
    pipeline: &'p Pipeline,
    store: &Store,
    e: &p4::TableEntry,
) -> Outcome<(&'p Table, EntryId)> {
    let table = pipeline.table(e.table_id)?;
    let at = |f: Failure| f.at(format!("table {}", table.name));
    if table.direct_counter.is_none() {
        return Err(at(Failure::invalid("it has no direct counter")));
    }
    if e.is_default_action {
        return Err(at(Failure::unsupported("misses are not counted")));
    }
    let key = entry_key(table, e)?;
    let id = store
        .table(table.id)?
        .id_of(&key)
        .ok_or_else(|| at(Failure::not_found("no entry with this match and priority")))?;
    Ok((table, id))
}

/// Cells meant by an index; all when it is unset.
pub fn cells(array: &Array, index: Option<&p4::Index>) -> Outcome<Range<usize>> {
    match index {
        None => Ok(0..array.size),
        Some(i) => usize::try_from(i.index)
            .ok()
            .filter(|i| *i < array.size)
            .map(|i| i..i + 1)
            .ok_or_else(|| {
                Failure::out_of_range(format!(
                    "{}: index {} is not in 0..{}",
                    array.name, i.index, array.size
                ))
            }),
    }
}

pub fn unsupported(entity: &Kind) -> Failure {
    let what = match entity {
        Kind::ActionProfileMember(_) | Kind::ActionProfileGroup(_) => "action profiles",
        Kind::MeterEntry(_) | Kind::DirectMeterEntry(_) => "meters",
        Kind::ValueSetEntry(_) => "value sets",
        Kind::DigestEntry(_) => "digests",
        _ => "this kind of extern",
    };
    Failure::unsupported(format!("{what}: not supported"))
}

fn labels(e: &p4::TableEntry) -> Labels {
    Labels {
        metadata: e.metadata.clone(),
        controller_metadata: e.controller_metadata,
    }
}

fn check_extras(table: &Table, e: &p4::TableEntry) -> Outcome<()> {
    let at = |f: Failure| Err(f.at(format!("table {}", table.name)));
    if table.indirect {
        return at(Failure::unsupported("action profiles are not supported"));
    }
    if e.meter_config.is_some() || e.meter_counter_data.is_some() {
        return at(Failure::unsupported("meters are not supported"));
    }
    if e.idle_timeout_ns != 0 {
        return at(Failure::unsupported("idle timeouts are not supported"));
    }
    match &e.counter_data {
        Some(_) if table.direct_counter.is_none() => at(Failure::invalid(
            "counter_data is set, but it has no direct counter",
        )),
        Some(data) => counter_value(data).map(|_| ()),
        None => Ok(()),
    }
}

fn counter_value(data: &p4::CounterData) -> Outcome<CounterValue> {
    match (
        u64::try_from(data.packet_count),
        u64::try_from(data.byte_count),
    ) {
        (Ok(packets), Ok(bytes)) => Ok(CounterValue { packets, bytes }),
        _ => Err(Failure::invalid("a counter cannot be negative")),
    }
}

fn only_modify(kind: Type, what: &str) -> Outcome<()> {
    if kind == Type::Modify {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "{what} always exists; only MODIFY applies"
    )))
}

fn check_presence(kind: Type, present: bool, what: impl Fn() -> String) -> Outcome<()> {
    match (kind, present) {
        (Type::Insert, true) => Err(Failure::new(
            Code::AlreadyExists,
            format!("{} exists; use MODIFY", what()),
        )),
        (Type::Modify | Type::Delete, false) => {
            Err(Failure::not_found(format!("{} does not exist", what())))
        }
        _ => Ok(()),
    }
}
