// SPDX-License-Identifier: Apache-2.0
//! Every limit change, wanted or made: kept in memory and appended to a file.

use serde::Serialize;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use tidemark_rules::{Observed, Prediction};
use tidemark_southbound::Limit;

const KEPT: usize = 1000;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
}

/// One record of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
    recent: Mutex<VecDeque<Change>>,
}

impl Audit {
    /// Opens the file for appending, if there is to be one.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn open(path: Option<&Path>) -> std::io::Result<Self> {
        let file = match path {
            Some(p) => Some(Mutex::new(
                OpenOptions::new().create(true).append(true).open(p)?,
            )),
            None => None,
        };
        Ok(Self {
            file,
            recent: Mutex::new(VecDeque::new()),
        })
    }

    /// Appends a record. Failure to write the file is logged, not fatal.
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
                tracing::error!("audit log: cannot be written: {e}");
            }
        }
        let mut recent = lock(&self.recent);
        recent.push_back(change);
        if recent.len() > KEPT {
            recent.pop_front();
        }
    }

    /// The last records, oldest first.
    pub fn recent(&self) -> Vec<Change> {
        lock(&self.recent).iter().cloned().collect()
    }
}
