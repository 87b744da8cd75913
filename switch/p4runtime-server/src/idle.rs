// SPDX-License-Identifier: Apache-2.0
//! Idle timeouts of table entries. The data plane only remembers when an entry was last hit; this
//! module decides when to ask for that. Time is an argument.

use crate::pipeline::Pipeline;
use crate::store::{Key, Store};
use crate::target::{EntryId, Target};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tidemark_proto::p4::v1 as p4;

/// Shortest time between two checks of an entry, however short its timeout, so that a client
/// cannot keep the data plane busy.
const SHORTEST: Duration = Duration::from_millis(10);

fn after(now: Instant, wait: Duration) -> Instant {
    // A timeout beyond the clock's range never expires; it is checked again after a day.
    now.checked_add(wait.max(SHORTEST))
        .unwrap_or(now + Duration::from_secs(86_400))
}

/// Returns the entries not hit within their timeout, again after each further timeout until hit
/// or removed, and the time of the next check.
pub(crate) async fn check(
    pipeline: &Pipeline,
    store: &mut Store,
    target: &dyn Target,
    now: Instant,
) -> (Vec<p4::TableEntry>, Option<Instant>) {
    let timeout = |store: &Store, (table, id): Key| {
        let entry = store.table(table).ok()?.get(id)?;
        let ns = u64::try_from(entry.idle_timeout_ns).ok()?;
        (ns > 0).then(|| Duration::from_nanos(ns))
    };
    for key in std::mem::take(&mut store.idle.started) {
        if let Some(wait) = timeout(store, key) {
            store.idle.set(key, after(now, wait));
        }
    }
    let mut by_table: BTreeMap<u32, Vec<EntryId>> = BTreeMap::new();
    for (table, id) in store.idle.due(now) {
        by_table.entry(table).or_default().push(id);
    }
    let mut found = Vec::new();
    for (number, ids) in by_table {
        let Ok(table) = pipeline.tables.get(number) else {
            continue;
        };
        // If the data plane does not answer, nothing is known; it is asked again later.
        let idle = target.idle_ns(&table.name, &ids).await.unwrap_or_default();
        for (i, id) in ids.into_iter().enumerate() {
            let key = (number, id);
            let Some(wait) = timeout(store, key) else {
                continue;
            };
            let since = idle.get(i).copied().flatten().map(Duration::from_nanos);
            let left = since.map_or(wait, |s| wait.saturating_sub(s));
            if !left.is_zero() {
                store.idle.set(key, after(now, left));
                continue;
            }
            store.idle.set(key, after(now, wait));
            if let Some(e) = store.table(number).ok().and_then(|t| t.get(id)) {
                found.push(p4::TableEntry {
                    action: None,
                    meter_config: None,
                    ..e.to_proto(table)
                });
            }
        }
    }
    (found, store.idle.next())
}

#[cfg(test)]
#[path = "tests/idle.rs"]
mod tests;
