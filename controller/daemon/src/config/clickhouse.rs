// SPDX-License-Identifier: Apache-2.0
//! `[clickhouse]`: database that stores the audit log in addition to its file.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tidemark_clickhouse::Server;

/// The server that gets every record of `control.audit_log`; none without `url`. Its keys are those
/// of the collector's section ([`tidemark_clickhouse::ClickHouseConfig`]); a test keeps them equal.
/// They are not a shared struct: if serde flattens one into a section, the error about a wrong
/// value no longer names the line and the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClickHouse {
    /// HTTP interface of the server: `http://127.0.0.1:8123`, or https.
    pub url: Option<String>,
    /// Database of the table.
    pub database: String,
    /// User of the server.
    pub user: String,
    /// File with the password; the end of line is not part of it.
    pub password_file: Option<PathBuf>,
    /// Time limit of a request, s.
    pub timeout_s: u64,
    /// Longest pause between attempts, ms.
    pub retry_max_ms: u64,
    /// Create database and tables (`deploy/clickhouse/schema.sql`) if they are missing.
    pub create_schema: bool,
    /// Column `controller` of the rows; the host's name when absent.
    pub controller: Option<String>,
}

impl Default for ClickHouse {
    fn default() -> Self {
        Self {
            url: None,
            database: "tidemark".into(),
            user: "default".into(),
            password_file: None,
            timeout_s: 30,
            retry_max_ms: 10_000,
            create_schema: false,
            controller: None,
        }
    }
}

impl ClickHouse {
    /// Returns the server, if one is configured.
    pub fn server(&self) -> Option<Server> {
        Some(Server {
            url: self.url.clone()?,
            database: self.database.clone(),
            user: self.user.clone(),
            password_file: self.password_file.clone(),
            timeout_s: self.timeout_s,
        })
    }

    /// Returns the name of the controller in the rows.
    pub fn controller_name(&self) -> String {
        let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = self.controller.clone().unwrap_or_else(host);
        name.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidemark_clickhouse::ClickHouseConfig;

    #[test]
    fn the_keys_of_the_server_are_those_of_the_collector() {
        let ours = ClickHouse {
            url: Some("http://127.0.0.1:8123".into()),
            password_file: Some("/etc/tidemark/password".into()),
            controller: Some("lab".into()),
            ..ClickHouse::default()
        };
        let mut keys = toml::Table::try_from(&ours).unwrap();
        assert!(keys.remove("controller").is_some());
        assert_eq!(keys.len(), 7);
        let theirs: ClickHouseConfig = keys.try_into().unwrap();
        assert_eq!(theirs.server(), ours.server());
        assert_eq!(theirs.retry_max_ms, ours.retry_max_ms);
        assert_eq!(theirs.create_schema, ours.create_schema);
    }
}
