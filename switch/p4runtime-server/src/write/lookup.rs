// SPDX-License-Identifier: Apache-2.0
//! Finds entries by match and priority.

use crate::errors::{Failure, Outcome, refuse_at};
use crate::matchfields;
use crate::pipeline::{Pipeline, Table};
use crate::store::{EntryKey, Store};
use crate::target::EntryId;
use tidemark_proto::p4::v1 as p4;

/// Returns the checked match and priority of an entry.
pub(super) fn entry_key(table: &Table, e: &p4::TableEntry) -> Outcome<EntryKey> {
    let matches = matchfields::parse(table, &e.r#match)?;
    matchfields::check_priority(table, e.priority)?;
    Ok((matches, e.priority))
}

/// Returns the id of the table's direct counter or meter (`what`).
pub(crate) fn direct_resource(table: &Table, what: &str) -> Option<u32> {
    match what {
        "counter" => table.direct_counter,
        _ => table.direct_meter,
    }
}

/// Finds the entry whose direct counter or meter (`what`) is meant.
pub(crate) fn direct_entry<'p>(
    pipeline: &'p Pipeline,
    store: &Store,
    e: &p4::TableEntry,
    what: &str,
) -> Outcome<(&'p Table, EntryId)> {
    let table = pipeline.tables.get(e.table_id)?;
    let at = |f: Failure| f.at(format!("table {}", table.name));
    if direct_resource(table, what).is_none() {
        refuse_at!(at, invalid: "it has no direct {what}");
    }
    if e.is_default_action {
        refuse_at!(at, unsupported: "misses have no direct {what}");
    }
    let key = entry_key(table, e)?;
    let id = store
        .table(table.id)?
        .id_of(&key)
        .ok_or_else(|| at(Failure::not_found("no entry with this match and priority")))?;
    Ok((table, id))
}
