// SPDX-License-Identifier: Apache-2.0
//! Entries, default actions and members in the form of the engine.

use p4runtime_server::target::{
    ActionCall, EntryAction, EntryId, KeyMatch, MatchValue, TableEntry, TargetError,
    TargetErrorKind as Kind, WeightedMember,
};

use super::convert::{Result, entry_id, not_found, table_error};
use p4_ir::bits::words_from_bytes;
use p4_ir::{Program, Table};
use p4_vm::Choice;
use p4_vm::Engine;
use p4_vm::{TableError, TableState};

fn convert_match(k: &KeyMatch) -> p4_ir::MatchValue {
    let words = |b: &[u8]| words_from_bytes(b, k.bits);
    match &k.value {
        MatchValue::Exact(v) => p4_ir::MatchValue::Exact(words(v)),
        MatchValue::Lpm { value, prefix_bits } => p4_ir::MatchValue::Lpm {
            value: words(value),
            prefix_bits: *prefix_bits,
        },
        MatchValue::Ternary { value, mask } => p4_ir::MatchValue::Ternary {
            value: words(value),
            mask: words(mask),
        },
        MatchValue::Range { low, high } => p4_ir::MatchValue::Range {
            low: words(low),
            high: words(high),
        },
    }
}

/// Finds the action of this name among the table's own actions.
pub(super) fn convert_action(
    p: &Program,
    t: &Table,
    call: &ActionCall,
) -> Result<p4_ir::ActionCall> {
    let found = t.action_ids.iter().find_map(|id| {
        let a = p.actions.get(*id as usize)?;
        (a.name == call.name).then_some((*id, a))
    });
    let Some((action, a)) = found else {
        return Err(TargetError::new(
            Kind::NotFound,
            format!(
                "table {} has no action {} in the running program",
                t.name, call.name
            ),
        ));
    };
    if a.params.len() != call.params.len() {
        return Err(TargetError::new(
            Kind::InvalidArgument,
            format!(
                "action {} takes {} parameters, got {}",
                a.name,
                a.params.len(),
                call.params.len()
            ),
        ));
    }
    let args = a
        .params
        .iter()
        .zip(&call.params)
        .flat_map(|(p, v)| words_from_bytes(v, p.width))
        .collect();
    Ok(p4_ir::ActionCall { action, args })
}

/// Converts an entry's action to a call and, for a table with an action profile, the choice that
/// replaces the call.
fn convert_entry_action(
    p: &Program,
    t: &Table,
    action: &EntryAction,
) -> Result<(p4_ir::ActionCall, Option<Choice>)> {
    let choice = match action {
        EntryAction::Call(call) => return Ok((convert_action(p, t, call)?, None)),
        EntryAction::Member(id) => Choice::Member(*id),
        EntryAction::Group(id) => Choice::Group(*id),
    };
    if t.profile.is_none() {
        return Err(TargetError::new(
            Kind::InvalidArgument,
            format!(
                "table {} has no action profile in the running program",
                t.name
            ),
        ));
    }
    // Never executed.
    let call = p4_ir::ActionCall {
        action: t.action_ids.first().copied().unwrap_or(0),
        args: Vec::new(),
    };
    Ok((call, Some(choice)))
}

/// Adds an entry with P4Runtime's priority: larger wins.
pub fn insert(e: &mut Engine, table: &str, id: EntryId, entry: &TableEntry) -> Result<()> {
    let (call, choice) = {
        let t = find_table(e, table)?;
        convert_entry_action(&e.image.program, t, &entry.action)?
    };
    let (t, state) = table_of(e, table)?;
    if t.keys.len() != entry.matches.len() {
        return Err(table_error(TableError::BadKey, table));
    }
    let matches: Vec<_> = entry.matches.iter().map(convert_match).collect();
    // BMv2's order, which compiled entries use, is the other way round.
    let rank = i64::from(i32::MAX) - i64::from(entry.priority);
    state
        .insert(t, entry_id(id), &matches, rank, call, true)
        .map_err(|x| table_error(x, table))?;
    if let Some(entry) = state.entry_mut(entry_id(id)) {
        entry.choice = choice;
    }
    Ok(())
}
/// Replaces the action of an entry.
///
/// # Errors
/// The program has no such table, entry or action.
pub fn modify(e: &mut Engine, table: &str, id: EntryId, action: &EntryAction) -> Result<()> {
    let (call, choice) = convert_entry_action(&e.image.program, find_table(e, table)?, action)?;
    let (t, state) = table_of(e, table)?;
    state
        .modify(t, entry_id(id), call)
        .map_err(|x| table_error(x, table))?;
    if let Some(entry) = state.entry_mut(entry_id(id)) {
        entry.choice = choice;
    }
    Ok(())
}

/// Returns a table and its state.
pub(super) fn table_of<'e>(
    e: &'e mut Engine,
    table: &str,
) -> Result<(&'e Table, &'e mut TableState)> {
    e.table_mut(table).ok_or_else(|| not_found("table", table))
}

fn find_table<'e>(e: &'e Engine, table: &str) -> Result<&'e Table> {
    let found = e.image.program.table(table);
    found.ok_or_else(|| not_found("table", table))
}
/// Sets the action taken on a miss; `None` restores the program's own.
///
/// # Errors
/// The program has no such table or action.
pub fn set_default(e: &mut Engine, table: &str, action: Option<&ActionCall>) -> Result<()> {
    let call = {
        let t = find_table(e, table)?;
        match action {
            Some(a) => Some(convert_action(&e.image.program, t, a)?),
            None => t.default.clone(),
        }
    };
    let (t, state) = table_of(e, table)?;
    state.set_default(t, call);
    Ok(())
}
/// Creates or replaces a member of an action profile; `None` removes it.
///
/// # Errors
/// The program has no such profile or action.
pub fn set_member(
    e: &mut Engine,
    profile: &str,
    id: u64,
    action: Option<&ActionCall>,
) -> Result<()> {
    let (p, state) = e
        .profile_mut(profile)
        .ok_or_else(|| not_found("action profile", profile))?;
    let Some(call) = action else {
        state.remove_member(id);
        return Ok(());
    };
    let Some(found) = p.actions.iter().position(|a| a.name == call.name) else {
        return Err(TargetError::new(
            Kind::NotFound,
            format!("action profile {profile} has no action {}", call.name),
        ));
    };
    let widths = p.actions.get(found).map_or(&[][..], |a| &a.widths);
    if widths.len() != call.params.len() {
        return Err(TargetError::new(
            Kind::InvalidArgument,
            format!("action {} takes {} parameters", call.name, widths.len()),
        ));
    }
    let args = widths
        .iter()
        .zip(&call.params)
        .flat_map(|(width, v)| words_from_bytes(v, *width))
        .collect();
    state.set_member(id, found, args);
    Ok(())
}
/// Creates or replaces a group of an action selector; `None` removes it.
///
/// # Errors
/// The program has no such profile, or the group has a member that does not exist.
pub fn set_group(
    e: &mut Engine,
    profile: &str,
    id: u64,
    members: Option<&[WeightedMember]>,
) -> Result<()> {
    let (_, state) = e
        .profile_mut(profile)
        .ok_or_else(|| not_found("action profile", profile))?;
    let members = members.map(|list| list.iter().map(|m| (m.member, m.weight)).collect());
    state.set_group(id, members);
    Ok(())
}
