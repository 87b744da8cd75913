// SPDX-License-Identifier: Apache-2.0
//! One update of a Write: checked, passed to the target, then stored.

use crate::errors::{Failure, Outcome, refuse};
use crate::pipeline::Pipeline;
use crate::store::Store;
use crate::target::Target;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

/// A pipeline and its written state. Without a target (saved, not yet committed), updates
/// are only checked and stored.
pub(crate) struct Writer<'a> {
    pub pipeline: &'a Pipeline,
    pub store: &'a mut Store,
    pub target: Option<&'a dyn Target>,
}

impl Writer<'_> {
    pub(crate) async fn apply(&mut self, update: &p4::Update) -> Outcome<()> {
        let kind = match Type::try_from(update.r#type) {
            Ok(Type::Unspecified) | Err(_) => refuse!(invalid: "the update has no type"),
            Ok(t) => t,
        };
        match update.entity.as_ref().and_then(|e| e.entity.as_ref()) {
            Some(Kind::TableEntry(e)) if e.is_default_action => self.default_entry(kind, e).await,
            Some(Kind::TableEntry(e)) => self.table_entry(kind, e).await,
            Some(Kind::ActionProfileMember(m)) => self.member(kind, m).await,
            Some(Kind::ActionProfileGroup(g)) => self.selector_group(kind, g).await,
            Some(Kind::DirectCounterEntry(e)) => self.direct_counter(kind, e).await,
            Some(Kind::CounterEntry(e)) => self.counter(kind, e).await,
            Some(Kind::MeterEntry(e)) => self.meter(kind, e).await,
            Some(Kind::DirectMeterEntry(e)) => self.direct_meter(kind, e).await,
            Some(Kind::RegisterEntry(e)) => self.register(kind, e).await,
            Some(Kind::DigestEntry(e)) => self.digest(kind, e),
            Some(Kind::ValueSetEntry(e)) => self.value_set(kind, e).await,
            Some(Kind::PacketReplicationEngineEntry(e)) => match &e.r#type {
                Some(Pre::MulticastGroupEntry(g)) => self.group(kind, g).await,
                Some(Pre::CloneSessionEntry(s)) => self.session(kind, s).await,
                None => Err(Failure::invalid(
                    "neither a multicast group nor a clone session",
                )),
            },
            Some(Kind::ExternEntry(_)) => Err(no_externs()),
            None => Err(Failure::invalid("the update has no entity")),
        }
    }
}

pub(crate) fn no_externs() -> Failure {
    Failure::unsupported("extern entries: not supported")
}

pub(super) fn only_modify(kind: Type, what: &str) -> Outcome<()> {
    if kind == Type::Modify {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "{what} always exists; only MODIFY applies"
    )))
}

pub(super) fn check_presence(kind: Type, present: bool, what: impl Fn() -> String) -> Outcome<()> {
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
