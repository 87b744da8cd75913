// SPDX-License-Identifier: Apache-2.0
//! Indexed counters, meters and registers.

use super::Reader;
use crate::bytestring;
use crate::errors::{Failure, Outcome};
use crate::pipeline::Array;
use crate::target::CounterValue;
use crate::write::{cells, no_colour_counters};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity as Kind;

impl Reader<'_> {
    pub(super) async fn counters(&self, filter: &p4::CounterEntry) -> Outcome<Vec<Kind>> {
        let mut out = Vec::new();
        for (id, counter) in arrays(
            &self.pipeline.counters,
            filter.counter_id,
            filter.index.as_ref(),
            self.pipeline.counter(filter.counter_id),
        )? {
            let cells = cells(counter, filter.index.as_ref())?;
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
        for (id, register) in arrays(
            &self.pipeline.registers,
            filter.register_id,
            filter.index.as_ref(),
            self.pipeline.register(filter.register_id),
        )? {
            let cells = cells(register, filter.index.as_ref())?;
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
        for (id, meter) in arrays(
            &self.pipeline.meters,
            filter.meter_id,
            filter.index.as_ref(),
            self.pipeline.meter(filter.meter_id),
        )? {
            out.extend(cells(meter, filter.index.as_ref())?.map(|i| {
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

fn arrays<'p>(
    all: &'p std::collections::BTreeMap<u32, Array>,
    id: u32,
    index: Option<&p4::Index>,
    one: Outcome<&'p Array>,
) -> Outcome<Vec<(u32, &'p Array)>> {
    match (id, index) {
        (0, Some(_)) => Err(Failure::invalid("an index selects nothing without an id")),
        (0, None) => Ok(all.iter().map(|(&id, a)| (id, a)).collect()),
        _ => Ok(vec![(id, one?)]),
    }
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
