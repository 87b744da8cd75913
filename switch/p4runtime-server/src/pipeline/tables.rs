// SPDX-License-Identifier: Apache-2.0
//! Tables of a P4Info, checked against the program.

use super::actions::Action;
use super::checks::preamble;
use super::numbered::Numbered;
use super::values::{Types, Values};
use crate::bytestring;
use crate::errors::{Failure, Outcome, refuse};
use p4_ir::{MatchKind, Program};
use std::collections::{BTreeMap, HashSet};
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::action_ref::Scope;
use tidemark_proto::p4::config::v1::match_field::{Match, MatchType};
use tidemark_proto::p4::config::v1::table::IdleTimeoutBehavior;
use tidemark_proto::p4::v1 as p4;

pub(crate) struct Table {
    pub id: u32,
    pub name: String,
    pub keys: Vec<Key>,
    pub actions: Vec<(u32, Scope)>,
    pub const_default: bool,
    pub const_entries: bool,
    /// Most entries that it can hold.
    pub size: usize,
    /// Whether its entries may have idle timeouts.
    pub idle_timeouts: bool,
    /// Id of its direct counter.
    pub direct_counter: Option<u32>,
    /// Id of its direct meter.
    pub direct_meter: Option<u32>,
    /// Id of the action profile that provides its actions.
    pub profile: Option<u32>,
    /// The program's default action, if the P4Info names it.
    pub initial_default: Option<p4::Action>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    Exact,
    Lpm,
    Ternary,
    Range,
    Optional,
}

pub(crate) struct Key {
    pub id: u32,
    pub name: String,
    pub values: Values,
    pub kind: KeyKind,
}

impl Table {
    /// Returns whether entries can overlap, so that each needs a priority.
    pub(crate) fn needs_priority(&self) -> bool {
        self.keys
            .iter()
            .any(|k| !matches!(k.kind, KeyKind::Exact | KeyKind::Lpm))
    }
}

pub(super) fn index(
    info: &p4info::P4Info,
    program: &Program,
    actions: &mut BTreeMap<u32, Action>,
    types: &Types<'_>,
) -> Outcome<Numbered<Table>> {
    let mut out = Numbered::new("table");
    for t in &info.tables {
        let p = preamble(&t.preamble)?;
        if program.table(&p.name).is_none() && has_all_tables(info, program) {
            out.left_out(p);
            continue;
        }
        let mut table =
            index_table(info, t, p, types).map_err(|f| f.at(format!("table {}", p.name)))?;
        check_table(&mut table, program, actions).map_err(|f| {
            f.at(format!(
                "table {}: P4Info and program do not belong together",
                p.name
            ))
        })?;
        out.insert(p.id, table);
    }
    Ok(out)
}

/// Returns whether the P4Info has all of the program's tables with keys; p4c has then left out
/// any other table of the P4Info.
fn has_all_tables(info: &p4info::P4Info, program: &Program) -> bool {
    let names = info.tables.iter().filter_map(|t| t.preamble.as_ref());
    let names: HashSet<&str> = names.map(|p| p.name.as_str()).collect();
    let mut keyed = program.tables.iter().filter(|t| !t.keys.is_empty());
    keyed.all(|t| names.contains(t.name.as_str()))
}

/// A match field of a table or value set.
pub(super) fn key(m: &p4info::MatchField, types: &Types<'_>) -> Outcome<Key> {
    let kind = match &m.r#match {
        Some(Match::MatchType(k)) => match MatchType::try_from(*k) {
            Ok(MatchType::Exact) => KeyKind::Exact,
            Ok(MatchType::Lpm) => KeyKind::Lpm,
            Ok(MatchType::Ternary) => KeyKind::Ternary,
            Ok(MatchType::Range) => KeyKind::Range,
            Ok(MatchType::Optional) => KeyKind::Optional,
            _ => refuse!(invalid: "key {} has no match type", m.name),
        },
        other => refuse!(unsupported:
            "key {} has match type {other:?}, which is not supported",
            m.name
        ),
    };
    Ok(Key {
        id: m.id,
        name: m.name.clone(),
        values: types.values(m.bitwidth, m.type_name.as_ref(), format!("key {}", m.name))?,
        kind,
    })
}

fn index_table(
    info: &p4info::P4Info,
    t: &p4info::Table,
    p: &p4info::Preamble,
    types: &Types<'_>,
) -> Outcome<Table> {
    let keys = t
        .match_fields
        .iter()
        .map(|m| key(m, types))
        .collect::<Outcome<Vec<_>>>()?;
    let direct_counter = info
        .direct_counters
        .iter()
        .find(|c| c.direct_table_id == p.id)
        .and_then(|c| c.preamble.as_ref())
        .map(|c| c.id);
    let initial_default = t.initial_default_action.as_ref().map(|call| p4::Action {
        action_id: call.action_id,
        params: call
            .arguments
            .iter()
            .map(|a| p4::action::Param {
                param_id: a.param_id,
                value: bytestring::canonical(&a.value),
            })
            .collect(),
    });
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
        idle_timeouts: t.idle_timeout_behavior() == IdleTimeoutBehavior::NotifyControl,
        direct_counter,
        direct_meter: info
            .direct_meters
            .iter()
            .find(|m| m.direct_table_id == p.id)
            .and_then(|m| m.preamble.as_ref())
            .map(|m| m.id),
        profile: (t.implementation_id != 0).then_some(t.implementation_id),
        initial_default,
    })
}

/// Checks a table against the program, and takes the program's widths.
fn check_table(
    table: &mut Table,
    program: &Program,
    actions: &mut BTreeMap<u32, Action>,
) -> Outcome<()> {
    let in_program = program
        .table(&table.name)
        .ok_or_else(|| Failure::invalid("the program has no such table"))?;
    if in_program.keys.len() != table.keys.len() {
        refuse!(invalid:
            "{} keys in P4Info, {} in the program",
            table.keys.len(), in_program.keys.len()
        );
    }
    for (key, its_key) in table.keys.iter_mut().zip(&in_program.keys) {
        let kind = match key.kind {
            KeyKind::Exact => MatchKind::Exact,
            KeyKind::Lpm => MatchKind::Lpm,
            KeyKind::Ternary | KeyKind::Optional => MatchKind::Ternary,
            KeyKind::Range => MatchKind::Range,
        };
        let its_kind = its_key.kind;
        if its_kind != kind {
            refuse!(invalid:
                "key {} is {:?} in P4Info, {} in the program",
                key.name, key.kind, format!("{its_kind:?}").to_lowercase()
            );
        }
        let bits = its_key.field.width;
        let in_info = key.values.bits;
        if !key.values.set_program_bits(bits) {
            refuse!(invalid:
                "key {} has {in_info} bits in P4Info, {bits} in the program",
                key.name
            );
        }
    }
    for (id, _) in &table.actions {
        let action = actions.get_mut(id).ok_or_else(|| {
            Failure::invalid(format!("it refers to action {id}, which P4Info lacks"))
        })?;
        let ids = in_program.action_ids.iter();
        let mut its_actions = ids.filter_map(|id| program.actions.get(*id as usize));
        let its_action = its_actions.find(|a| a.name == action.name).ok_or_else(|| {
            Failure::invalid(format!("in the program it has no action {}", action.name))
        })?;
        let ours: Vec<u32> = action.params.iter().map(|p| p.values.bits).collect();
        let its: Vec<u32> = its_action.params.iter().map(|p| p.width).collect();
        let mut pairs = action.params.iter_mut().zip(&its);
        if ours.len() != its.len() || !pairs.all(|(p, w)| p.values.set_program_bits(*w)) {
            refuse!(invalid:
                "parameters of {} are {ours:?} bits wide in P4Info, {its:?} in the program",
                action.name
            );
        }
    }
    if table.idle_timeouts && !in_program.support_timeout {
        refuse!(invalid: "in the program it has no idle timeouts");
    }
    if table.direct_counter.is_some() && !in_program.with_counters {
        refuse!(invalid: "in the program it has no direct counter");
    }
    if table.direct_meter.is_some() && in_program.direct_meter.is_none() {
        refuse!(invalid: "in the program it has no direct meter");
    }
    if table.profile.is_some() != in_program.profile.is_some() {
        refuse!(invalid: "only one of them takes its actions from an action profile");
    }
    Ok(())
}
