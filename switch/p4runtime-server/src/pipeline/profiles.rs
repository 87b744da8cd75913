// SPDX-License-Identifier: Apache-2.0
//! Action profiles and selectors of a P4Info, checked against the program.

use super::checks::preamble;
use super::numbered::Numbered;
use super::tables::Table;
use crate::errors::{Failure, Outcome, refuse};
use p4_ir::Program;
use std::collections::BTreeMap;
use std::ops::Deref as _;
use tidemark_proto::p4::config::v1 as p4info;
use tidemark_proto::p4::config::v1::action_profile::SelectorSizeSemantics;
use tidemark_proto::p4::config::v1::action_ref::Scope;

/// Most members of a group, counted with their weights, if the program sets no limit.
pub(crate) const MAX_GROUP_SIZE: u32 = 65_536;

pub(crate) struct Profile {
    pub id: u32,
    pub name: String,
    /// Whether the profile supports groups.
    pub with_selector: bool,
    /// Most members that it can hold.
    pub size: usize,
    /// Group size limit of the P4Info; 0 means unlimited.
    pub max_group_size: u32,
    pub weights_disallowed: bool,
    /// Set if the size of a group is its number of members; the value limits the weight of
    /// each, 0 means unlimited.
    pub sum_of_members: Option<u32>,
    /// Actions of its tables.
    pub actions: Vec<(u32, Scope)>,
    pub tables: Vec<u32>,
}

pub(super) fn index(
    info: &p4info::P4Info,
    program: &Program,
    tables: &BTreeMap<u32, Table>,
) -> Outcome<Numbered<Profile>> {
    let mut out = Numbered::new("action profile");
    for a in &info.action_profiles {
        let p = preamble(&a.preamble)?;
        // A profile that no remaining table uses.
        if a.table_ids.is_empty() && program.profiles.iter().all(|x| x.name != p.name) {
            out.left_out(p);
            continue;
        }
        let profile = profile(a, p, program, tables).map_err(|f| {
            f.at(format!(
                "action profile {}: P4Info and program do not belong together",
                p.name
            ))
        })?;
        out.insert(p.id, profile);
    }
    for t in tables.values() {
        if let Some(id) = t.profile
            && out
                .deref()
                .get(&id)
                .is_none_or(|p| !p.tables.contains(&t.id))
        {
            refuse!(invalid:
                "P4Info: table {} takes its actions from action profile {id}, which does not list it",
                t.name
            );
        }
    }
    Ok(out)
}

fn profile(
    a: &p4info::ActionProfile,
    p: &p4info::Preamble,
    program: &Program,
    tables: &BTreeMap<u32, Table>,
) -> Outcome<Profile> {
    let in_program = program.profiles.iter().find(|x| x.name == p.name);
    let in_program =
        in_program.ok_or_else(|| Failure::invalid("the program has no such action profile"))?;
    if in_program.selector.is_some() != a.with_selector {
        refuse!(invalid: "only one of them has a selector");
    }
    let mut actions: Option<&Vec<(u32, Scope)>> = None;
    for id in &a.table_ids {
        let table = tables.get(id).filter(|t| t.profile == Some(p.id));
        let table =
            table.ok_or_else(|| Failure::invalid(format!("table {id} does not refer to it")))?;
        let its_profile = program
            .table(&table.name)
            .and_then(|t| program.profiles.get(t.profile? as usize))
            .map(|x| x.name.as_str());
        if its_profile != Some(p.name.as_str()) {
            refuse!(invalid:
                "in the program, table {} takes its actions from {}",
                table.name, its_profile.unwrap_or("its entries")
            );
        }
        let ids = |list: &[(u32, Scope)]| -> Vec<u32> { list.iter().map(|(id, _)| *id).collect() };
        if actions.is_some_and(|a| ids(a) != ids(&table.actions)) {
            refuse!(invalid: "table {} has other actions than the tables before it", table.name);
        }
        actions = Some(&table.actions);
    }
    Ok(Profile {
        id: p.id,
        name: p.name.clone(),
        with_selector: a.with_selector,
        size: usize::try_from(a.size).unwrap_or(0),
        max_group_size: u32::try_from(a.max_group_size).unwrap_or(0),
        weights_disallowed: a.weights_disallowed,
        sum_of_members: match &a.selector_size_semantics {
            Some(SelectorSizeSemantics::SumOfMembers(s)) => {
                Some(u32::try_from(s.max_member_weight).unwrap_or(0))
            }
            _ => None,
        },
        actions: actions.cloned().unwrap_or_default(),
        tables: a.table_ids.clone(),
    })
}
