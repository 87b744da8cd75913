// SPDX-License-Identifier: Apache-2.0
//! Multicast groups, clone sessions, digests and value sets.

use super::{Reader, found};
use crate::errors::{Failure, Outcome, refuse};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;

impl Reader<'_> {
    pub(super) fn groups(&self, id: u32) -> Outcome<Vec<Kind>> {
        let found = found(&self.store.groups, id, || {
            format!("no multicast group {id}")
        })?;
        let entry = |g| pre(Pre::MulticastGroupEntry(g));
        Ok(found.into_iter().map(entry).collect())
    }

    pub(super) fn sessions(&self, id: u32) -> Outcome<Vec<Kind>> {
        let found = found(&self.store.sessions, id, || {
            format!("no clone session {id}")
        })?;
        let entry = |s| pre(Pre::CloneSessionEntry(s));
        Ok(found.into_iter().map(entry).collect())
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
        let name = &self.pipeline.digests.get(id)?.name;
        match self.store.digests.get(&id) {
            Some(config) => Ok(vec![entry((&id, config))]),
            None => Err(Failure::not_found(format!(
                "digest {name} has no configuration"
            ))),
        }
    }

    pub(super) fn value_sets(&self, filter: &p4::ValueSetEntry) -> Outcome<Vec<Kind>> {
        if !filter.members.is_empty() {
            refuse!(invalid: "a value set is not selected by its members");
        }
        let entry = |(id, _)| {
            Kind::ValueSetEntry(p4::ValueSetEntry {
                value_set_id: id,
                members: self.store.value_sets.get(&id).cloned().unwrap_or_default(),
            })
        };
        let selected = self.pipeline.value_sets.selected(filter.value_set_id)?;
        Ok(selected.into_iter().map(entry).collect())
    }
}

fn pre(entry: Pre) -> Kind {
    Kind::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(entry),
    })
}
