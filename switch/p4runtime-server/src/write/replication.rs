// SPDX-License-Identifier: Apache-2.0
//! Multicast groups and clone sessions.

use super::writer::{Writer, check_presence};
use crate::errors::Outcome;
use crate::replication;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::update::Type;

impl Writer<'_> {
    pub(super) async fn group(&mut self, kind: Type, g: &p4::MulticastGroupEntry) -> Outcome<()> {
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

    pub(super) async fn session(&mut self, kind: Type, s: &p4::CloneSessionEntry) -> Outcome<()> {
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
