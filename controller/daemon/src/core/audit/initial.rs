// SPDX-License-Identifier: Apache-2.0
//! Initial limits, from `[switches.provision.limits]`, which the driver writes if a switch has
//! none. The intent is recorded first, and stays open until an answer tells the limit in force: a
//! switch that does not answer is asked repeatedly, which is still one write.

use super::records::link_of;
use super::{Audit, Change, Origin, Outcome};
use std::collections::BTreeMap;
use tidemark_control::{AuditPolicy, Limit};
use tidemark_estimators::LinkId;

const WHY: &str = "the limit of the configuration; the switch has none";

/// An intent without an outcome.
pub(super) struct OpenIntent {
    change: Change,
    /// Whether the log has recorded it.
    logged: bool,
}

/// Intents of initial limits without an outcome, by link.
pub(super) type Open = BTreeMap<LinkId, OpenIntent>;

/// Returns the intents that an earlier run left open.
pub(super) fn left_open(records: &[Change]) -> Open {
    let mut open = Open::new();
    for c in records.iter().filter(|c| c.origin == Origin::Provision) {
        if c.outcome == Outcome::Intended {
            let (change, logged) = (c.clone(), true);
            open.insert(link_of(c), OpenIntent { change, logged });
        } else if c.outcome.ends_write() {
            open.remove(&link_of(c));
        }
    }
    open
}

fn intended(link: LinkId, limit: Limit, unix_ms: u64) -> Change {
    let outcome = Outcome::Intended;
    Change {
        limit: Some(limit),
        ..Change::new(link, Origin::Provision, outcome, WHY.into(), unix_ms)
    }
}

impl Audit {
    /// Records that an initial limit is about to be written.
    ///
    /// # Errors
    /// It must not be written: the log did not take the intent, and the policy requires it.
    pub fn begin_initial(
        &self,
        link: LinkId,
        limit: Limit,
        unix_ms: u64,
        policy: AuditPolicy,
    ) -> Result<(), String> {
        let open = self
            .open_initial
            .lock()
            .get(&link)
            .is_some_and(|o| o.logged && o.change.limit == Some(limit));
        if open {
            return Ok(());
        }
        let change = intended(link, limit, unix_ms);
        let recorded = self.record(change.clone());
        let logged = recorded.is_ok();
        if policy == AuditPolicy::Required {
            recorded?;
        }
        // Otherwise the missing record is counted and logged.
        self.open_initial
            .lock()
            .insert(link, OpenIntent { change, logged });
        Ok(())
    }

    /// Returns the ports of a node whose initial limit has no outcome yet.
    pub fn open_initial_ports(&self, node: u32) -> Vec<u32> {
        let open = self.open_initial.lock();
        let of_node = open.keys().filter(|l| l.node_id == node);
        of_node.map(|l| l.port).collect()
    }

    /// Closes an intent and returns the record of its outcome. `found` is the limit in force: the
    /// intended one, rounded to the switch's unit, or another. `None` if no intent is open.
    pub fn end_initial(
        &self,
        link: LinkId,
        found: Limit,
        unit_bytes: u32,
        unix_ms: u64,
    ) -> Option<Change> {
        let mut change = self.open_initial.lock().remove(&link)?.change;
        change.unix_ms = unix_ms;
        change.outcome = Outcome::Set;
        if change.limit.map(|l| l.rounded(unit_bytes)) != Some(found) {
            change.outcome = Outcome::Failed;
            change.error = Some(format!("the switch holds {found}"));
        }
        Some(change)
    }
}
