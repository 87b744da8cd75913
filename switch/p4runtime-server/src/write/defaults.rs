// SPDX-License-Identifier: Apache-2.0
//! Default entries.

use super::entries::{check_extras, labels};
use super::writer::Writer;
use crate::actions::{self, Place};
use crate::errors::{Failure, Outcome, refuse_at};
use crate::pipeline::Table;
use crate::store::Labels;
use crate::target::ActionCall;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::table_action::Type as ActionType;
use tidemark_proto::p4::v1::update::Type;

impl Writer<'_> {
    pub(super) async fn default_entry(&mut self, kind: Type, e: &p4::TableEntry) -> Outcome<()> {
        let pipeline = self.pipeline;
        let table = pipeline.tables.get(e.table_id)?;
        let at = |f: Failure| f.at(format!("default entry of table {}", table.name));
        if kind != Type::Modify {
            refuse_at!(at, invalid: "it always exists; only MODIFY applies");
        }
        if !e.r#match.is_empty() || e.priority != 0 {
            refuse_at!(at, invalid: "it takes no match fields and no priority");
        }
        if table.const_default {
            refuse_at!(at, denied: "the program makes it constant");
        }
        check_extras(table, e).map_err(at)?;
        if e.idle_timeout_ns != 0 {
            refuse_at!(at, invalid: "it has no idle timeout");
        }
        if e.counter_data.is_some() || e.meter_config.is_some() {
            refuse_at!(at, unsupported: "misses are neither counted nor metered");
        }
        let new = match e.action.as_ref().map(|a| a.r#type.as_ref()) {
            None => None,
            Some(Some(ActionType::Action(a))) => {
                let place = Place::Default;
                Some(actions::parse(pipeline, &table.actions, a, place).map_err(at)?)
            }
            Some(Some(_)) => refuse_at!(at, unsupported:
                "members and groups of action profiles are not supported here"
            ),
            Some(None) => refuse_at!(at, invalid: "the action is empty"),
        };
        self.set_default(table, new, labels(e)).await
    }

    /// Sets a checked default action; `None` restores the program's.
    pub(crate) async fn set_default(
        &mut self,
        table: &Table,
        new: Option<(ActionCall, p4::Action)>,
        labels: Labels,
    ) -> Outcome<()> {
        if let Some(t) = self.target {
            t.set_default_action(&table.name, new.as_ref().map(|(call, _)| call))
                .await?;
        }
        self.store.table_mut(table.id)?.default = new.map(|(_, action)| (action, labels));
        Ok(())
    }
}
