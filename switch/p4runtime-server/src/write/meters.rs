// SPDX-License-Identifier: Apache-2.0
//! Configurations of meters.

use super::arrays::cells;
use super::lookup::direct_entry;
use super::writer::{Writer, only_modify};
use crate::errors::{Failure, Outcome, refuse};
use crate::pipeline::{Pipeline, Table};
use crate::target::{EntryId, MeterConfig};
use tidemark_proto::p4::config::v1::meter_spec;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::update::Type;

impl Writer<'_> {
    pub(super) async fn meter(&mut self, kind: Type, e: &p4::MeterEntry) -> Outcome<()> {
        only_modify(kind, "a meter")?;
        let meter = self.pipeline.meters.get(e.meter_id)?;
        let at = |f: Failure| f.at(format!("meter {}", meter.name));
        no_colour_counters(e.counter_data.as_ref()).map_err(at)?;
        let cells = cells(meter, e.index.as_ref())?;
        let config = check(self.pipeline, e.meter_id, e.config.as_ref()).map_err(at)?;
        if let Some(t) = self.target {
            t.set_meter(&meter.name, cells.clone(), config).await?;
        }
        for cell in cells {
            match e.config {
                Some(c) => self.store.meters.insert((e.meter_id, cell), c),
                None => self.store.meters.remove(&(e.meter_id, cell)),
            };
        }
        Ok(())
    }

    pub(super) async fn direct_meter(
        &mut self,
        kind: Type,
        e: &p4::DirectMeterEntry,
    ) -> Outcome<()> {
        only_modify(kind, "a direct meter")?;
        no_colour_counters(e.counter_data.as_ref())?;
        let entry = e
            .table_entry
            .as_ref()
            .ok_or_else(|| Failure::invalid("the direct meter names no table entry"))?;
        let (table, id) = direct_entry(self.pipeline, self.store, entry, "meter")?;
        let config = checked(self.pipeline, table, e.config.as_ref())?;
        self.set_direct_meter(table, id, config).await?;
        self.store.table_mut(table.id)?.set_meter(id, e.config);
        Ok(())
    }

    pub(crate) async fn set_direct_meter(
        &self,
        table: &Table,
        id: EntryId,
        config: Option<MeterConfig>,
    ) -> Outcome<()> {
        if let Some(t) = self.target {
            t.set_direct_meter(&table.name, id, config).await?;
        }
        Ok(())
    }
}

/// Checks the configuration of an entry's direct meter.
pub(super) fn checked(
    pipeline: &Pipeline,
    table: &Table,
    config: Option<&p4::MeterConfig>,
) -> Outcome<Option<MeterConfig>> {
    match (table.direct_meter, config) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(Failure::invalid(
            "meter_config is set, but it has no direct meter",
        )),
        (Some(id), config) => check(pipeline, id, config),
    }
}

/// Refuses counters per colour, which are not supported.
pub(crate) fn no_colour_counters(data: Option<&p4::MeterCounterData>) -> Outcome<()> {
    match data {
        None => Ok(()),
        Some(_) => Err(Failure::unsupported(
            "counters per colour of a meter are not supported",
        )),
    }
}

fn check(
    pipeline: &Pipeline,
    id: u32,
    config: Option<&p4::MeterConfig>,
) -> Outcome<Option<MeterConfig>> {
    let Some(c) = config else { return Ok(None) };
    let number = |name: &str, v: i64| {
        u64::try_from(v).map_err(|_| Failure::invalid(format!("{name} is {v}")))
    };
    let out = MeterConfig {
        committed_rate: number("cir", c.cir)?,
        committed_burst: number("cburst", c.cburst)?,
        peak_rate: number("pir", c.pir)?,
        peak_burst: number("pburst", c.pburst)?,
    };
    let kind = pipeline.meter_types.get(&id).copied().unwrap_or_default();
    if c.eburst != 0 {
        return Err(match kind {
            meter_spec::Type::SingleRateThreeColor => Failure::unsupported(
                "eburst (single-rate three-colour marking) is not supported; use two rates",
            ),
            _ => Failure::invalid("eburst must not be set for a meter of this type"),
        });
    }
    if kind != meter_spec::Type::TwoRateThreeColor && (c.cir != c.pir || c.cburst != c.pburst) {
        refuse!(invalid: "a single-rate meter takes pir = cir and pburst = cburst");
    }
    if out.committed_rate > out.peak_rate {
        refuse!(invalid: "cir {} is above pir {}", c.cir, c.pir);
    }
    Ok(Some(out))
}
