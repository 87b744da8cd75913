// SPDX-License-Identifier: Apache-2.0
//! Every limit change, wanted or made: kept in memory and appended to a file.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_rules::{Observed, Prediction};
use tidemark_southbound::Limit;

const KEPT: usize = 1000;
/// Read back of an existing log.
const TAIL_BYTES: u64 = 4 << 20;

/// Locks, whatever happened to another holder: the data are plain values.
pub fn lock<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Unix time, ms.
pub fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX))
}

/// Who wanted a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `POST .../limit`.
    Operator,
    /// `POST /advice/apply`.
    Confirmed,
    /// Auto mode.
    Auto,
    /// The outcome was worse than bound and before.
    Rollback,
    /// A switch that lost its state was given it back.
    Restore,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Written and read back.
    Set,
    /// A guard rail said no.
    Refused,
    /// The switch said no, or something else when read back.
    Failed,
    /// `control.dry_run`.
    DryRun,
    /// Watched after the change and found good.
    Kept,
    /// Watched after the change and found worse than bound and before.
    Worse,
    /// Watched after the change, but there is nothing to tell.
    Unclear,
}

/// One record of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub unix_ms: u64,
    pub node: u32,
    pub port: u32,
    pub origin: Origin,
    pub outcome: Outcome,
    pub before: Option<Limit>,
    pub limit: Option<Limit>,
    pub reason: String,
    /// What the guard rail or the switch said.
    pub error: Option<String>,
    pub expected: Option<Prediction>,
    pub measured_before: Option<Observed>,
    pub measured_after: Option<Observed>,
}

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

/// What a former run has left at the end of the file. A line cut short by a
/// crash is ended, so that the next one stands alone.
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

    #[test]
    fn memory_is_bounded() {
        let audit = Audit::open(None).unwrap();
        (0..KEPT + 5).for_each(|i| audit.record(change(&i.to_string())));
        assert_eq!(audit.recent().len(), KEPT);
        assert_eq!(audit.recent()[0].reason, "5");
    }
}
