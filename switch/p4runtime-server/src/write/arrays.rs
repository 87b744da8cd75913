// SPDX-License-Identifier: Apache-2.0
//! Counters and registers.

use super::lookup::direct_entry;
use super::writer::{Writer, only_modify};
use crate::bytestring;
use crate::errors::{Failure, Outcome, refuse, refuse_at};
use crate::pipeline::{Array, Table};
use crate::target::{CounterValue, EntryId};
use std::ops::Range;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::update::Type;

impl Writer<'_> {
    pub(super) async fn direct_counter(
        &mut self,
        kind: Type,
        e: &p4::DirectCounterEntry,
    ) -> Outcome<()> {
        only_modify(kind, "a direct counter")?;
        let entry = e
            .table_entry
            .as_ref()
            .ok_or_else(|| Failure::invalid("the direct counter names no table entry"))?;
        let (table, id) = direct_entry(self.pipeline, self.store, entry, "counter")?;
        if e.data.is_none() {
            refuse!(invalid: "the direct counter has no data");
        }
        self.set_counter(table, id, e.data.as_ref()).await
    }

    pub(crate) async fn set_counter(
        &self,
        table: &Table,
        id: EntryId,
        data: Option<&p4::CounterData>,
    ) -> Outcome<()> {
        if let (Some(data), Some(t)) = (data, self.target) {
            t.write_direct_counter(&table.name, id, counter_value(data)?)
                .await?;
        }
        Ok(())
    }

    pub(super) async fn counter(&mut self, kind: Type, e: &p4::CounterEntry) -> Outcome<()> {
        only_modify(kind, "a counter")?;
        let counter = self.pipeline.counters.get(e.counter_id)?;
        let cells = cells(counter, e.index.as_ref())?;
        let data = e
            .data
            .as_ref()
            .ok_or_else(|| Failure::invalid("the counter has no data"))?;
        let value = counter_value(data)?;
        if let Some(t) = self.target {
            t.write_counter(&counter.name, cells, value).await?;
        }
        Ok(())
    }

    pub(super) async fn register(&mut self, kind: Type, e: &p4::RegisterEntry) -> Outcome<()> {
        only_modify(kind, "a register")?;
        let register = self.pipeline.registers.get(e.register_id)?;
        let cells = cells(register, e.index.as_ref())?;
        let at = |f: Failure| f.at(format!("register {}", register.name));
        let value = match e.data.as_ref().and_then(|d| d.data.as_ref()) {
            Some(p4::p4_data::Data::Bitstring(v)) if register.bits > 0 => {
                bytestring::parse(v, register.bits).map_err(at)?
            }
            Some(_) => refuse_at!(at, invalid:
                "only registers of bit<W> with a bitstring value are supported"
            ),
            None => refuse_at!(at, invalid: "it has no data"),
        };
        if let Some(t) = self.target {
            t.write_register(&register.name, cells, &value).await?;
        }
        Ok(())
    }
}

/// Returns the cells that an index selects; all if the index is unset.
pub(crate) fn cells(array: &Array, index: Option<&p4::Index>) -> Outcome<Range<usize>> {
    match index {
        None => Ok(0..array.size),
        Some(i) => usize::try_from(i.index)
            .ok()
            .filter(|i| *i < array.size)
            .map(|i| i..i + 1)
            .ok_or_else(|| {
                Failure::out_of_range(format!(
                    "{}: index {} is not in 0..{}",
                    array.name, i.index, array.size
                ))
            }),
    }
}

pub(super) fn counter_value(data: &p4::CounterData) -> Outcome<CounterValue> {
    match (
        u64::try_from(data.packet_count),
        u64::try_from(data.byte_count),
    ) {
        (Ok(packets), Ok(bytes)) => Ok(CounterValue { packets, bytes }),
        _ => Err(Failure::invalid("a counter cannot be negative")),
    }
}
