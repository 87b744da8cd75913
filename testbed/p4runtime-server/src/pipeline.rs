// SPDX-License-Identifier: Apache-2.0
//! A P4Info checked against its program and indexed by id.

use crate::bytestring;
use crate::errors::{Failure, Outcome};
use crate::packetio::HeaderInfo;
use crate::program::{self, Program};
use bytes::Bytes;
use std::collections::{BTreeMap, HashSet};
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::action_ref::Scope;
use tidemark_proto::p4::config::v1::match_field::{Match, MatchType};
use tidemark_proto::p4::config::v1::p4_bitstring_like_type_spec::TypeSpec as BitSpec;
use tidemark_proto::p4::config::v1::p4_data_type_spec::TypeSpec;
use tidemark_proto::p4::v1 as p4;

pub struct Pipeline {
    pub config: p4::ForwardingPipelineConfig,
    pub tables: BTreeMap<u32, Table>,
    pub actions: BTreeMap<u32, Action>,
    pub counters: BTreeMap<u32, Array>,
    pub registers: BTreeMap<u32, Array>,
    pub packet_in: HeaderInfo,
    pub packet_out: HeaderInfo,
    /// The parsed program, for the entries compiled into it.
    pub program: Program,
}

pub struct Table {
    pub id: u32,
    pub name: String,
    pub keys: Vec<Key>,
    pub actions: Vec<(u32, Scope)>,
    pub const_default: bool,
    pub const_entries: bool,
    /// Entries it can hold.
    pub size: usize,
    /// Id of its direct counter.
    pub direct_counter: Option<u32>,
    /// Actions come from an action profile, which is not supported.
    pub indirect: bool,
    /// The default action of the program, if P4Info names it.
    pub initial_default: Option<p4::Action>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

pub struct Key {
    pub id: u32,
    pub name: String,
    pub bits: u32,
    pub kind: KeyKind,
}

pub struct Action {
    pub id: u32,
    pub name: String,
    pub params: Vec<Param>,
}

pub struct Param {
    pub id: u32,
    pub name: String,
    pub bits: u32,
}

/// An indexed counter or register.
pub struct Array {
    pub name: String,
    pub size: usize,
    /// Width of a cell; 0 for counters.
    pub bits: u32,
}

impl Table {
    /// Overlapping entries are possible, so each needs a priority.
    pub fn needs_priority(&self) -> bool {
        self.keys
            .iter()
            .any(|k| !matches!(k.kind, KeyKind::Exact | KeyKind::Lpm))
    }
}

impl Pipeline {
    /// Indexes a P4Info and checks it against the program it came with.
    pub fn new(config: p4::ForwardingPipelineConfig) -> Outcome<Self> {
        let info = config
            .p4info
            .as_ref()
            .ok_or_else(|| Failure::invalid("the config has no P4Info"))?;
        if config.p4_device_config.is_empty() {
            return Err(Failure::invalid(
                "p4_device_config is empty; it must hold the BMv2 JSON made by p4c",
            ));
        }
        let program = Program::parse(&config.p4_device_config)
            .map_err(|e| Failure::invalid(format!("p4_device_config is not BMv2 JSON: {e}")))?;
        check_ids(info)?;
        let actions = index_actions(info)?;
        let tables = index_tables(info, &program, &actions)?;
        let counters = index_arrays(
            info.counters.iter().map(|c| (&c.preamble, c.size, 0)),
            &program.counter_arrays,
            "counter",
        )?;
        let registers = index_arrays(
            info.registers
                .iter()
                .map(|r| (&r.preamble, i64::from(r.size), register_bits(r))),
            &program.register_arrays,
            "register",
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
            tables,
            actions,
            counters,
            registers,
            program,
            config,
        })
    }

    pub fn device_config(&self) -> Bytes {
        Bytes::copy_from_slice(&self.config.p4_device_config)
    }

    pub fn table(&self, id: u32) -> Outcome<&Table> {
        self.tables
            .get(&id)
            .ok_or_else(|| unknown("table", id, self.tables.keys()))
    }

    pub fn counter(&self, id: u32) -> Outcome<&Array> {
        self.counters
            .get(&id)
            .ok_or_else(|| unknown("counter", id, self.counters.keys()))
    }

    pub fn register(&self, id: u32) -> Outcome<&Array> {
        self.registers
            .get(&id)
            .ok_or_else(|| unknown("register", id, self.registers.keys()))
    }

    /// What a client asked back.
    pub fn response(
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

fn preamble(p: &Option<p4info::Preamble>) -> Outcome<&p4info::Preamble> {
    match p {
        Some(p) if p.id != 0 && !p.name.is_empty() => Ok(p),
        _ => Err(Failure::invalid("P4Info: an object without id or name")),
    }
}

fn check_ids(info: &p4info::P4Info) -> Outcome<()> {
    let preambles = (info.tables.iter().map(|x| &x.preamble))
        .chain(info.actions.iter().map(|x| &x.preamble))
        .chain(info.counters.iter().map(|x| &x.preamble))
        .chain(info.direct_counters.iter().map(|x| &x.preamble))
        .chain(info.registers.iter().map(|x| &x.preamble));
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

fn width(bits: i32, of: impl std::fmt::Display) -> Outcome<u32> {
    match u32::try_from(bits) {
        Ok(bits) if bits > 0 => Ok(bits),
        _ => Err(Failure::unsupported(format!(
            "P4Info: {of} has no bit width; translated string types are not supported"
        ))),
    }
}

fn index_actions(info: &p4info::P4Info) -> Outcome<BTreeMap<u32, Action>> {
    let mut out = BTreeMap::new();
    for a in &info.actions {
        let p = preamble(&a.preamble)?;
        let params = a
            .params
            .iter()
            .map(|x| {
                Ok(Param {
                    id: x.id,
                    name: x.name.clone(),
                    bits: width(x.bitwidth, format!("{} of {}", x.name, p.name))?,
                })
            })
            .collect::<Outcome<_>>()?;
        out.insert(
            p.id,
            Action {
                id: p.id,
                name: p.name.clone(),
                params,
            },
        );
    }
    Ok(out)
}

fn index_tables(
    info: &p4info::P4Info,
    program: &Program,
    actions: &BTreeMap<u32, Action>,
) -> Outcome<BTreeMap<u32, Table>> {
    let mut out = BTreeMap::new();
    for t in &info.tables {
        let p = preamble(&t.preamble)?;
        let table = index_table(info, t, p).map_err(|f| f.at(format!("table {}", p.name)))?;
        check_table(&table, program, actions).map_err(|f| {
            f.at(format!(
                "table {}: P4Info and program do not belong together",
                p.name
            ))
        })?;
        out.insert(p.id, table);
    }
    Ok(out)
}

fn index_table(info: &p4info::P4Info, t: &p4info::Table, p: &p4info::Preamble) -> Outcome<Table> {
    let keys = t
        .match_fields
        .iter()
        .map(|m| {
            let kind = match &m.r#match {
                Some(Match::MatchType(k)) => match MatchType::try_from(*k) {
                    Ok(MatchType::Exact) => KeyKind::Exact,
                    Ok(MatchType::Lpm) => KeyKind::Lpm,
                    Ok(MatchType::Ternary) => KeyKind::Ternary,
                    Ok(MatchType::Range) => KeyKind::Range,
                    Ok(MatchType::Optional) => KeyKind::Optional,
                    _ => {
                        return Err(Failure::invalid(format!(
                            "key {} has no match type",
                            m.name
                        )));
                    }
                },
                other => {
                    return Err(Failure::unsupported(format!(
                        "key {} has match type {other:?}, which is not supported",
                        m.name
                    )));
                }
            };
            Ok(Key {
                id: m.id,
                name: m.name.clone(),
                bits: width(m.bitwidth, format!("key {}", m.name))?,
                kind,
            })
        })
        .collect::<Outcome<Vec<_>>>()?;
    let direct_counter = info
        .direct_counters
        .iter()
        .find(|c| c.direct_table_id == p.id)
        .and_then(|c| c.preamble.as_ref())
        .map(|c| c.id);
    let initial_default = match &t.initial_default_action {
        Some(call) => Some(p4::Action {
            action_id: call.action_id,
            params: call
                .arguments
                .iter()
                .map(|a| p4::action::Param {
                    param_id: a.param_id,
                    value: bytestring::canonical(&a.value),
                })
                .collect(),
        }),
        None if t.const_default_action_id != 0 => Some(p4::Action {
            action_id: t.const_default_action_id,
            params: Vec::new(),
        }),
        None => None,
    };
    Ok(Table {
        id: p.id,
        name: p.name.clone(),
        keys,
        actions: t
            .action_refs
            .iter()
            .map(|r| (r.id, Scope::try_from(r.scope).unwrap_or_default()))
            .collect(),
        const_default: t.const_default_action_id != 0,
        const_entries: t.is_const_table,
        size: usize::try_from(t.size).unwrap_or(0),
        direct_counter,
        indirect: t.implementation_id != 0,
        initial_default,
    })
}

fn check_table(table: &Table, program: &Program, actions: &BTreeMap<u32, Action>) -> Outcome<()> {
    let json = program
        .table(&table.name)
        .ok_or_else(|| Failure::invalid("the program has no such table"))?;
    if json.key.len() != table.keys.len() {
        return Err(Failure::invalid(format!(
            "{} keys in P4Info, {} in the program",
            table.keys.len(),
            json.key.len()
        )));
    }
    for (key, in_json) in table.keys.iter().zip(&json.key) {
        let kinds: &[&str] = match key.kind {
            KeyKind::Exact => &["exact", "valid"],
            KeyKind::Lpm => &["lpm"],
            KeyKind::Ternary => &["ternary"],
            KeyKind::Range => &["range"],
            KeyKind::Optional => &["ternary", "optional"],
        };
        if !kinds.contains(&in_json.match_type.as_str()) {
            return Err(Failure::invalid(format!(
                "key {} is {:?} in P4Info, {} in the program",
                key.name, key.kind, in_json.match_type
            )));
        }
        if let Some(bits) = program.key_bits(in_json)
            && bits != key.bits
        {
            return Err(Failure::invalid(format!(
                "key {} has {} bits in P4Info, {bits} in the program",
                key.name, key.bits
            )));
        }
    }
    for (id, _) in &table.actions {
        let action = actions.get(id).ok_or_else(|| {
            Failure::invalid(format!("it refers to action {id}, which P4Info lacks"))
        })?;
        let in_json = program.action_of(json, &action.name).ok_or_else(|| {
            Failure::invalid(format!("in the program it has no action {}", action.name))
        })?;
        let widths = |a: &program::Action| -> Vec<u32> {
            a.runtime_data.iter().map(|d| d.bitwidth).collect()
        };
        let ours: Vec<u32> = action.params.iter().map(|p| p.bits).collect();
        if ours != widths(in_json) {
            return Err(Failure::invalid(format!(
                "parameters of {} are {ours:?} bits wide in P4Info, {:?} in the program",
                action.name,
                widths(in_json)
            )));
        }
    }
    if table.direct_counter.is_some() && !json.with_counters {
        return Err(Failure::invalid("in the program it has no direct counter"));
    }
    Ok(())
}

fn register_bits(r: &p4info::Register) -> u32 {
    let Some(TypeSpec::Bitstring(b)) = r.type_spec.as_ref().and_then(|t| t.type_spec.as_ref())
    else {
        return 0;
    };
    let bits = match &b.type_spec {
        Some(BitSpec::Bit(b)) => b.bitwidth,
        Some(BitSpec::Int(i)) => i.bitwidth,
        _ => 0,
    };
    u32::try_from(bits).unwrap_or(0)
}

fn index_arrays<'a>(
    arrays: impl Iterator<Item = (&'a Option<p4info::Preamble>, i64, u32)>,
    in_program: &[program::Array],
    what: &str,
) -> Outcome<BTreeMap<u32, Array>> {
    let in_program = program::by_name(in_program);
    let mut out = BTreeMap::new();
    for (p, size, bits) in arrays {
        let p = preamble(p)?;
        let json = in_program
            .get(p.name.as_str())
            .filter(|a| !a.is_direct)
            .ok_or_else(|| {
                Failure::invalid(format!(
                    "{what} {}: P4Info and program do not belong together: the program has no such {what}",
                    p.name
                ))
            })?;
        let size_of_program = json.size.unwrap_or(0);
        let bits_differ = json.bitwidth.is_some_and(|b| bits != 0 && b != bits);
        if u64::try_from(size).ok() != Some(size_of_program) || bits_differ {
            return Err(Failure::invalid(format!(
                "{what} {}: P4Info and program do not belong together: {size} cells of {bits} bits \
                 in P4Info, {size_of_program} of {} in the program",
                p.name,
                json.bitwidth.unwrap_or(0)
            )));
        }
        out.insert(
            p.id,
            Array {
                name: p.name.clone(),
                size: usize::try_from(size).unwrap_or(0),
                bits,
            },
        );
    }
    Ok(out)
}

#[cfg(test)]
#[path = "tests/pipeline.rs"]
mod tests;
