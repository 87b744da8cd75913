// SPDX-License-Identifier: Apache-2.0
//! The `[clickhouse]` section of the collector's configuration.

use crate::error::ClickHouseError;
use crate::server::Server;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Compression of batches in the spool and on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Compression {
    /// Uncompressed.
    None,
    /// Compressed with zstd.
    #[default]
    Zstd,
}

/// The `[clickhouse]` section; unknown keys are errors. Without `url` nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClickHouseConfig {
    /// URL of the server's HTTP interface: `http://127.0.0.1:8123`, or https.
    pub url: Option<String>,
    /// Database that holds the tables.
    pub database: String,
    /// User that inserts rows.
    pub user: String,
    /// File with the password; a trailing end of line is ignored.
    pub password_file: Option<PathBuf>,
    /// Directory that holds batches until the server has them; required with `url`.
    pub spool_dir: Option<PathBuf>,
    /// Largest total size of the spool, in bytes; new batches beyond it are lost and counted.
    pub spool_max_bytes: u64,
    /// Number of rows of one table after which a batch is closed.
    pub batch_rows: usize,
    /// Time after which a batch is closed, in ms: the most that a kill can lose.
    pub batch_ms: u64,
    /// Compression of batches.
    pub compression: Compression,
    /// Number of concurrent inserts.
    pub connections: usize,
    /// Time limit for one request, in s.
    pub timeout_s: u64,
    /// Longest pause between attempts, in ms.
    pub retry_max_ms: u64,
    /// How long to go on inserting at shutdown, in s; the rest stays in the spool.
    pub finish_s: u64,
    /// Whether to create a missing database and tables (`deploy/clickhouse/schema.sql`).
    pub create_schema: bool,
}

impl Default for ClickHouseConfig {
    fn default() -> Self {
        Self {
            url: None,
            database: "tidemark".to_owned(),
            user: "default".to_owned(),
            password_file: None,
            spool_dir: None,
            spool_max_bytes: 4 << 30,
            batch_rows: 500_000,
            batch_ms: 1000,
            compression: Compression::default(),
            connections: 1,
            timeout_s: 120,
            retry_max_ms: 10_000,
            finish_s: 2,
            create_schema: false,
        }
    }
}

impl ClickHouseConfig {
    /// Returns the server, or `None` if `url` is not set.
    pub fn server(&self) -> Option<Server> {
        Some(Server {
            url: self.url.clone()?,
            database: self.database.clone(),
            user: self.user.clone(),
            password_file: self.password_file.clone(),
            timeout_s: self.timeout_s,
        })
    }

    /// Checks all values without reading any file.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn validate(&self) -> Result<(), ClickHouseError> {
        let Some(server) = self.server() else {
            return Ok(());
        };
        server.validate()?;
        let error = |key, what| Err(ClickHouseError::config(key, what));
        if self.spool_dir.is_none() {
            return error(
                "spool_dir",
                "name a directory; batches live there until the server has them",
            );
        }
        for (key, value, range) in [
            ("batch_rows", self.batch_rows as u64, 1000..=10_000_000),
            ("batch_ms", self.batch_ms, 10..=600_000),
            ("connections", self.connections as u64, 1..=16),
            ("retry_max_ms", self.retry_max_ms, 10..=3_600_000),
            ("finish_s", self.finish_s, 0..=86_400),
        ] {
            if !range.contains(&value) {
                let what = format!("must be {}..={}", range.start(), range.end());
                return error(key, &what);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(c: &ClickHouseConfig) -> &'static str {
        match c.validate() {
            Err(ClickHouseError::Config { key, .. }) => key,
            Ok(()) => "",
            Err(e) => unreachable!("{e}"),
        }
    }

    #[test]
    fn each_bad_value_is_named() {
        let good = ClickHouseConfig {
            url: Some("http://127.0.0.1:8123".into()),
            spool_dir: Some("/tmp/x".into()),
            ..ClickHouseConfig::default()
        };
        assert_eq!(key(&good), "");
        assert_eq!(key(&ClickHouseConfig::default()), "");
        for url in [
            "127.0.0.1:8123",
            "http://",
            "http://me:pw@host",
            "http://h/?a=b",
        ] {
            let bad = ClickHouseConfig {
                url: Some(url.into()),
                ..good.clone()
            };
            assert_eq!(key(&bad), "url", "{url}");
        }
        let bad = ClickHouseConfig {
            database: "a; DROP".into(),
            ..good.clone()
        };
        assert_eq!(key(&bad), "database");
        let bad = ClickHouseConfig {
            spool_dir: None,
            ..good.clone()
        };
        assert_eq!(key(&bad), "spool_dir");
        let bad = ClickHouseConfig {
            batch_rows: 1,
            ..good.clone()
        };
        assert_eq!(key(&bad), "batch_rows");
        // An instant has no room for such a time.
        let bad = ClickHouseConfig {
            finish_s: u64::MAX,
            ..good
        };
        assert_eq!(key(&bad), "finish_s");
    }
}
