// SPDX-License-Identifier: Apache-2.0
//! The audit log: every limit change, wanted or made, in memory and in a file.

mod log;

use super::sync::lock;
use log::Log;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Mutex;
use tidemark_control::LoggedWrites;
use tidemark_disk::{Disk, sync_name};
use tidemark_estimators::LinkId;

pub use tidemark_control::{Change, Origin, Outcome};

const KEPT: usize = 1000;
/// Of a reason in the program's log; the record has all of it.
const LOGGED_CHARACTERS: usize = 120;
/// Read back of an existing log.
const TAIL_BYTES: u64 = 4 << 20;

/// How the log's file fares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Records that the file has not taken.
    pub not_written: u64,
    /// Why it has not taken the last one; `None` when it has.
    pub problem: Option<String>,
}

/// The log.
pub struct Audit {
    file: Option<Mutex<Log>>,
    health: Mutex<Health>,
    recent: Mutex<VecDeque<Change>>,
    logged: BTreeMap<LinkId, LoggedWrites>,
}

impl Audit {
    /// Opens the file for appending, if there is to be one.
    ///
    /// # Errors
    /// A file that cannot be opened, or a symbolic link.
    pub fn open(path: Option<&Path>) -> std::io::Result<Self> {
        Self::open_on(&*tidemark_disk::real(), path)
    }

    /// As [`Audit::open`], on a disk.
    ///
    /// # Errors
    /// The same.
    pub fn open_on(disk: &dyn Disk, path: Option<&Path>) -> std::io::Result<Self> {
        let mut records = Vec::new();
        let mut file = None;
        if let Some(path) = path {
            let opened = disk.append_private(path)?;
            // A record is there after a power cut only if the file is.
            sync_name(disk, path)?;
            let end = disk.read_end(path, TAIL_BYTES)?;
            let found = last_records(&end);
            if found.unreadable > 0 {
                tracing::warn!(
                    lines = found.unreadable,
                    "control.audit_log: {}: lines that are no records: cut short by a crash, or damaged",
                    path.display()
                );
            }
            records = found.records;
            file = Some(Mutex::new(Log::new(opened, found.unended)));
        }
        let logged = logged(&records);
        let shown = records.into_iter();
        let mut recent: VecDeque<Change> =
            shown.filter(|c| c.outcome != Outcome::Intended).collect();
        recent.drain(..recent.len().saturating_sub(KEPT));
        Ok(Self {
            file,
            health: Mutex::default(),
            recent: Mutex::new(recent),
            logged,
        })
    }

    /// The log of a finished run, which is only read.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_run(disk: &dyn Disk, path: &Path) -> std::io::Result<Self> {
        let found = last_records(&disk.read_end(path, TAIL_BYTES)?);
        let shown = found.records.into_iter();
        let mut recent: VecDeque<Change> =
            shown.filter(|c| c.outcome != Outcome::Intended).collect();
        recent.drain(..recent.len().saturating_sub(KEPT));
        Ok(Self {
            file: None,
            health: Mutex::default(),
            recent: Mutex::new(recent),
            logged: BTreeMap::new(),
        })
    }

    /// What a former run wrote, by link.
    pub fn logged(&self) -> &BTreeMap<LinkId, LoggedWrites> {
        &self.logged
    }

    /// Whether there is a file.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Appends a record; it is on the disk then.
    ///
    /// # Errors
    /// The file has not taken it, and why. It is kept in memory all the same.
    pub fn record(&self, change: Change) -> Result<(), String> {
        tracing::info!(
            node = change.node,
            port = change.port,
            origin = ?change.origin,
            outcome = %change.outcome.label(),
            limit = %change.limit.map_or_else(|| "none".into(), |l| l.to_string()),
            error = change.error.as_deref(),
            "limit: {}",
            short(&change.reason)
        );
        let written = self.append(&change);
        if change.outcome != Outcome::Intended {
            let mut recent = lock(&self.recent);
            recent.push_back(change);
            if recent.len() > KEPT {
                recent.pop_front();
            }
        }
        written
    }

    fn append(&self, change: &Change) -> Result<(), String> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        let written = serde_json::to_string(change)
            .map_err(std::io::Error::from)
            .and_then(|line| lock(file).append(&line));
        let written = written.map_err(|e| format!("the audit log cannot be written: {e}"));
        let mut health = lock(&self.health);
        health.problem = written.clone().err();
        if let Err(e) = &written {
            health.not_written += 1;
            tracing::error!("{e}");
        }
        written
    }

    /// How the file fares.
    pub fn health(&self) -> Health {
        lock(&self.health).clone()
    }

    /// The last records, oldest first, without intents.
    pub fn recent(&self) -> Vec<Change> {
        lock(&self.recent).iter().cloned().collect()
    }
}

/// What a reason begins with: its parts stand between semicolons.
fn short(reason: &str) -> String {
    let first = reason.split("; ").next().unwrap_or(reason);
    let mut text: String = first.chars().take(LOGGED_CHARACTERS).collect();
    if text.len() < reason.len() {
        text.push_str(" …");
    }
    text
}

/// What a former run left at the end of the file.
struct Found {
    records: Vec<Change>,
    /// Lines that are no records.
    unreadable: usize,
    /// The last line has no end: a crash cut it short.
    unended: bool,
}

fn last_records(end: &[u8]) -> Found {
    let lines = end.split(|&b| b == b'\n').filter(|l| !l.is_empty());
    let (mut records, mut unreadable) = (Vec::new(), 0);
    for (i, line) in lines.enumerate() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            // Where the file is longer, the first line here began before.
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

/// The last write of every link, and the one that has no outcome.
fn logged(records: &[Change]) -> BTreeMap<LinkId, LoggedWrites> {
    let mut all: BTreeMap<LinkId, LoggedWrites> = BTreeMap::new();
    for c in records {
        let id = LinkId {
            node_id: c.node,
            port: c.port,
        };
        let of_link = all.entry(id).or_default();
        if c.outcome == Outcome::Intended {
            of_link.cut_short = Some(c.clone());
        } else if c.outcome.ends_write() {
            of_link.cut_short = None;
        }
        // What someone else wrote, and stayed, took its place.
        if matches!(c.outcome, Outcome::Set | Outcome::Found) {
            of_link.last_set = Some(c.clone());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write as _;
    use tidemark_control::Limit;

    fn change(reason: &str) -> Change {
        Change {
            unix_ms: 1,
            node: 10,
            port: 5,
            origin: Origin::Auto,
            outcome: Outcome::Set,
            before: Some(Limit::Unlimited),
            limit: Some(Limit::DropTail { limit_bytes: 9 }),
            reason: reason.into(),
            error: None,
            expected: None,
            measured_before: None,
            measured_after: None,
        }
    }

    #[test]
    fn records_survive_and_a_torn_line_does_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let first = Audit::open(Some(&path)).unwrap();
        first.record(change("one")).unwrap();
        let mut f = OpenOptions::new().append(true).open(&path).unwrap();
        f.write_all(b"{\"unix_ms\": 2, \"no").unwrap();
        let left = last_records(&std::fs::read(&path).unwrap());
        assert!(left.unended && left.unreadable == 1);
        let again = Audit::open(Some(&path)).unwrap();
        assert_eq!(again.recent(), [change("one")]);
        again.record(change("two")).unwrap();
        let reasons: Vec<String> = Audit::open(Some(&path))
            .unwrap()
            .recent()
            .into_iter()
            .map(|c| c.reason)
            .collect();
        assert_eq!(reasons, ["one", "two"]);
    }

    #[test]
    fn the_program_s_log_has_the_beginning_of_a_reason() {
        assert_eq!(short("the limit serves"), "the limit serves");
        let advice = "advice, rule bscl: elastic regime; loss: 0.4 %; delay: 3 ms";
        assert_eq!(short(advice), "advice, rule bscl: elastic regime …");
        // Of an operator, who may write what they like.
        let long = short(&"ä".repeat(10_000));
        assert_eq!(long.chars().count(), LOGGED_CHARACTERS + 2);
        assert_eq!(short(""), "");
    }

    /// A log written before the loop was a crate of its own.
    #[test]
    fn an_old_log_is_read() {
        let log = include_str!("../../../tests/fixtures/control-63e1e1a/audit.jsonl");
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        std::fs::write(&path, log).unwrap();
        let recent = Audit::open(Some(&path)).unwrap().recent();
        let told: Vec<_> = recent.iter().map(|c| (c.origin, c.outcome)).collect();
        let expected = [
            (Origin::Auto, Outcome::Set),
            (Origin::Rollback, Outcome::Worse),
            (Origin::Rollback, Outcome::Set),
            (Origin::Confirmed, Outcome::Set),
        ];
        assert_eq!(told, expected);
        // And written as it was read.
        for (record, line) in recent.iter().zip(log.lines()) {
            let written = serde_json::to_value(record).unwrap();
            let read: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(written, read);
        }
    }

    #[test]
    fn memory_is_bounded() {
        let audit = Audit::open(None).unwrap();
        (0..KEPT + 5).for_each(|i| audit.record(change(&i.to_string())).unwrap());
        assert_eq!(audit.recent().len(), KEPT);
        assert_eq!(audit.recent()[0].reason, "5");
    }

    #[test]
    fn a_write_without_its_outcome_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let of = |port, outcome| Change {
            port,
            outcome,
            ..change("x")
        };
        let audit = Audit::open(Some(&path)).unwrap();
        for c in [
            of(5, Outcome::Intended),
            of(5, Outcome::Set),
            of(6, Outcome::Intended),
            of(6, Outcome::Failed),
            of(7, Outcome::Set),
            of(7, Outcome::Intended),
            of(7, Outcome::Unclear),
        ] {
            audit.record(c).unwrap();
        }
        assert_eq!(audit.recent().len(), 4, "intents are not shown");
        let again = Audit::open(Some(&path)).unwrap();
        assert_eq!(again.recent(), audit.recent());
        let cut_short: Vec<u32> = again
            .logged()
            .iter()
            .filter(|(_, l)| l.cut_short.is_some())
            .map(|(id, _)| id.port)
            .collect();
        assert_eq!(cut_short, [7]);
        let set = again.logged().values().filter(|l| l.last_set.is_some());
        assert_eq!(set.count(), 2);
    }

    /// A device that is always full.
    #[test]
    fn a_full_disk_is_told() {
        let audit = Audit::open(Some(Path::new("/dev/full"))).unwrap();
        audit.record(change("one")).unwrap_err();
        let health = audit.health();
        assert_eq!(health.not_written, 1);
        assert!(health.problem.unwrap().contains("No space left"));
        assert_eq!(audit.recent().len(), 1);
    }
}
