// SPDX-License-Identifier: Apache-2.0
//! Address of a ClickHouse server and the user to log in as.

use crate::error::ClickHouseError;
use std::net::IpAddr;
use std::path::PathBuf;

/// Address and credentials of a server's HTTP interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// URL of the HTTP interface: `http://127.0.0.1:8123`, or https.
    pub url: String,
    /// Database that holds the tables.
    pub database: String,
    /// User that sends the requests.
    pub user: String,
    /// File with the password; a trailing end of line is ignored.
    pub password_file: Option<PathBuf>,
    /// Time limit for a call, in s.
    pub timeout_s: u64,
}

impl Server {
    /// Returns a warning for the log if the password would cross the network in the clear.
    pub fn warning(&self) -> Option<String> {
        let host = self.url.strip_prefix("http://")?;
        let host = host.split('/').next().unwrap_or(host);
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let here = bare.eq_ignore_ascii_case("localhost")
            || bare
                .parse::<IpAddr>()
                .is_ok_and(|a| a.to_canonical().is_loopback());
        if here || self.password_file.is_none() {
            return None;
        }
        Some(format!(
            "the password crosses the network to {host} in the clear: use an https url"
        ))
    }

    /// Checks all values without reading any file.
    ///
    /// # Errors
    /// The first invalid value, named by its configuration key.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_the_clear_is_warned_of() {
        for (url, password, warned) in [
            ("http://ch.lab:8123", true, true),
            ("http://192.0.2.1/path", true, true),
            ("http://[2001:db8::1]:8123/", true, true),
            ("http://ch.lab:8123", false, false),
            ("https://ch.lab:8443", true, false),
            ("http://127.0.0.1:8123/", true, false),
            ("http://[::1]:8123", true, false),
            ("http://localhost", true, false),
        ] {
            let server = Server {
                url: url.into(),
                database: "d".into(),
                user: "u".into(),
                password_file: password.then(|| "secret".into()),
                timeout_s: 1,
            };
            assert_eq!(server.warning().is_some(), warned, "{url}");
        }
    }
}
