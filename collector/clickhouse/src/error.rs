// SPDX-License-Identifier: Apache-2.0
//! Errors, one line each.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// Errors of sink, spool and client.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "the message of each variant says what it is")]
pub enum ClickHouseError {
    #[error("clickhouse.{key}: {what}")]
    Config { key: &'static str, what: String },
    #[error("{path}: {source}")]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{0} is in use by another collector; give each its own clickhouse.spool_dir")]
    SpoolInUse(PathBuf),
    #[error("{url}: {source}")]
    Call { url: String, source: CallError },
    #[error("stopped: {0}")]
    Stopped(String),
}

impl ClickHouseError {
    /// A key of the configuration whose value cannot be used.
    pub fn config(key: &'static str, what: &str) -> Self {
        Self::Config {
            key,
            what: what.to_owned(),
        }
    }

    /// For `map_err`.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { path, source }
    }
}

/// One call of the server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// Nothing has reached the server.
    #[error("no server answers: {0}")]
    Unreachable(String),
    /// The call may or may not have been carried out.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The server refused or failed.
    #[error("the server answers {status} (code {code}): {text}")]
    Server {
        /// HTTP status.
        status: u16,
        /// ClickHouse's error code, 0 when it gave none.
        code: i32,
        /// Text of the answer.
        text: String,
    },
}

impl CallError {
    /// Whether the data itself is at fault, so that sending it again is vain:
    /// codes of unreadable data (6, 27, 33, 40, 117, 190, 271, 432, 561).
    pub fn bad_data(&self) -> bool {
        const BAD: [i32; 9] = [6, 27, 33, 40, 117, 190, 271, 432, 561];
        matches!(self, Self::Server { code, .. } if BAD.contains(code))
    }
}
