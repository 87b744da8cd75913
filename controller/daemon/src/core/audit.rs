// SPDX-License-Identifier: Apache-2.0
//! The audit log: every limit change, wanted or made, in memory and in a file.

use super::sync::lock;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

pub use tidemark_control::{Change, Origin, Outcome};

const KEPT: usize = 1000;
/// Read back of an existing log.
const TAIL_BYTES: u64 = 4 << 20;

/// The log.
#[derive(Debug)]
pub struct Audit {
    file: Option<Mutex<File>>,
    not_written: AtomicU64,
    recent: Mutex<VecDeque<Change>>,
}

impl Audit {
    /// Opens the file for appending, if there is to be one.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn open(path: Option<&Path>) -> std::io::Result<Self> {
        let Some(path) = path else {
            return Ok(Self {
                file: None,
                not_written: AtomicU64::new(0),
                recent: Mutex::default(),
            });
        };
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .read(true)
            .open(path)?;
        let recent = last_records(&mut file)?;
        Ok(Self {
            file: Some(Mutex::new(file)),
            not_written: AtomicU64::new(0),
            recent: Mutex::new(recent),
        })
    }

    /// Appends a record. Failure to write the file is logged and counted, not
    /// fatal.
    pub fn record(&self, change: Change) {
        tracing::info!(
            node = change.node,
            port = change.port,
            origin = ?change.origin,
            outcome = ?change.outcome,
            limit = %change.limit.map_or_else(|| "none".into(), |l| l.to_string()),
            error = change.error.as_deref(),
            "limit: {}",
            change.reason
        );
        if let Some(file) = &self.file {
            let written = serde_json::to_string(&change)
                .map_err(std::io::Error::from)
                .and_then(|line| lock(file).write_all((line + "\n").as_bytes()));
            if let Err(e) = written {
                self.not_written.fetch_add(1, Ordering::Relaxed);
                tracing::error!("audit log: cannot be written: {e}");
            }
        }
        let mut recent = lock(&self.recent);
        recent.push_back(change);
        if recent.len() > KEPT {
            recent.pop_front();
        }
    }

    /// Records that the file has not taken.
    pub fn not_written(&self) -> u64 {
        self.not_written.load(Ordering::Relaxed)
    }

    /// The last records, oldest first.
    pub fn recent(&self) -> Vec<Change> {
        lock(&self.recent).iter().cloned().collect()
    }
}

/// What a former run left at the end of the file. A line cut short by a crash is
/// ended, so that the next one stands alone.
fn last_records(file: &mut File) -> std::io::Result<VecDeque<Change>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    if tail.last().is_some_and(|&b| b != b'\n') {
        file.write_all(b"\n")?;
    }
    let lines = tail.split(|&b| b == b'\n');
    let mut all: VecDeque<Change> = lines
        .filter_map(|l| serde_json::from_slice(l).ok())
        .collect();
    all.drain(..all.len().saturating_sub(KEPT));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
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
        Audit::open(Some(&path)).unwrap().record(change("one"));
        let mut f = OpenOptions::new().append(true).open(&path).unwrap();
        f.write_all(b"{\"unix_ms\": 2, \"no").unwrap();
        let again = Audit::open(Some(&path)).unwrap();
        assert_eq!(again.recent(), [change("one")]);
        again.record(change("two"));
        let reasons: Vec<String> = Audit::open(Some(&path))
            .unwrap()
            .recent()
            .into_iter()
            .map(|c| c.reason)
            .collect();
        assert_eq!(reasons, ["one", "two"]);
    }

    /// A log written before the loop was a crate of its own.
    #[test]
    fn an_old_log_is_read() {
        let log = include_str!("../../tests/fixtures/control-63e1e1a/audit.jsonl");
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
        (0..KEPT + 5).for_each(|i| audit.record(change(&i.to_string())));
        assert_eq!(audit.recent().len(), KEPT);
        assert_eq!(audit.recent()[0].reason, "5");
    }
}
