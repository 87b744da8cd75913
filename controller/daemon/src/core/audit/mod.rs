// SPDX-License-Identifier: Apache-2.0
//! The audit log: every limit change, wanted or made, in memory and in a file.

mod initial;
mod log;
mod records;

use durable_fs::{Disk, sync_name};
use log::Log;
use parking_lot::Mutex;
use records::{TAIL_BYTES, last_records, logged};
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use tidemark_control::LoggedWrites;
use tidemark_estimators::LinkId;

pub use tidemark_control::{Change, Origin, Outcome};

const KEPT: usize = 1000;
/// Maximum length of a reason in the program's log; the record has all of it.
const LOGGED_CHARACTERS: usize = 120;

/// Health of the log's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health {
    /// Number of records that the file did not take.
    pub not_written: u64,
    /// Why the file did not take the last record; `None` if it did.
    pub problem: Option<String>,
}

/// The audit log.
pub struct Audit {
    file: Option<Mutex<Log>>,
    health: Mutex<Health>,
    recent: Mutex<VecDeque<Change>>,
    logged: BTreeMap<LinkId, LoggedWrites>,
    open_initial: Mutex<initial::Open>,
}

impl Audit {
    /// Opens the file for appending, if a path is given.
    pub fn open(path: Option<&Path>) -> std::io::Result<Self> {
        Self::open_on(&*durable_fs::real(), path)
    }

    /// Like [`Audit::open`], on a given disk.
    pub fn open_on(disk: &dyn Disk, path: Option<&Path>) -> std::io::Result<Self> {
        let mut records = Vec::new();
        let mut file = None;
        if let Some(path) = path {
            let opened = disk.append_private(path)?;
            // A record survives a power cut only if the file's name does.
            sync_name(disk, path)?;
            let end = disk.read_end(path, TAIL_BYTES)?;
            let found = last_records(&end);
            if found.unreadable > 0 {
                tracing::warn!(
                    lines = found.unreadable,
                    "control.audit_log: {}: lines that are not records: cut short by a crash, or damaged",
                    path.display()
                );
            }
            records = found.records;
            file = Some(Mutex::new(Log::new(opened, found.unended)));
        }
        let logged = logged(&records);
        let open_initial = initial::left_open(&records);
        Ok(Self {
            logged,
            open_initial: Mutex::new(open_initial),
            ..Self::with(file, records)
        })
    }

    /// Reads the log of a finished run.
    pub fn of_run(disk: &dyn Disk, path: &Path) -> std::io::Result<Self> {
        let found = last_records(&disk.read_end(path, TAIL_BYTES)?);
        Ok(Self::with(None, found.records))
    }

    fn with(file: Option<Mutex<Log>>, records: Vec<Change>) -> Self {
        let shown = records.into_iter();
        let mut recent: VecDeque<Change> =
            shown.filter(|c| c.outcome != Outcome::Intended).collect();
        recent.drain(..recent.len().saturating_sub(KEPT));
        Self {
            file,
            health: Mutex::default(),
            recent: Mutex::new(recent),
            logged: BTreeMap::new(),
            open_initial: Mutex::default(),
        }
    }

    /// Returns the writes of an earlier run, by link.
    pub fn logged(&self) -> &BTreeMap<LinkId, LoggedWrites> {
        &self.logged
    }

    /// Whether the log has a file.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Appends a record, and syncs it to the disk.
    ///
    /// # Errors
    /// Why the file did not take the record. It is kept in memory all the same.
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
            let mut recent = self.recent.lock();
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
            .and_then(|line| file.lock().append(&line));
        let written = written.map_err(|e| format!("the audit log cannot be written: {e}"));
        let mut health = self.health.lock();
        health.problem = written.clone().err();
        if let Err(e) = &written {
            health.not_written += 1;
            tracing::error!("{e}");
        }
        written
    }

    /// Returns the health of the file.
    pub fn health(&self) -> Health {
        self.health.lock().clone()
    }

    /// Returns the last records, oldest first, without intents.
    pub fn recent(&self) -> Vec<Change> {
        self.recent.lock().iter().cloned().collect()
    }
}

/// Returns the beginning of a reason, whose parts are separated by semicolons.
fn short(reason: &str) -> String {
    let first = reason.split("; ").next().unwrap_or(reason);
    let mut text: String = first.chars().take(LOGGED_CHARACTERS).collect();
    if text.len() < reason.len() {
        text.push_str(" …");
    }
    text
}

#[cfg(test)]
mod tests;
