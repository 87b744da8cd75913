// SPDX-License-Identifier: Apache-2.0
//! A P4Info checked against its program and indexed by id.

use super::actions::{self, Action};
use super::arrays::{self, Array};
use super::checks::preamble;
use super::digests::{self, Digest};
use super::profiles::{self, Profile};
use super::tables::{self, Table};
use super::value_sets::{self, ValueSet};
use crate::device_config;
use crate::errors::{Failure, Outcome};
use crate::packetio::HeaderInfo;
use crate::program::Program;
use std::collections::{BTreeMap, HashMap, HashSet};
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::meter_spec;
use tidemark_proto::p4::v1 as p4;

pub(crate) struct Pipeline {
    pub config: p4::ForwardingPipelineConfig,
    pub tables: BTreeMap<u32, Table>,
    pub actions: BTreeMap<u32, Action>,
    pub profiles: BTreeMap<u32, Profile>,
    pub counters: BTreeMap<u32, Array>,
    pub registers: BTreeMap<u32, Array>,
    /// Indexed meters.
    pub meters: BTreeMap<u32, Array>,
    /// Of indexed and direct meters.
    pub meter_types: HashMap<u32, meter_spec::Type>,
    pub digests: BTreeMap<u32, Digest>,
    pub value_sets: BTreeMap<u32, ValueSet>,
    pub packet_in: HeaderInfo,
    pub packet_out: HeaderInfo,
    /// The parsed program, for the entries compiled into it.
    pub program: Program,
}

impl Pipeline {
    /// Indexes a P4Info and checks it against the program it came with.
    pub(crate) fn new(config: p4::ForwardingPipelineConfig) -> Outcome<Self> {
        let info = config
            .p4info
            .as_ref()
            .ok_or_else(|| Failure::invalid("the config has no P4Info"))?;
        if config.p4_device_config.is_empty() {
            return Err(Failure::invalid(
                "p4_device_config is empty; it must hold the BMv2 JSON made by p4c",
            ));
        }
        let program = Program::parse(&device_config::program(&config.p4_device_config))
            .map_err(|e| Failure::invalid(format!("p4_device_config is not BMv2 JSON: {e}")))?;
        check_ids(info)?;
        let actions = actions::index(info)?;
        let tables = tables::index(info, &program, &actions)?;
        let counters = arrays::index(
            info.counters.iter().map(|c| (&c.preamble, c.size, 0)),
            &program.counter_arrays,
            "counter",
        )?;
        let registers = arrays::index(
            info.registers
                .iter()
                .map(|r| (&r.preamble, i64::from(r.size), arrays::register_bits(r))),
            &program.register_arrays,
            "register",
        )?;
        let meters = arrays::index(
            info.meters.iter().map(|m| (&m.preamble, m.size, 0)),
            &program.meter_arrays,
            "meter",
        )?;
        let header = |name: &str| {
            info.controller_packet_metadata
                .iter()
                .find(|m| m.preamble.as_ref().is_some_and(|p| p.name == name))
                .map(HeaderInfo::new)
                .transpose()
                .map(Option::unwrap_or_default)
        };
        Ok(Self {
            packet_in: header("packet_in")?,
            packet_out: header("packet_out")?,
            profiles: profiles::index(info, &program, &tables)?,
            digests: digests::index(info, &program)?,
            value_sets: value_sets::index(info, &program)?,
            meter_types: meter_types(info),
            tables,
            actions,
            counters,
            registers,
            meters,
            program,
            config,
        })
    }

    pub(crate) fn table(&self, id: u32) -> Outcome<&Table> {
        find(&self.tables, "table", id)
    }

    pub(crate) fn profile(&self, id: u32) -> Outcome<&Profile> {
        find(&self.profiles, "action profile", id)
    }

    pub(crate) fn counter(&self, id: u32) -> Outcome<&Array> {
        find(&self.counters, "counter", id)
    }

    pub(crate) fn register(&self, id: u32) -> Outcome<&Array> {
        find(&self.registers, "register", id)
    }

    pub(crate) fn meter(&self, id: u32) -> Outcome<&Array> {
        find(&self.meters, "meter", id)
    }

    pub(crate) fn digest(&self, id: u32) -> Outcome<&Digest> {
        find(&self.digests, "digest", id)
    }

    pub(crate) fn value_set(&self, id: u32) -> Outcome<&ValueSet> {
        find(&self.value_sets, "value set", id)
    }

    /// What a client asked back.
    pub(crate) fn response(
        &self,
        what: p4::get_forwarding_pipeline_config_request::ResponseType,
    ) -> p4::ForwardingPipelineConfig {
        use p4::get_forwarding_pipeline_config_request::ResponseType as R;
        let mut out = p4::ForwardingPipelineConfig {
            cookie: self.config.cookie,
            ..Default::default()
        };
        if matches!(what, R::All | R::P4infoAndCookie) {
            out.p4info.clone_from(&self.config.p4info);
        }
        if matches!(what, R::All | R::DeviceConfigAndCookie) {
            out.p4_device_config
                .clone_from(&self.config.p4_device_config);
        }
        out
    }
}

fn find<'p, T>(all: &'p BTreeMap<u32, T>, what: &str, id: u32) -> Outcome<&'p T> {
    all.get(&id).ok_or_else(|| unknown(what, id, all.keys()))
}

fn unknown<'a>(what: &str, id: u32, known: impl Iterator<Item = &'a u32>) -> Failure {
    let known: Vec<_> = known.take(20).map(u32::to_string).collect();
    Failure::not_found(format!(
        "no {what} with id {id} in the P4Info; there are: {}",
        if known.is_empty() {
            "none".to_owned()
        } else {
            known.join(", ")
        }
    ))
}

fn check_ids(info: &p4info::P4Info) -> Outcome<()> {
    let preambles = (info.tables.iter().map(|x| &x.preamble))
        .chain(info.actions.iter().map(|x| &x.preamble))
        .chain(info.counters.iter().map(|x| &x.preamble))
        .chain(info.direct_counters.iter().map(|x| &x.preamble))
        .chain(info.registers.iter().map(|x| &x.preamble))
        .chain(info.meters.iter().map(|x| &x.preamble))
        .chain(info.direct_meters.iter().map(|x| &x.preamble))
        .chain(info.action_profiles.iter().map(|x| &x.preamble))
        .chain(info.digests.iter().map(|x| &x.preamble))
        .chain(info.value_sets.iter().map(|x| &x.preamble));
    let mut seen = HashSet::new();
    for p in preambles {
        let p = preamble(p)?;
        if !seen.insert(p.id) {
            return Err(Failure::invalid(format!(
                "P4Info: id {} of {} is used twice",
                p.id, p.name
            )));
        }
    }
    Ok(())
}

fn meter_types(info: &p4info::P4Info) -> HashMap<u32, meter_spec::Type> {
    let indexed = info.meters.iter().map(|m| (&m.preamble, &m.spec));
    let direct = info.direct_meters.iter().map(|m| (&m.preamble, &m.spec));
    indexed
        .chain(direct)
        .filter_map(|(p, spec)| {
            let kind = spec.as_ref().map(p4info::MeterSpec::r#type);
            Some((p.as_ref()?.id, kind.unwrap_or_default()))
        })
        .collect()
}

#[cfg(test)]
#[path = "../tests/pipeline.rs"]
mod tests;
