// SPDX-License-Identifier: Apache-2.0
//! A P4Info checked against its program and indexed by id.

use super::actions::{self, Action};
use super::arrays::{self, Array, indexed};
use super::checks::preamble;
use super::digests::{self, Digest};
use super::numbered::Numbered;
use super::profiles::{self, Profile};
use super::tables::{self, Table};
use super::unnamed;
use super::value_sets::{self, ValueSet};
use super::values::Types;
use crate::device_config;
use crate::errors::{Failure, Outcome, refuse};
use crate::packetio::HeaderInfo;
use p4_ir::Program;
use std::collections::{BTreeMap, HashMap, HashSet};
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::meter_spec;
use tidemark_proto::p4::v1 as p4;

pub(crate) struct Pipeline {
    pub config: p4::ForwardingPipelineConfig,
    pub tables: Numbered<Table>,
    pub actions: BTreeMap<u32, Action>,
    pub profiles: Numbered<Profile>,
    pub counters: Numbered<Array>,
    pub registers: Numbered<Array>,
    /// Indexed meters.
    pub meters: Numbered<Array>,
    /// Types of indexed and direct meters.
    pub meter_types: HashMap<u32, meter_spec::Type>,
    pub digests: Numbered<Digest>,
    pub value_sets: Numbered<ValueSet>,
    pub packet_in: HeaderInfo,
    pub packet_out: HeaderInfo,
    /// The program, kept for the entries compiled into it.
    pub program: Program,
}

impl Pipeline {
    /// Indexes a P4Info and checks it against its program.
    pub(crate) fn new(config: p4::ForwardingPipelineConfig) -> Outcome<Self> {
        let none = p4info::P4Info::default();
        // As in BMv2's server: the program runs, but there is nothing to write to.
        let info = config.p4info.as_ref().unwrap_or(&none);
        if config.p4_device_config.is_empty() {
            refuse!(invalid: "p4_device_config is empty; it must hold the BMv2 JSON made by p4c");
        }
        let program = p4_ir::load(&device_config::program(&config.p4_device_config))
            .map_err(|e| Failure::invalid(format!("p4_device_config: {e}")))?;
        check_ids(info)?;
        let mut objects = Objects::new(info, &program)?;
        objects.add_unnamed(info, &program);
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
            profiles: objects.profiles,
            digests: digests::index(info, &program)?,
            value_sets: objects.value_sets,
            meter_types: meter_types(info),
            tables: objects.tables,
            actions: objects.actions,
            counters: objects.counters,
            registers: objects.registers,
            meters: objects.meters,
            program,
            config,
        })
    }

    /// Returns the parts of the configuration that a client asked for.
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

/// Objects with an id, a name, and entries or cells.
struct Objects {
    tables: Numbered<Table>,
    actions: BTreeMap<u32, Action>,
    profiles: Numbered<Profile>,
    counters: Numbered<Array>,
    registers: Numbered<Array>,
    meters: Numbered<Array>,
    value_sets: Numbered<ValueSet>,
}

impl Objects {
    fn new(info: &p4info::P4Info, program: &Program) -> Outcome<Self> {
        Self::index(info, program, BTreeMap::new())
    }

    /// `actions`: actions known already.
    fn index(
        info: &p4info::P4Info,
        program: &Program,
        mut actions: BTreeMap<u32, Action>,
    ) -> Outcome<Self> {
        let types = Types::new(info);
        actions.extend(actions::index(info, &types)?);
        let tables = tables::index(info, program, &mut actions, &types)?;
        let counters = arrays::index(
            info.counters.iter().map(|c| (&c.preamble, c.size, 0)),
            indexed(&program.counters, |c| (c.table, &c.name, c.size, 0)),
            "counter",
        )?;
        let registers = arrays::index(
            info.registers
                .iter()
                .map(|r| (&r.preamble, i64::from(r.size), arrays::register_bits(r))),
            indexed(&program.registers, |r| (None, &r.name, r.size, r.width)),
            "register",
        )?;
        let meters = arrays::index(
            info.meters.iter().map(|m| (&m.preamble, m.size, 0)),
            indexed(&program.meters, |m| (m.table, &m.name, m.size, 0)),
            "meter",
        )?;
        Ok(Self {
            profiles: profiles::index(info, program, &tables)?,
            value_sets: value_sets::index(info, program, &types)?,
            tables,
            actions,
            counters,
            registers,
            meters,
        })
    }

    /// Adds the program's objects that `info` does not name.
    fn add_unnamed(&mut self, info: &p4info::P4Info, program: &Program) {
        let rest = unnamed::objects(info, program);
        let actions = std::mem::take(&mut self.actions);
        let names = actions.clone();
        let more = match Self::index(&rest, program, actions) {
            Ok(more) => more,
            Err(why) => {
                tracing::warn!("objects missing from the P4Info cannot be reached by name: {why}");
                self.actions = names;
                return;
            }
        };
        self.tables.extend(more.tables);
        self.actions = more.actions;
        self.profiles.extend(more.profiles);
        self.counters.extend(more.counters);
        self.registers.extend(more.registers);
        self.meters.extend(more.meters);
        self.value_sets.extend(more.value_sets);
    }
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
            refuse!(invalid: "P4Info: id {} of {} is used twice", p.id, p.name);
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
