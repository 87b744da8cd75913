// SPDX-License-Identifier: Apache-2.0
//! Where a ClickHouse server is, and as whom to call it.

use crate::error::ClickHouseError;
use std::path::PathBuf;

/// Address and credentials of a server's HTTP interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// `http://127.0.0.1:8123`, or https.
    pub url: String,
    /// Database that holds the tables.
    pub database: String,
    /// User of the requests.
    pub user: String,
    /// Its content without the end of line is the password.
    pub password_file: Option<PathBuf>,
    /// Longest time of a call, s.
    pub timeout_s: u64,
}

impl Server {
    /// Checks all values; files are not read.
    ///
    /// # Errors
    /// The first that cannot be used, by the name it has in a configuration.
    pub fn validate(&self) -> Result<(), ClickHouseError> {
        let rest = self
            .url
            .strip_prefix("http://")
            .or_else(|| self.url.strip_prefix("https://"));
        let Some(rest) = rest else {
            return Err(ClickHouseError::config(
                "url",
                "must begin with http:// or https://, such as \"http://127.0.0.1:8123\"",
            ));
        };
        if rest.trim_end_matches('/').is_empty() || rest.contains(['?', '#', '@', ' ']) {
            return Err(ClickHouseError::config(
                "url",
                "only scheme, host, port and path; user and password have their own keys",
            ));
        }
        let db = &self.database;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if db.is_empty() || !db.chars().all(word) || db.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ClickHouseError::config(
                "database",
                "must be a name of letters, digits and underscores",
            ));
        }
        if !(1..=3600).contains(&self.timeout_s) {
            return Err(ClickHouseError::config("timeout_s", "must be 1..=3600"));
        }
        Ok(())
    }
}
