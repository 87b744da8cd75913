// SPDX-License-Identifier: Apache-2.0
//! Client of the part of ClickHouse's HTTP interface that the collector needs.

use crate::config::{ClickHouseConfig, Compression};
use crate::database::Database;
use crate::error::{CallError, ClickHouseError};
use crate::schema;
use crate::server::Server;
use std::time::Duration;
use ureq::Agent;

/// Longest response that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 64 << 20;
/// Number of characters shown of a server's message.
const SHOWN_CHARS: usize = 300;

/// Client of one server: its address, credentials and open connections.
#[derive(Clone, Debug)]
pub struct Client {
    agent: Agent,
    url: String,
    database: String,
    user: String,
    password: String,
}

impl Client {
    /// Creates a client; reads the password file but does not contact the server.
    ///
    /// # Errors
    /// The password file cannot be read, or the configuration has no `url`.
    pub fn new(config: &ClickHouseConfig) -> Result<Self, ClickHouseError> {
        match config.server() {
            Some(server) => Self::of(&server),
            None => Err(ClickHouseError::config("url", "is needed")),
        }
    }

    /// Like [`Client::new`], but takes the server instead of a configuration.
    ///
    /// # Errors
    /// The password file cannot be read.
    pub fn of(server: &Server) -> Result<Self, ClickHouseError> {
        let password = match &server.password_file {
            Some(path) => std::fs::read_to_string(path)
                .map_err(ClickHouseError::io(path))?
                .trim_end_matches(['\r', '\n'])
                .to_owned(),
            None => String::new(),
        };
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(Duration::from_secs(5)))
            .timeout_global(Some(Duration::from_secs(server.timeout_s)))
            .build()
            .into();
        Ok(Self {
            agent,
            url: format!("{}/", server.url.trim_end_matches('/')),
            database: server.database.clone(),
            user: server.user.clone(),
            password,
        })
    }

    /// URL of the server's HTTP interface.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Executes a statement that needs no database, such as `CREATE DATABASE`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn execute_without_database(&self, sql: &str) -> Result<String, CallError> {
        self.call(&[], sql.as_bytes(), None)
    }

    /// Inserts rows given as one JSON object per line. Meant for few rows: only the
    /// table's own engine keeps a repeated call from duplicating them.
    ///
    /// # Errors
    /// See [`CallError`].
    pub fn insert_json(&self, table: &str, lines: &str) -> Result<(), CallError> {
        let sql = format!("INSERT INTO {table} FORMAT JSONEachRow");
        let settings = [
            ("database", self.database.as_str()),
            ("query", sql.as_str()),
            ("async_insert", "0"),
            ("distributed_foreground_insert", "1"),
            ("wait_end_of_query", "1"),
        ];
        self.call(&settings, lines.as_bytes(), None).map(|_| ())
    }

    fn call(
        &self,
        pairs: &[(&str, &str)],
        body: &[u8],
        compression: Option<Compression>,
    ) -> Result<String, CallError> {
        let mut request = self
            .agent
            .post(&self.url)
            .header("X-ClickHouse-User", &self.user);
        if !self.password.is_empty() {
            request = request.header("X-ClickHouse-Key", &self.password);
        }
        if compression == Some(Compression::Zstd) {
            request = request.header("Content-Encoding", "zstd");
        }
        for (name, value) in pairs {
            request = request.query(*name, *value);
        }
        let mut answer = request.send(body).map_err(|e| classify(&e))?;
        let status = answer.status().as_u16();
        let code = answer
            .headers()
            .get("X-ClickHouse-Exception-Code")
            .and_then(|v| v.to_str().ok()?.parse::<i32>().ok());
        let text = answer
            .body_mut()
            .with_config()
            .limit(MAX_ANSWER_BYTES)
            .lossy_utf8(true)
            .read_to_string()
            .map_err(|e| CallError::Broken(e.to_string()))?;
        if status == 200 && code.is_none() {
            return Ok(text);
        }
        let shown: String = text.trim().chars().take(SHOWN_CHARS).collect();
        Err(CallError::Server {
            status,
            code: code.unwrap_or(0),
            text: shown.replace('\n', " "),
        })
    }
}

impl Database for Client {
    fn name(&self) -> &str {
        &self.database
    }

    fn create_schema(&self) -> Result<(), CallError> {
        let database = format!("CREATE DATABASE IF NOT EXISTS {}", self.database);
        self.execute_without_database(&database)?;
        for statement in schema::statements() {
            self.query(&statement, &[])?;
        }
        Ok(())
    }

    fn query(&self, sql: &str, parameters: &[(&str, &str)]) -> Result<String, CallError> {
        let names: Vec<String> = parameters
            .iter()
            .map(|(n, _)| format!("param_{n}"))
            .collect();
        let mut pairs = vec![("database", self.database.as_str())];
        for (name, (_, value)) in names.iter().zip(parameters) {
            pairs.push((name, value));
        }
        self.call(&pairs, sql.as_bytes(), None)
    }

    fn insert(
        &self,
        table: &str,
        columns: &str,
        token: &str,
        body: &[u8],
        compression: Compression,
    ) -> Result<(), CallError> {
        let sql = format!("INSERT INTO {table} ({columns}) FORMAT Native");
        let settings = [
            ("database", self.database.as_str()),
            ("query", sql.as_str()),
            ("insert_deduplication_token", token),
            ("insert_deduplicate", "1"),
            ("deduplicate_blocks_in_dependent_materialized_views", "1"),
            // One block becomes one part, so the insert is atomic.
            ("max_insert_block_size", "100000000"),
            ("async_insert", "0"),
            ("distributed_foreground_insert", "1"),
            // The server reports success only after the insert is complete.
            ("wait_end_of_query", "1"),
        ];
        self.call(&settings, body, Some(compression)).map(|_| ())
    }
}

fn classify(e: &ureq::Error) -> CallError {
    use std::io::ErrorKind;
    match e {
        ureq::Error::ConnectionFailed
        | ureq::Error::HostNotFound
        | ureq::Error::BadUri(_)
        | ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            CallError::Unreachable(e.to_string())
        }
        ureq::Error::Io(io) if io.kind() == ErrorKind::ConnectionRefused => {
            CallError::Unreachable(e.to_string())
        }
        _ => CallError::Broken(e.to_string()),
    }
}
