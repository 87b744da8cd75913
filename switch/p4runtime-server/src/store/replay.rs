// SPDX-License-Identifier: Apache-2.0
//! Writes that bring a fresh pipeline into the state of another.

use super::entry::Entry;
use super::state::Store;
use crate::errors::Outcome;
use crate::pipeline::{Pipeline, Table};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;
use tidemark_proto::p4::v1::update::Type;

impl Store {
    /// Returns the updates that bring `fresh`, a pipeline in its program's initial state, into
    /// this state: entries, default actions, members, groups, clone sessions, meters, digests
    /// and value sets. Counts of the data plane are not included.
    ///
    /// # Errors
    /// The entries compiled into `old`, the pipeline of this store, cannot be
    /// read.
    pub(crate) fn replay(&self, old: &Pipeline, fresh: &Self) -> Outcome<Vec<p4::Update>> {
        let compiled = Self::new(old)?;
        let mut out = Vec::new();
        for p in self.profiles.values() {
            let members = p.members.values().cloned();
            out.extend(members.map(|m| update(Type::Insert, Entity::ActionProfileMember(m))));
        }
        for p in self.profiles.values() {
            let groups = p.groups.values().cloned();
            out.extend(groups.map(|g| update(Type::Insert, Entity::ActionProfileGroup(g))));
        }
        for table in old.tables.values() {
            self.replay_table(table, &compiled, fresh, &mut out)?;
        }
        out.extend(self.meters.iter().map(|(&(meter_id, cell), config)| {
            let entry = p4::MeterEntry {
                meter_id,
                index: Some(p4::Index { index: cell as i64 }),
                config: Some(*config),
                counter_data: None,
            };
            update(Type::Modify, Entity::MeterEntry(entry))
        }));
        let pre = |e: Pre| {
            Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
                r#type: Some(e),
            })
        };
        let groups = self.groups.values().cloned();
        out.extend(groups.map(|g| update(Type::Insert, pre(Pre::MulticastGroupEntry(g)))));
        // Session 0 exists only in BMv2.
        let sessions = self
            .sessions
            .values()
            .filter(|s| s.session_id != 0)
            .cloned();
        out.extend(sessions.map(|s| update(Type::Insert, pre(Pre::CloneSessionEntry(s)))));
        out.extend(self.value_sets.iter().map(|(&value_set_id, members)| {
            let entry = p4::ValueSetEntry {
                value_set_id,
                members: members.clone(),
            };
            update(Type::Modify, Entity::ValueSetEntry(entry))
        }));
        out.extend(self.digests.iter().map(|(&digest_id, config)| {
            let entry = p4::DigestEntry {
                digest_id,
                config: Some(*config),
            };
            update(Type::Insert, Entity::DigestEntry(entry))
        }));
        Ok(out)
    }

    fn replay_table(
        &self,
        table: &Table,
        compiled: &Self,
        fresh: &Self,
        out: &mut Vec<p4::Update>,
    ) -> Outcome<()> {
        let state = self.table(table.id)?;
        let original = compiled.table(table.id)?;
        // A missing table is detected when its entries are written.
        let there = fresh.tables.get(&table.id);
        let exists =
            |e: &Entry| there.is_some_and(|t| t.id_of(&(e.matches.clone(), e.priority)).is_some());
        for (id, entry) in original.iter() {
            if state.get(id).is_none() && exists(entry) {
                out.push(update(
                    Type::Delete,
                    Entity::TableEntry(entry.to_proto(table)),
                ));
            }
        }
        for (id, entry) in state.iter() {
            if original.get(id) == Some(entry) {
                continue;
            }
            let kind = if exists(entry) {
                Type::Modify
            } else {
                Type::Insert
            };
            out.push(update(kind, Entity::TableEntry(entry.to_proto(table))));
        }
        if let Some((action, labels)) = &state.default {
            let entry = p4::TableEntry {
                table_id: table.id,
                is_default_action: true,
                action: Some(crate::actions::of_entry(action.clone())),
                metadata: labels.metadata.clone(),
                controller_metadata: labels.controller_metadata,
                ..Default::default()
            };
            out.push(update(Type::Modify, Entity::TableEntry(entry)));
        }
        Ok(())
    }
}

fn update(kind: Type, entity: Entity) -> p4::Update {
    p4::Update {
        r#type: kind as i32,
        entity: Some(p4::Entity {
            entity: Some(entity),
        }),
    }
}
