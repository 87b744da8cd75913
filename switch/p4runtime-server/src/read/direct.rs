// SPDX-License-Identifier: Apache-2.0
//! Direct counters and meters.

use super::Reader;
use super::arrays::counter_data;
use crate::errors::{Failure, Outcome};
use crate::matchfields;
use crate::pipeline::Table;
use crate::store::Entry;
use crate::target::EntryId;
use crate::write::{direct_entry, no_colour_counters};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;

impl Reader<'_> {
    pub(super) async fn direct_counters(
        &self,
        filter: &p4::DirectCounterEntry,
    ) -> Outcome<Vec<Kind>> {
        let any = p4::TableEntry::default();
        let of = filter.table_entry.as_ref().unwrap_or(&any);
        let one_entry = !of.r#match.is_empty() || of.is_default_action;
        if one_entry {
            let (table, id) = direct_entry(self.pipeline, self.store, of, "counter")?;
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
            table_entry: entry.map(|e| key_of(table, e)),
            data: Some(counter_data(value)),
        }))
    }

    pub(super) fn direct_meters(&self, filter: &p4::DirectMeterEntry) -> Outcome<Vec<Kind>> {
        no_colour_counters(filter.counter_data.as_ref())?;
        let any = p4::TableEntry::default();
        let of = filter.table_entry.as_ref().unwrap_or(&any);
        let meter = |table: &Table, entry: &Entry| {
            Kind::DirectMeterEntry(p4::DirectMeterEntry {
                table_entry: Some(key_of(table, entry)),
                config: entry.meter,
                counter_data: None,
            })
        };
        if !of.r#match.is_empty() || of.is_default_action {
            let (table, id) = direct_entry(self.pipeline, self.store, of, "meter")?;
            let entry = self.store.table(table.id)?.get(id);
            return Ok(entry.map(|e| meter(table, e)).into_iter().collect());
        }
        let mut out = Vec::new();
        for table in self.tables(of.table_id)? {
            if table.direct_meter.is_some() {
                let entries = self.selected(table, of)?;
                out.extend(entries.into_iter().map(|(_, e)| meter(table, e)));
            } else if of.table_id != 0 {
                return Err(Failure::invalid(format!(
                    "table {} has no direct meter",
                    table.name
                )));
            }
        }
        Ok(out)
    }
}

/// What names an entry.
fn key_of(table: &Table, entry: &Entry) -> p4::TableEntry {
    p4::TableEntry {
        table_id: table.id,
        r#match: matchfields::to_proto(table, &entry.matches),
        priority: entry.priority,
        ..Default::default()
    }
}
