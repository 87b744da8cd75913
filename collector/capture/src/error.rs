// SPDX-License-Identifier: Apache-2.0
//! Errors of a capture.

use std::path::PathBuf;
use thiserror::Error;

/// Why a capture cannot be read or written.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum CaptureError {
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path}: {source}")]
    Json {
        path: PathBuf,
        source: serde_json::Error,
    },
    #[error(
        "{path} is no capture and no run: there is no capture.json in it or in one of its directories{}",
        hint(below)
    )]
    NoCapture { path: PathBuf, below: Vec<PathBuf> },
    #[error("{0} is a file: name the directory of the run, or that of its capture")]
    IsFile(PathBuf),
    #[error("{path} has several captures: {}; name one", names(found))]
    Several { path: PathBuf, found: Vec<PathBuf> },
    #[error("{0} already holds a capture; name another directory")]
    Exists(PathBuf),
    #[error("another program writes a capture to {0}; name a directory for each (capture.dir)")]
    InUse(PathBuf),
    #[error("{path}: written in format {found}, this program reads {known}; use a newer tidemark")]
    Format {
        path: PathBuf,
        found: u32,
        known: u32,
    },
    #[error("{path}: column {column} {what}; the capture was not written by this format")]
    Column {
        path: PathBuf,
        column: &'static str,
        what: String,
    },
    #[error("no table is called {table:?}; a capture has {known}")]
    NoTable { table: String, known: String },
    #[error("{table} has no column {column:?}; it has {known}")]
    NoColumn {
        table: String,
        column: String,
        known: String,
    },
    #[error(
        "{path} is damaged: {place}: {what}; put a good copy in its place, or move it away to read the capture without its rows"
    )]
    Damaged {
        path: PathBuf,
        place: String,
        what: String,
    },
    #[error(
        "row {0} stands after rows that should follow it: rewritten files have to keep \
         their rows in the order of the column `order`"
    )]
    Order(u64),
    #[error("events: row {0} is of an unknown kind or lacks columns")]
    Event(u64),
    #[error("{path}: {source}")]
    Parquet {
        path: PathBuf,
        source: parquet::errors::ParquetError,
    },
    #[error("the capture writer stopped: {0}")]
    Stopped(String),
}

/// Most runs below the path that an error names.
const MOST_NAMED: usize = 3;

fn hint(below: &[PathBuf]) -> String {
    let named = names(below.get(..MOST_NAMED).unwrap_or(below));
    match below.len() {
        0 => "; name a directory that a collector, an import or the lab wrote".to_owned(),
        n if n > MOST_NAMED => format!("; name a run: {named} or {} more", n - MOST_NAMED),
        _ => format!("; name a run: {named}"),
    }
}

fn names(found: &[PathBuf]) -> String {
    let names: Vec<String> = found.iter().map(|p| p.display().to_string()).collect();
    names.join(", ")
}

impl CaptureError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    pub(crate) fn parquet(
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        let path = path.into();
        move |source| Self::Parquet { path, source }
    }
}
