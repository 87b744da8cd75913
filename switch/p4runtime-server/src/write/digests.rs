// SPDX-License-Identifier: Apache-2.0
//! Configures which digests are sent to the controller, and how they are batched.

use super::writer::{Writer, check_presence};
use crate::errors::{Failure, Outcome, refuse_at};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::update::Type;

impl Writer<'_> {
    pub(super) fn digest(&mut self, kind: Type, e: &p4::DigestEntry) -> Outcome<()> {
        let digest = self.pipeline.digests.get(e.digest_id)?;
        let at = |f: Failure| f.at(format!("digest {}", digest.name));
        let present = self.store.digests.contains_key(&e.digest_id);
        check_presence(kind, present, || {
            format!("configuration of digest {}", digest.name)
        })?;
        if kind == Type::Delete {
            self.store.digests.remove(&e.digest_id);
            return Ok(());
        }
        digest.layout.clone()?;
        let config = e.config.unwrap_or_default();
        if config.max_timeout_ns < 0 || config.max_list_size < 0 || config.ack_timeout_ns < 0 {
            refuse_at!(at, invalid: "its configuration is negative");
        }
        self.store.digests.insert(e.digest_id, config);
        Ok(())
    }
}
