// SPDX-License-Identifier: Apache-2.0
//! Counters, registers, meters and value sets, by name and cell.

use super::codes::{ArrayError, MeterError};
use super::types::{Rate, Runtime};
use crate::bytestring::{bytes_for, prefix_mask};
use crate::errors::{Failure, Outcome};
use crate::pipeline::{Array, Numbered, ValueSet};
use crate::target::{CounterValue, MeterConfig};
use crate::write::Writer;
use std::ops::Range;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::field_match::{Exact, FieldMatchType};
use tidemark_proto::p4::v1::update::Type;

type Result<T, E = ArrayError> = std::result::Result<T, E>;

/// Converts a meter's two rates, of which the smaller comes first.
pub(super) fn meter_config(rates: &[Rate]) -> Result<(MeterConfig, p4::MeterConfig), MeterError> {
    let [low, high] = rates else {
        return Err(MeterError::BadRatesList);
    };
    let fits = |r: &Rate| (0.0..9e12).contains(&r.units_per_us);
    if !fits(low) || !fits(high) || low.units_per_us > high.units_per_us {
        return Err(MeterError::InvalidRate);
    }
    let per_second = |r: &Rate| (r.units_per_us * 1e6).round() as i64;
    let held = p4::MeterConfig {
        cir: per_second(low),
        cburst: i64::from(low.burst),
        pir: per_second(high),
        pburst: i64::from(high.burst),
        ..Default::default()
    };
    let config = MeterConfig {
        committed_rate: held.cir.unsigned_abs(),
        committed_burst: u64::from(low.burst),
        peak_rate: held.pir.unsigned_abs(),
        peak_burst: u64::from(high.burst),
    };
    Ok((config, held))
}

pub(super) fn rates(c: &p4::MeterConfig) -> Vec<Rate> {
    let rate = |per_second: i64, burst: i64| Rate {
        units_per_us: per_second as f64 / 1e6,
        burst: u32::try_from(burst).unwrap_or(u32::MAX),
    };
    vec![rate(c.cir, c.cburst), rate(c.pir, c.pburst)]
}

fn array<'p>(all: &'p Numbered<Array>, name: &str) -> Option<(u32, &'p Array)> {
    let mut all = all.iter();
    all.find(|(_, a)| a.name == name).map(|(&id, a)| (id, a))
}

fn cells(array: &Array, index: Option<u32>) -> Option<Range<usize>> {
    match index.map(|i| i as usize) {
        None => Some(0..array.size),
        Some(i) if i < array.size => Some(i..i + 1),
        Some(_) => None,
    }
}

fn number(cell: &[u8]) -> i64 {
    cell.iter().fold(0, |n, b| n << 8 | i64::from(*b))
}

fn value_set<'p>(w: &Writer<'p>, name: &str) -> Result<(u32, &'p ValueSet)> {
    let mut all = w.pipeline.value_sets.iter();
    let found = all.find(|(_, v)| v.name == name);
    found.map(|(&id, v)| (id, v)).ok_or(ArrayError::InvalidName)
}

impl Writer<'_> {
    pub(super) async fn reset_arrays(&mut self) -> Outcome<()> {
        let Some(t) = self.target else { return Ok(()) };
        for c in self.pipeline.counters.values() {
            t.write_counter(&c.name, 0..c.size, CounterValue::default())
                .await?;
        }
        for r in self.pipeline.registers.values() {
            let zero = vec![0; bytes_for(r.bits.max(1))];
            t.write_register(&r.name, 0..r.size, &zero).await?;
        }
        for m in self.pipeline.meters.values() {
            t.set_meter(&m.name, 0..m.size, None).await?;
        }
        self.store.meters.clear();
        Ok(())
    }
}

impl Runtime {
    /// Reads one cell of a counter.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn read_counter(&self, name: &str, index: u32) -> Result<CounterValue> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(ArrayError::InvalidName)?;
        let (_, counter) = array(&w.pipeline.counters, name).ok_or(ArrayError::InvalidName)?;
        let cells = cells(counter, Some(index)).ok_or(ArrayError::InvalidIndex)?;
        let t = w.target.ok_or(ArrayError::Error)?;
        let read = t.read_counter(&counter.name, cells).await;
        let read = read.map_err(Failure::from)?;
        read.first().copied().ok_or(ArrayError::InvalidIndex)
    }

    /// Sets one cell of a counter; `None` sets all.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn write_counter(
        &self,
        name: &str,
        index: Option<u32>,
        value: CounterValue,
    ) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(ArrayError::InvalidName)?;
        let (_, counter) = array(&w.pipeline.counters, name).ok_or(ArrayError::InvalidName)?;
        let cells = cells(counter, index).ok_or(ArrayError::InvalidIndex)?;
        let t = w.target.ok_or(ArrayError::Error)?;
        let written = t.write_counter(&counter.name, cells, value).await;
        Ok(written.map_err(Failure::from)?)
    }

    /// Finds the counter, meter, register or action profile with this full name, or the only
    /// one whose name ends with `.name`.
    pub async fn array_named(&self, name: &str) -> Option<String> {
        let device = self.shared.device.read().await;
        let program = &device.pipeline()?.program;
        let counters = program.counters.iter().map(|c| &c.name);
        let meters = program.meters.iter().map(|m| &m.name);
        let registers = program.registers.iter().map(|r| &r.name);
        let profiles = program.profiles.iter().map(|p| &p.name);
        let all: Vec<&String> = (counters.chain(meters))
            .chain(registers.chain(profiles))
            .collect();
        if let Some(found) = all.iter().find(|n| **n == name) {
            return Some((*found).clone());
        }
        let end = format!(".{name}");
        let mut found = all.iter().filter(|n| n.ends_with(&end));
        match (found.next(), found.next()) {
            (one, None) => one.map(|n| (*n).clone()),
            _ => None,
        }
    }

    /// Returns the table whose direct counter or meter has this name.
    pub async fn table_of(&self, array: &str) -> Option<String> {
        let device = self.shared.device.read().await;
        let program = &device.pipeline()?.program;
        let counter = program.counters.iter().find(|c| c.name == array);
        let meter = program.meters.iter().find(|m| m.name == array);
        let table = counter
            .and_then(|c| c.table)
            .or(meter.and_then(|m| m.table))?;
        program.tables.get(table as usize).map(|t| t.name.clone())
    }

    /// Reads the lowest 64 bits of one cell of a register; `None` reads all cells.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn read_register(&self, name: &str, index: Option<u32>) -> Result<Vec<i64>> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(ArrayError::InvalidName)?;
        let (_, register) = array(&w.pipeline.registers, name).ok_or(ArrayError::InvalidName)?;
        let cells = cells(register, index).ok_or(ArrayError::InvalidIndex)?;
        let t = w.target.ok_or(ArrayError::Error)?;
        let read = t.read_register(&register.name, cells).await;
        let read = read.map_err(Failure::from)?;
        Ok(read.iter().map(|cell| number(cell)).collect())
    }

    /// Sets the cells `from..to` of a register, or all without a range; bits beyond a cell's
    /// width are dropped.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn write_register(
        &self,
        name: &str,
        range: Option<Range<u32>>,
        value: i64,
    ) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(ArrayError::InvalidName)?;
        let (_, register) = array(&w.pipeline.registers, name).ok_or(ArrayError::InvalidName)?;
        let cells = match range {
            None => 0..register.size,
            Some(r) if r.start <= r.end && r.end as usize <= register.size => {
                r.start as usize..r.end as usize
            }
            Some(_) => return Err(ArrayError::InvalidIndex),
        };
        let in_program = w.pipeline.program.registers.iter();
        let mut in_program = in_program.filter(|r| r.name == register.name);
        let bits = in_program.next().map_or(register.bits, |r| r.width);
        let bytes = bytes_for(bits);
        // A negative number has ones above its 64 bits, however wide the cell is.
        let above = if value < 0 { 0xff } else { 0 };
        let mut cell = vec![above; bytes.saturating_sub(8)];
        cell.extend(
            value
                .to_be_bytes()
                .iter()
                .skip(8usize.saturating_sub(bytes)),
        );
        let mask = prefix_mask(bits, bits);
        cell.iter_mut().zip(mask).for_each(|(v, m)| *v &= m);
        let t = w.target.ok_or(ArrayError::Error)?;
        let written = t.write_register(&register.name, cells, &cell).await;
        Ok(written.map_err(Failure::from)?)
    }

    /// Configures one cell of a meter; `None` configures all.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn set_meter(
        &self,
        name: &str,
        index: Option<u32>,
        rates: &[Rate],
    ) -> Result<(), MeterError> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(MeterError::InvalidName)?;
        let (id, meter) = array(&w.pipeline.meters, name).ok_or(MeterError::InvalidName)?;
        let cells = cells(meter, index).ok_or(MeterError::InvalidIndex)?;
        let (config, held) = meter_config(rates)?;
        let t = w.target.ok_or(MeterError::Error)?;
        let set = t.set_meter(&meter.name, cells.clone(), Some(config)).await;
        set.map_err(Failure::from)?;
        for cell in cells {
            w.store.meters.insert((id, cell), held);
        }
        Ok(())
    }

    /// Reads the configuration of one cell of a meter; empty if the cell has none.
    ///
    /// # Errors
    /// BMv2's code for the failure.
    pub async fn meter(&self, name: &str, index: u32) -> Result<Vec<Rate>, MeterError> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(MeterError::InvalidName)?;
        let (id, meter) = array(&w.pipeline.meters, name).ok_or(MeterError::InvalidName)?;
        cells(meter, Some(index)).ok_or(MeterError::InvalidIndex)?;
        let held = w.store.meters.get(&(id, index as usize));
        Ok(held.map(rates).unwrap_or_default())
    }

    /// Reads the values of a parser value set, with each field in whole bytes.
    ///
    /// # Errors
    /// `InvalidName`.
    pub async fn value_set(&self, name: &str) -> Result<Vec<Vec<u8>>> {
        let mut device = self.shared.device.write().await;
        let w = device.writer().ok_or(ArrayError::InvalidName)?;
        let (id, set) = value_set(&w, name)?;
        let members = w.store.value_sets.get(&id).map(Vec::as_slice);
        Ok(members
            .unwrap_or_default()
            .iter()
            .map(|m| joined(set, m))
            .collect())
    }

    /// Adds a value to a set or removes it; `None` empties the set.
    ///
    /// # Errors
    /// `InvalidName`; `Error` for a value that is too long or does not fit.
    pub async fn change_value_set(
        &self,
        name: &str,
        value: Option<&[u8]>,
        add: bool,
    ) -> Result<()> {
        let mut device = self.shared.device.write().await;
        let mut w = device.writer().ok_or(ArrayError::InvalidName)?;
        let (id, set) = value_set(&w, name)?;
        let mut members = w.store.value_sets.get(&id).cloned().unwrap_or_default();
        match value {
            None => members.clear(),
            Some(v) => {
                let new = split(set, v).ok_or(ArrayError::Error)?;
                let whole = joined(set, &new);
                members.retain(|m| joined(set, m) != whole);
                if add {
                    members.push(new);
                }
            }
        }
        let entry = p4::ValueSetEntry {
            value_set_id: id,
            members,
        };
        Ok(w.apply_new(Type::Modify, Entity::ValueSetEntry(entry))
            .await?)
    }
}

/// Splits a value whose fields take whole bytes.
fn split(set: &ValueSet, value: &[u8]) -> Option<p4::ValueSetMember> {
    let mut rest = value;
    let mut fields = Vec::new();
    for key in &set.keys {
        let (field, after) = rest.split_at_checked(bytes_for(key.values.bits))?;
        rest = after;
        fields.push(p4::FieldMatch {
            field_id: key.id,
            field_match_type: Some(FieldMatchType::Exact(Exact {
                value: field.to_vec(),
            })),
        });
    }
    rest.is_empty()
        .then_some(p4::ValueSetMember { r#match: fields })
}

fn joined(set: &ValueSet, member: &p4::ValueSetMember) -> Vec<u8> {
    let mut out = Vec::new();
    for key in &set.keys {
        let mut fields = member.r#match.iter();
        let field = fields.find(|f| f.field_id == key.id);
        if let Some(FieldMatchType::Exact(e)) = field.and_then(|f| f.field_match_type.as_ref()) {
            out.extend(key.values.parse(&e.value).unwrap_or_default());
        }
    }
    out
}
