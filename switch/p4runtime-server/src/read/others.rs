// SPDX-License-Identifier: Apache-2.0
//! Multicast groups, clone sessions, digests, value sets.

use super::Reader;
use crate::errors::{Failure, Outcome};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;

impl Reader<'_> {
    pub(super) fn groups(&self, id: u32) -> Outcome<Vec<Kind>> {
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

    pub(super) fn sessions(&self, id: u32) -> Outcome<Vec<Kind>> {
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

    pub(super) fn digests(&self, id: u32) -> Outcome<Vec<Kind>> {
        let entry = |(&digest_id, config): (&u32, &p4::digest_entry::Config)| {
            Kind::DigestEntry(p4::DigestEntry {
                digest_id,
                config: Some(*config),
            })
        };
        if id == 0 {
            return Ok(self.store.digests.iter().map(entry).collect());
        }
        let name = &self.pipeline.digest(id)?.name;
        match self.store.digests.get(&id) {
            Some(config) => Ok(vec![entry((&id, config))]),
            None => Err(Failure::not_found(format!(
                "digest {name} has no configuration"
            ))),
        }
    }

    pub(super) fn value_sets(&self, filter: &p4::ValueSetEntry) -> Outcome<Vec<Kind>> {
        if !filter.members.is_empty() {
            return Err(Failure::invalid(
                "a value set is not selected by its members",
            ));
        }
        let id = filter.value_set_id;
        if id != 0 {
            self.pipeline.value_set(id)?;
        }
        Ok(self
            .pipeline
            .value_sets
            .keys()
            .filter(|k| id == 0 || **k == id)
            .map(|k| {
                Kind::ValueSetEntry(p4::ValueSetEntry {
                    value_set_id: *k,
                    members: self.store.value_sets.get(k).cloned().unwrap_or_default(),
                })
            })
            .collect())
    }
}

fn pre(entry: Pre) -> Kind {
    Kind::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(entry),
    })
}
