// SPDX-License-Identifier: Apache-2.0
//! `[clickhouse]`: where the audit log is stored beside its file.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tidemark_clickhouse::Server;

/// The server that gets every record of `control.audit_log`; none without
/// `url`. The keys are those of the collector's section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClickHouse {
    /// HTTP interface of the server: `http://127.0.0.1:8123`, or https.
    pub url: Option<String>,
    pub database: String,
    pub user: String,
    /// Its content without the end of line is the password.
    pub password_file: Option<PathBuf>,
    pub timeout_s: u64,
    /// Longest pause between attempts.
    pub retry_max_ms: u64,
    /// Make database and tables (`deploy/clickhouse/schema.sql`) where missing.
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
    /// The server, if there is to be one.
    pub fn server(&self) -> Option<Server> {
        Some(Server {
            url: self.url.clone()?,
            database: self.database.clone(),
            user: self.user.clone(),
            password_file: self.password_file.clone(),
            timeout_s: self.timeout_s,
        })
    }

    /// Name that the rows carry.
    pub fn controller_name(&self) -> String {
        let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = self.controller.clone().unwrap_or_else(host);
        name.trim().to_owned()
    }
}
