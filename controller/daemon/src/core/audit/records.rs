// SPDX-License-Identifier: Apache-2.0
//! Reads the records that an earlier run left at the end of the log's file.

use std::collections::BTreeMap;
use tidemark_control::{Change, LoggedWrites, Origin, Outcome};
use tidemark_estimators::LinkId;

/// Number of bytes read from the end of an existing log.
pub(super) const TAIL_BYTES: u64 = 4 << 20;

/// Records that an earlier run left at the end of the file.
pub(super) struct Found {
    pub records: Vec<Change>,
    /// Number of lines that are not records.
    pub unreadable: usize,
    /// Whether the last line has no newline: a crash cut it short.
    pub unended: bool,
}

pub(super) fn last_records(end: &[u8]) -> Found {
    let lines = end.split(|&b| b == b'\n').filter(|l| !l.is_empty());
    let (mut records, mut unreadable) = (Vec::new(), 0);
    for (i, line) in lines.enumerate() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            // In a longer file, the first line here began earlier.
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

/// Returns the last write of every link's loop, and the write without an outcome. Initial limits
/// are left out: a restarted switch gets the limit that the configuration has by then.
pub(super) fn logged(records: &[Change]) -> BTreeMap<LinkId, LoggedWrites> {
    let mut all: BTreeMap<LinkId, LoggedWrites> = BTreeMap::new();
    for c in records.iter().filter(|c| c.origin != Origin::Provision) {
        let of_link = all.entry(link_of(c)).or_default();
        if c.outcome == Outcome::Intended {
            of_link.cut_short = Some(c.clone());
        } else if c.outcome.ends_write() {
            of_link.cut_short = None;
        }
        // A value that someone else wrote, and that was kept, replaces ours.
        if matches!(c.outcome, Outcome::Set | Outcome::Found) {
            of_link.last_set = Some(c.clone());
        }
    }
    all
}
