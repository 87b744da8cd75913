// SPDX-License-Identifier: Apache-2.0
//! Table entries and default entries.

use super::Reader;
use super::arrays::counter_data;
use crate::actions::of_entry;
use crate::errors::{Outcome, refuse};
use crate::matchfields;
use crate::pipeline::Table;
use crate::store::{Entry, Labels, compiled};
use crate::target::EntryId;
use crate::write::no_colour_counters;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;
use tidemark_proto::p4::v1::table_action::Type as ActionType;

impl<'a> Reader<'a> {
    pub(super) async fn table_entries(&self, filter: &p4::TableEntry) -> Outcome<Vec<Kind>> {
        if filter.table_id == 0 && (!filter.r#match.is_empty() || filter.action.is_some()) {
            refuse!(invalid: "match and action select nothing without a table id");
        }
        no_colour_counters(filter.meter_counter_data.as_ref())?;
        let mut out = Vec::new();
        for table in self.tables(filter.table_id)? {
            if filter.is_default_action {
                out.extend(self.default_entry(table, filter)?.map(Kind::TableEntry));
                continue;
            }
            for (id, entry) in self.selected(table, filter)? {
                let mut e = p4::TableEntry {
                    meter_config: filter.meter_config.and(entry.meter),
                    is_const: table.const_entries && id.is_compiled(),
                    ..entry.to_proto(table)
                };
                if filter.counter_data.is_some() && table.direct_counter.is_some() {
                    let value = self.target()?.read_direct_counter(&table.name, id).await?;
                    e.counter_data = Some(counter_data(value));
                }
                if filter.time_since_last_hit.is_some() && table.idle_timeouts {
                    e.time_since_last_hit = self.idle_time(table, id).await?;
                }
                out.push(Kind::TableEntry(e));
            }
        }
        Ok(out)
    }

    async fn idle_time(
        &self,
        table: &Table,
        id: EntryId,
    ) -> Outcome<Option<p4::table_entry::IdleTimeout>> {
        let found = self.target()?.idle_ns(&table.name, &[id]).await?;
        let elapsed = found.first().copied().flatten();
        Ok(elapsed.map(|ns| p4::table_entry::IdleTimeout {
            elapsed_ns: i64::try_from(ns).unwrap_or(i64::MAX),
        }))
    }

    /// Returns the entries that pass every field set in the filter.
    pub(super) fn selected(
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
            Some(ActionType::ActionProfileActionSet(_)) => refuse!(unsupported:
                "selecting entries by their action sets is not supported"
            ),
            Some(a) => Some(a),
        };
        Ok(state
            .iter()
            .filter(|(_, e)| matches.as_ref().is_none_or(|m| *m == e.matches))
            .filter(|(_, e)| filter.priority == 0 || filter.priority == e.priority)
            .filter(|(_, e)| action.is_none_or(|a| same_action(a, &e.action)))
            .filter(|(_, e)| passes(&e.labels, filter))
            .collect())
    }

    fn default_entry(
        &self,
        table: &Table,
        filter: &p4::TableEntry,
    ) -> Outcome<Option<p4::TableEntry>> {
        if !filter.r#match.is_empty() || filter.priority != 0 {
            refuse!(invalid:
                "default entry of table {}: it takes no match fields and no priority",
                table.name
            );
        }
        let (action, labels) = match &self.store.table(table.id)?.default {
            Some((action, labels)) => (Some(action.clone()), labels.clone()),
            None => (
                compiled::default_action(self.pipeline, table),
                Labels::default(),
            ),
        };
        Ok(passes(&labels, filter).then(|| p4::TableEntry {
            table_id: table.id,
            action: action.map(of_entry),
            is_default_action: true,
            is_const: table.const_default,
            metadata: labels.metadata,
            controller_metadata: labels.controller_metadata,
            ..Default::default()
        }))
    }
}

/// Compares actions; a plain action matches by its id alone.
fn same_action(filter: &ActionType, held: &p4::TableAction) -> bool {
    match (filter, &held.r#type) {
        (ActionType::Action(a), Some(ActionType::Action(b))) => a.action_id == b.action_id,
        (a, Some(b)) => a == b,
        (_, None) => false,
    }
}

fn passes(labels: &Labels, filter: &p4::TableEntry) -> bool {
    (filter.metadata.is_empty() || filter.metadata == labels.metadata)
        && (filter.controller_metadata == 0
            || filter.controller_metadata == labels.controller_metadata)
}
