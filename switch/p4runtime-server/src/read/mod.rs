// SPDX-License-Identifier: Apache-2.0
//! Reads one entity: a filter, and the entities that pass it.

mod arrays;
mod direct;
mod entries;
mod others;
mod profiles;

use crate::errors::{Failure, Outcome, refuse};
use crate::pipeline::{Pipeline, Table};
use crate::store::Store;
use crate::target::Target;
use crate::write::no_externs;
use std::collections::BTreeMap;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;

pub(crate) struct Reader<'a> {
    pub pipeline: &'a Pipeline,
    pub store: &'a Store,
    /// `None` while the pipeline is saved but not committed.
    pub target: Option<&'a dyn Target>,
}

impl<'a> Reader<'a> {
    pub(crate) async fn read(&self, filter: &p4::Entity) -> Outcome<Vec<p4::Entity>> {
        let found = match &filter.entity {
            Some(Kind::TableEntry(e)) => self.table_entries(e).await?,
            Some(Kind::ActionProfileMember(m)) => self.members(m)?,
            Some(Kind::ActionProfileGroup(g)) => self.selector_groups(g)?,
            Some(Kind::DirectCounterEntry(e)) => self.direct_counters(e).await?,
            Some(Kind::CounterEntry(e)) => self.counters(e).await?,
            Some(Kind::MeterEntry(e)) => self.meters(e)?,
            Some(Kind::DirectMeterEntry(e)) => self.direct_meters(e)?,
            Some(Kind::RegisterEntry(e)) => self.registers(e).await?,
            Some(Kind::DigestEntry(e)) => self.digests(e.digest_id)?,
            Some(Kind::ValueSetEntry(e)) => self.value_sets(e)?,
            Some(Kind::PacketReplicationEngineEntry(e)) => match &e.r#type {
                Some(Pre::MulticastGroupEntry(g)) => self.groups(g.multicast_group_id)?,
                Some(Pre::CloneSessionEntry(s)) => self.sessions(s.session_id)?,
                None => refuse!(invalid: "neither a multicast group nor a clone session"),
            },
            Some(Kind::ExternEntry(_)) => return Err(no_externs()),
            None => refuse!(invalid: "the entity is empty"),
        };
        Ok(found
            .into_iter()
            .map(|e| p4::Entity { entity: Some(e) })
            .collect())
    }

    /// Returns the table with this id, or all tables for 0.
    fn tables(&self, id: u32) -> Outcome<Vec<&'a Table>> {
        let selected = self.pipeline.tables.selected(id)?;
        Ok(selected.into_iter().map(|(_, t)| t).collect())
    }

    fn target(&self) -> Outcome<&'a dyn Target> {
        self.target.ok_or_else(|| {
            Failure::precondition("the pipeline is saved but not committed: nothing counts yet")
        })
    }
}

/// Returns the object with this id, or all objects for 0.
fn found<T: Clone>(all: &BTreeMap<u32, T>, id: u32, lacks: impl Fn() -> String) -> Outcome<Vec<T>> {
    if id == 0 {
        return Ok(all.values().cloned().collect());
    }
    let one = all.get(&id).cloned();
    Ok(vec![one.ok_or_else(|| Failure::not_found(lacks()))?])
}
