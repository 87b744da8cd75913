// SPDX-License-Identifier: Apache-2.0
//! Indexed counters, meters and registers.

use super::Reader;
use crate::bytestring;
use crate::errors::{Outcome, refuse};
use crate::pipeline::{Array, Numbered};
use crate::target::CounterValue;
use crate::write::{cells, no_colour_counters};
use std::ops::Range;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;

impl Reader<'_> {
    pub(super) async fn counters(&self, filter: &p4::CounterEntry) -> Outcome<Vec<Kind>> {
        let mut out = Vec::new();
        let arrays = arrays(
            &self.pipeline.counters,
            filter.counter_id,
            filter.index.as_ref(),
        )?;
        for (id, counter, cells) in arrays {
            let values = self
                .target()?
                .read_counter(&counter.name, cells.clone())
                .await?;
            out.extend(cells.zip(values).map(|(i, v)| {
                Kind::CounterEntry(p4::CounterEntry {
                    counter_id: id,
                    index: index(i),
                    data: Some(counter_data(v)),
                })
            }));
        }
        Ok(out)
    }

    pub(super) async fn registers(&self, filter: &p4::RegisterEntry) -> Outcome<Vec<Kind>> {
        let mut out = Vec::new();
        let arrays = arrays(
            &self.pipeline.registers,
            filter.register_id,
            filter.index.as_ref(),
        )?;
        for (id, register, cells) in arrays {
            let values = self
                .target()?
                .read_register(&register.name, cells.clone())
                .await?;
            out.extend(cells.zip(values).map(|(i, v)| {
                Kind::RegisterEntry(p4::RegisterEntry {
                    register_id: id,
                    index: index(i),
                    data: Some(p4::P4Data {
                        data: Some(p4::p4_data::Data::Bitstring(bytestring::canonical(&v))),
                    }),
                })
            }));
        }
        Ok(out)
    }

    pub(super) fn meters(&self, filter: &p4::MeterEntry) -> Outcome<Vec<Kind>> {
        no_colour_counters(filter.counter_data.as_ref())?;
        let mut out = Vec::new();
        let arrays = arrays(
            &self.pipeline.meters,
            filter.meter_id,
            filter.index.as_ref(),
        )?;
        for (id, _, cells) in arrays {
            out.extend(cells.map(|i| {
                Kind::MeterEntry(p4::MeterEntry {
                    meter_id: id,
                    index: index(i),
                    config: self.store.meters.get(&(id, i)).copied(),
                    counter_data: None,
                })
            }));
        }
        Ok(out)
    }
}

/// Returns the arrays that a filter selects, and the range of their cells.
fn arrays<'p>(
    all: &'p Numbered<Array>,
    id: u32,
    index: Option<&p4::Index>,
) -> Outcome<Vec<(u32, &'p Array, Range<usize>)>> {
    if id == 0 && index.is_some() {
        refuse!(invalid: "an index selects nothing without an id");
    }
    let arrays = all.selected(id)?.into_iter();
    arrays
        .map(|(id, a)| Ok((id, a, cells(a, index)?)))
        .collect()
}

pub(super) fn counter_data(value: CounterValue) -> p4::CounterData {
    let held = |v: u64| i64::try_from(v).unwrap_or(i64::MAX);
    p4::CounterData {
        byte_count: held(value.bytes),
        packet_count: held(value.packets),
    }
}

fn index(i: usize) -> Option<p4::Index> {
    Some(p4::Index {
        index: i64::try_from(i).unwrap_or(i64::MAX),
    })
}
