// SPDX-License-Identifier: Apache-2.0
//! Records that a former run left at the end of the log's file.

use std::collections::BTreeMap;
use tidemark_control::{Change, LoggedWrites, Origin, Outcome};
use tidemark_estimators::LinkId;

/// Read back of an existing log.
pub(super) const TAIL_BYTES: u64 = 4 << 20;

/// Records that a former run left at the end of the file.
pub(super) struct Found {
    pub records: Vec<Change>,
    /// Lines that are no records.
    pub unreadable: usize,
    /// The last line has no end: a crash cut it short.
    pub unended: bool,
}

pub(super) fn last_records(end: &[u8]) -> Found {
    let lines = end.split(|&b| b == b'\n').filter(|l| !l.is_empty());
    let (mut records, mut unreadable) = (Vec::new(), 0);
    for (i, line) in lines.enumerate() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            // If the file is longer, the first line here began before.
            Err(_) if i == 0 && end.len() as u64 == TAIL_BYTES => {}
            Err(_) => unreadable += 1,
        }
    }
    Found {
        records,
        unreadable,
        unended: end.last().is_some_and(|&b| b != b'\n'),
    }
}

pub(super) fn link_of(change: &Change) -> LinkId {
    LinkId::new(change.node, change.port, change.queue)
}

/// The last write of every link's loop, and the one that has no outcome. What a
/// switch was provisioned with is not one of them: a restarted switch gets the
/// limit that the configuration has then.
pub(super) fn logged(records: &[Change]) -> BTreeMap<LinkId, LoggedWrites> {
    let mut all: BTreeMap<LinkId, LoggedWrites> = BTreeMap::new();
    for c in records.iter().filter(|c| c.origin != Origin::Provision) {
        let of_link = all.entry(link_of(c)).or_default();
        if c.outcome == Outcome::Intended {
            of_link.cut_short = Some(c.clone());
        } else if c.outcome.ends_write() {
            of_link.cut_short = None;
        }
        // A value that someone else wrote, and that stayed, took its place.
        if matches!(c.outcome, Outcome::Set | Outcome::Found) {
            of_link.last_set = Some(c.clone());
        }
    }
    all
}
