// SPDX-License-Identifier: Apache-2.0
//! Errors; each message is one line.

use std::path::{Path, PathBuf};
use thiserror::Error;

/// Errors of the sink, the spool and the client.
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
    /// Error for a configuration key with an invalid value.
    pub fn config(key: &'static str, what: &str) -> Self {
        Self::Config {
            key,
            what: what.to_owned(),
        }
    }

    /// Returns a function for `map_err` that adds the path to an I/O error.
    pub fn io(path: impl AsRef<Path>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { path, source }
    }
}

/// Error of one call to the server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    /// Nothing reached the server.
    #[error("no server answers: {0}")]
    Unreachable(String),
    /// The server may or may not have executed the call.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// The server refused the call or failed.
    #[error("the server answers {status} (code {code}): {text}")]
    Server {
        /// HTTP status.
        status: u16,
        /// ClickHouse's error code, 0 if the response has none.
        code: i32,
        /// Text of the response.
        text: String,
    },
}

impl CallError {
    /// Returns whether the data itself is bad, so that sending it again is useless:
    /// the codes for unreadable data (6, 27, 33, 40, 117, 190, 271, 432, 561).
    pub fn bad_data(&self) -> bool {
        const BAD: [i32; 9] = [6, 27, 33, 40, 117, 190, 271, 432, 561];
        matches!(self, Self::Server { code, .. } if BAD.contains(code))
    }
}
