// SPDX-License-Identifier: Apache-2.0
//! Direct counters and meters.

use super::Reader;
use super::arrays::counter_data;
use crate::errors::{Outcome, refuse};
use crate::pipeline::Table;
use crate::store::Entry;
use crate::target::EntryId;
use crate::write::{direct_entry, direct_resource, no_colour_counters};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;

impl<'a> Reader<'a> {
    pub(super) async fn direct_counters(
        &self,
        filter: &p4::DirectCounterEntry,
    ) -> Outcome<Vec<Kind>> {
        let mut out = Vec::new();
        for (table, id, entry) in self.direct(filter.table_entry.as_ref(), "counter")? {
            let value = self.target()?.read_direct_counter(&table.name, id).await?;
            out.push(Kind::DirectCounterEntry(p4::DirectCounterEntry {
                table_entry: Some(entry.key(table)),
                data: Some(counter_data(value)),
            }));
        }
        Ok(out)
    }

    pub(super) fn direct_meters(&self, filter: &p4::DirectMeterEntry) -> Outcome<Vec<Kind>> {
        no_colour_counters(filter.counter_data.as_ref())?;
        let entries = self.direct(filter.table_entry.as_ref(), "meter")?;
        let meter = |(table, _, entry): (&Table, EntryId, &Entry)| {
            Kind::DirectMeterEntry(p4::DirectMeterEntry {
                table_entry: Some(entry.key(table)),
                config: entry.meter,
                counter_data: None,
            })
        };
        Ok(entries.into_iter().map(meter).collect())
    }

    /// Returns the entries with a direct counter or meter (`what`) that pass the filter.
    fn direct(
        &self,
        filter: Option<&p4::TableEntry>,
        what: &str,
    ) -> Outcome<Vec<(&'a Table, EntryId, &'a Entry)>> {
        let any = p4::TableEntry::default();
        let of = filter.unwrap_or(&any);
        if !of.r#match.is_empty() || of.is_default_action {
            let (table, id) = direct_entry(self.pipeline, self.store, of, what)?;
            let entry = self.store.table(table.id)?.get(id);
            return Ok(entry.map(|e| (table, id, e)).into_iter().collect());
        }
        let mut out = Vec::new();
        for table in self.tables(of.table_id)? {
            if direct_resource(table, what).is_some() {
                let entries = self.selected(table, of)?.into_iter();
                out.extend(entries.map(|(id, e)| (table, id, e)));
            } else if of.table_id != 0 {
                refuse!(invalid: "table {} has no direct {what}", table.name);
            }
        }
        Ok(out)
    }
}
