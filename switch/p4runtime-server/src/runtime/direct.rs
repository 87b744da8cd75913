// SPDX-License-Identifier: Apache-2.0
//! Counters and meters of entries, addressed by table and handle.

use super::arrays;
use super::codes::TableError;
use super::tables::table;
use super::types::{Rate, Runtime};
use crate::errors::Failure;
use crate::pipeline::Table;
use crate::target::{CounterValue, EntryId};
use crate::write::Writer;

type Result<T> = std::result::Result<T, TableError>;

impl Writer<'_> {
    fn one_or_all(&self, table: &Table, handle: Option<u32>) -> Result<Vec<EntryId>> {
        Ok(match handle {
            Some(h) => vec![self.entry_of(table, h)?],
            None => self.store.table(table.id)?.handles.entries().collect(),
        })
    }
}

impl Runtime {
    /// Reads the hits of an entry.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn read_direct_counter(&self, name: &str, handle: u32) -> Result<CounterValue> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if table.direct_counter.is_none() {
            return Err(TableError::CountersDisabled);
        }
        let id = w.entry_of(table, handle)?;
        let t = w.target.ok_or(TableError::Error)?;
        let value = t.read_direct_counter(&table.name, id).await;
        Ok(value.map_err(Failure::from)?)
    }

    /// Sets the hits of one entry; `None` sets those of all entries.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn write_direct_counter(
        &self,
        name: &str,
        handle: Option<u32>,
        value: CounterValue,
    ) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if table.direct_counter.is_none() {
            return Err(TableError::CountersDisabled);
        }
        let ids = w.one_or_all(table, handle)?;
        let t = w.target.ok_or(TableError::Error)?;
        for id in ids {
            let written = t.write_direct_counter(&table.name, id, value).await;
            written.map_err(Failure::from)?;
        }
        Ok(())
    }

    /// Configures the meter of one entry; `None` configures the meters of all.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn set_direct_meter(
        &self,
        name: &str,
        handle: Option<u32>,
        rates: &[Rate],
    ) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if table.direct_meter.is_none() {
            return Err(TableError::MetersDisabled);
        }
        let ids = w.one_or_all(table, handle)?;
        let (config, held) = arrays::meter_config(rates).map_err(|_| TableError::Error)?;
        for id in ids {
            w.set_direct_meter(table, id, Some(config)).await?;
            w.store.table_mut(table.id)?.set_meter(id, Some(held));
        }
        Ok(())
    }

    /// Reads the configuration of an entry's meter; empty if it has none.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn direct_meter(&self, name: &str, handle: u32) -> Result<Vec<Rate>> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(TableError::InvalidTableName)?;
        let table = table(w.pipeline, name)?;
        if table.direct_meter.is_none() {
            return Err(TableError::MetersDisabled);
        }
        let id = w.entry_of(table, handle)?;
        let entry = w.store.table(table.id)?.get(id);
        let held = entry.and_then(|e| e.meter);
        Ok(held.map(|c| arrays::rates(&c)).unwrap_or_default())
    }
}
