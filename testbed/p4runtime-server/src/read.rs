// SPDX-License-Identifier: Apache-2.0
//! One entity of a Read: a filter, and the entities that pass it.

use crate::bytestring;
use crate::errors::{Failure, Outcome};
use crate::matchfields;
use crate::pipeline::{Array, Pipeline, Table};
use crate::store::{self, Entry, Store};
use crate::target::{CounterValue, EntryId, Target};
use crate::write::{cells, counted_entry, unsupported};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;

pub struct Reader<'a> {
    pub pipeline: &'a Pipeline,
    pub store: &'a Store,
    /// `None` while the pipeline is saved but not committed.
    pub target: Option<&'a dyn Target>,
}

impl<'a> Reader<'a> {
    pub async fn read(&self, filter: &p4::Entity) -> Outcome<Vec<p4::Entity>> {
        let found = match &filter.entity {
            Some(Kind::TableEntry(e)) => self.table_entries(e).await?,
            Some(Kind::DirectCounterEntry(e)) => self.direct_counters(e).await?,
            Some(Kind::CounterEntry(e)) => self.counters(e).await?,
            Some(Kind::RegisterEntry(e)) => self.registers(e).await?,
            Some(Kind::PacketReplicationEngineEntry(e)) => match &e.r#type {
                Some(Pre::MulticastGroupEntry(g)) => self.groups(g.multicast_group_id)?,
                Some(Pre::CloneSessionEntry(s)) => self.sessions(s.session_id)?,
                None => {
                    return Err(Failure::invalid(
                        "neither a multicast group nor a clone session",
                    ));
                }
            },
            Some(other) => return Err(unsupported(other)),
            None => return Err(Failure::invalid("the entity is empty")),
        };
        Ok(found
            .into_iter()
            .map(|e| p4::Entity { entity: Some(e) })
            .collect())
    }

    /// The table of this id, or all for 0.
    fn tables(&self, id: u32) -> Outcome<Vec<&'a Table>> {
        if id == 0 {
            return Ok(self.pipeline.tables.values().collect());
        }
        Ok(vec![self.pipeline.table(id)?])
    }

    async fn table_entries(&self, filter: &p4::TableEntry) -> Outcome<Vec<Kind>> {
        if filter.table_id == 0 && (!filter.r#match.is_empty() || filter.action.is_some()) {
            return Err(Failure::invalid(
                "match and action select nothing without a table id",
            ));
        }
        let mut out = Vec::new();
        for table in self.tables(filter.table_id)? {
            if filter.is_default_action {
                out.extend(self.default_entry(table, filter)?.map(Kind::TableEntry));
                continue;
            }
            for (id, entry) in self.selected(table, filter)? {
                let mut e = to_proto(table, id, entry);
                if filter.counter_data.is_some() && table.direct_counter.is_some() {
                    let value = self.target()?.read_direct_counter(&table.name, id).await?;
                    e.counter_data = Some(counter_data(value));
                }
                out.push(Kind::TableEntry(e));
            }
        }
        Ok(out)
    }

    /// Entries that pass every field set in the filter.
    fn selected(
        &self,
        table: &Table,
        filter: &p4::TableEntry,
    ) -> Outcome<Vec<(EntryId, &'a Entry)>> {
        let state = self.store.table(table.id)?;
        let matches = match filter.r#match.as_slice() {
            [] => None,
            fields => Some(matchfields::parse(table, fields)?),
        };
        let action = match filter.action.as_ref().and_then(|a| a.r#type.as_ref()) {
            None => None,
            Some(p4::table_action::Type::Action(a)) => Some(a.action_id),
            Some(_) => return Err(Failure::unsupported("action profiles: not supported")),
        };
        Ok(state
            .iter()
            .filter(|(_, e)| matches.as_ref().is_none_or(|m| *m == e.matches))
            .filter(|(_, e)| filter.priority == 0 || filter.priority == e.priority)
            .filter(|(_, e)| action.is_none_or(|a| a == e.action.action_id))
            .filter(|(_, e)| passes(&e.labels, filter))
            .collect())
    }

    fn default_entry(
        &self,
        table: &Table,
        filter: &p4::TableEntry,
    ) -> Outcome<Option<p4::TableEntry>> {
        if !filter.r#match.is_empty() || filter.priority != 0 {
            return Err(Failure::invalid(format!(
                "default entry of table {}: it has no match fields and no priority",
                table.name
            )));
        }
        let (action, labels) = match &self.store.table(table.id)?.default {
            Some((action, labels)) => (Some(action.clone()), labels.clone()),
            None => (
                store::program_default(self.pipeline, table),
                store::Labels::default(),
            ),
        };
        Ok(passes(&labels, filter).then(|| p4::TableEntry {
            table_id: table.id,
            action: action.map(table_action),
            is_default_action: true,
            is_const: table.const_default,
            metadata: labels.metadata,
            controller_metadata: labels.controller_metadata,
            ..Default::default()
        }))
    }

    async fn direct_counters(&self, filter: &p4::DirectCounterEntry) -> Outcome<Vec<Kind>> {
        let any = p4::TableEntry::default();
        let of = filter.table_entry.as_ref().unwrap_or(&any);
        let one_entry = !of.r#match.is_empty() || of.is_default_action;
        if one_entry {
            let (table, id) = counted_entry(self.pipeline, self.store, of)?;
            return Ok(vec![self.direct_counter(table, id).await?]);
        }
        let mut out = Vec::new();
        for table in self.tables(of.table_id)? {
            if table.direct_counter.is_some() {
                for (id, _) in self.selected(table, of)? {
                    out.push(self.direct_counter(table, id).await?);
                }
            } else if of.table_id != 0 {
                return Err(Failure::invalid(format!(
                    "table {} has no direct counter",
                    table.name
                )));
            }
        }
        Ok(out)
    }

    async fn direct_counter(&self, table: &Table, id: EntryId) -> Outcome<Kind> {
        let value = self.target()?.read_direct_counter(&table.name, id).await?;
        let entry = self.store.table(table.id)?.get(id);
        Ok(Kind::DirectCounterEntry(p4::DirectCounterEntry {
            table_entry: entry.map(|e| p4::TableEntry {
                table_id: table.id,
                r#match: matchfields::to_proto(table, &e.matches),
                priority: e.priority,
                ..Default::default()
            }),
            data: Some(counter_data(value)),
        }))
    }

    async fn counters(&self, filter: &p4::CounterEntry) -> Outcome<Vec<Kind>> {
        let mut out = Vec::new();
        for (id, counter) in arrays(
            &self.pipeline.counters,
            filter.counter_id,
            filter.index.as_ref(),
            self.pipeline.counter(filter.counter_id),
        )? {
            let cells = cells(counter, filter.index.as_ref())?;
            let values = self
                .target()?
                .read_counter(&counter.name, cells.clone())
                .await?;
            out.extend(cells.zip(values).map(|(i, v)| {
                Kind::CounterEntry(p4::CounterEntry {
                    counter_id: id,
                    index: index(i),
                    data: Some(counter_data(v)),
                })
            }));
        }
        Ok(out)
    }

    async fn registers(&self, filter: &p4::RegisterEntry) -> Outcome<Vec<Kind>> {
        let mut out = Vec::new();
        for (id, register) in arrays(
            &self.pipeline.registers,
            filter.register_id,
            filter.index.as_ref(),
            self.pipeline.register(filter.register_id),
        )? {
            let cells = cells(register, filter.index.as_ref())?;
            let values = self
                .target()?
                .read_register(&register.name, cells.clone())
                .await?;
            out.extend(cells.zip(values).map(|(i, v)| {
                Kind::RegisterEntry(p4::RegisterEntry {
                    register_id: id,
                    index: index(i),
                    data: Some(p4::P4Data {
                        data: Some(p4::p4_data::Data::Bitstring(bytestring::canonical(&v))),
                    }),
                })
            }));
        }
        Ok(out)
    }

    fn groups(&self, id: u32) -> Outcome<Vec<Kind>> {
        let found: Vec<_> = self
            .store
            .groups
            .values()
            .filter(|g| id == 0 || g.multicast_group_id == id)
            .cloned()
            .map(|g| pre(Pre::MulticastGroupEntry(g)))
            .collect();
        if id != 0 && found.is_empty() {
            return Err(Failure::not_found(format!("no multicast group {id}")));
        }
        Ok(found)
    }

    fn sessions(&self, id: u32) -> Outcome<Vec<Kind>> {
        let found: Vec<_> = self
            .store
            .sessions
            .values()
            .filter(|s| id == 0 || s.session_id == id)
            .cloned()
            .map(|s| pre(Pre::CloneSessionEntry(s)))
            .collect();
        if id != 0 && found.is_empty() {
            return Err(Failure::not_found(format!("no clone session {id}")));
        }
        Ok(found)
    }

    fn target(&self) -> Outcome<&'a dyn Target> {
        self.target.ok_or_else(|| {
            Failure::precondition("the pipeline is saved but not committed: nothing counts yet")
        })
    }
}

fn passes(labels: &store::Labels, filter: &p4::TableEntry) -> bool {
    (filter.metadata.is_empty() || filter.metadata == labels.metadata)
        && (filter.controller_metadata == 0
            || filter.controller_metadata == labels.controller_metadata)
}

fn arrays<'p>(
    all: &'p std::collections::BTreeMap<u32, Array>,
    id: u32,
    index: Option<&p4::Index>,
    one: Outcome<&'p Array>,
) -> Outcome<Vec<(u32, &'p Array)>> {
    match (id, index) {
        (0, Some(_)) => Err(Failure::invalid("an index selects nothing without an id")),
        (0, None) => Ok(all.iter().map(|(&id, a)| (id, a)).collect()),
        _ => Ok(vec![(id, one?)]),
    }
}

fn to_proto(table: &Table, id: EntryId, entry: &Entry) -> p4::TableEntry {
    p4::TableEntry {
        table_id: table.id,
        r#match: matchfields::to_proto(table, &entry.matches),
        action: Some(table_action(entry.action.clone())),
        priority: entry.priority,
        metadata: entry.labels.metadata.clone(),
        controller_metadata: entry.labels.controller_metadata,
        is_const: table.const_entries && id.is_compiled(),
        ..Default::default()
    }
}

fn table_action(action: p4::Action) -> p4::TableAction {
    p4::TableAction {
        r#type: Some(p4::table_action::Type::Action(action)),
    }
}

fn counter_data(value: CounterValue) -> p4::CounterData {
    let held = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
    p4::CounterData {
        byte_count: held(value.bytes),
        packet_count: held(value.packets),
    }
}

fn index(i: usize) -> Option<p4::Index> {
    Some(p4::Index {
        index: i64::try_from(i).unwrap_or(i64::MAX),
    })
}

fn pre(entry: Pre) -> Kind {
    Kind::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(entry),
    })
}
