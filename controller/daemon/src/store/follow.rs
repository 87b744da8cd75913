// SPDX-License-Identifier: Apache-2.0
//! Follows the audit log as it grows, and sends new records.

use super::Stats;
use super::progress::{Position, ProgressFile};
use super::row::row;
use crate::config::ClickHouse;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tidemark_clickhouse::error::CallError;
use tidemark_clickhouse::{Client, Database as _};

const TABLE: &str = "limit_changes";
const POLL_EVERY: Duration = Duration::from_millis(500);
const CHUNK_BYTES: u64 = 1 << 20;

/// Sends one log to one server.
#[derive(Debug)]
pub(crate) struct Follower {
    log: PathBuf,
    progress: ProgressFile,
    client: Client,
    controller: String,
    schema_wanted: bool,
    retry_max: Duration,
    stats: Arc<Stats>,
}

/// Why a pass did not reach the end of the log.
#[derive(Debug)]
enum Trouble {
    Log(std::io::Error),
    Server(CallError),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Trouble::Log(e) => write!(f, "control.audit_log: {e}"),
            Trouble::Server(e) => write!(f, "clickhouse: {e}"),
        }
    }
}

impl Follower {
    pub(crate) fn new(log: &Path, client: Client, config: &ClickHouse, stats: &Arc<Stats>) -> Self {
        Self {
            log: log.into(),
            progress: ProgressFile::beside(log),
            client,
            controller: config.controller_name(),
            schema_wanted: config.create_schema,
            retry_max: Duration::from_millis(config.retry_max_ms),
            stats: Arc::clone(stats),
        }
    }

    /// Sends new records until `end` is set, and once more after that.
    pub(crate) fn run(&mut self, end: &AtomicBool) {
        let mut pause = POLL_EVERY;
        let mut failing = false;
        loop {
            let last = end.load(Ordering::Acquire);
            match self.pass() {
                Ok(()) => {
                    if failing {
                        tracing::info!("audit log: stored again");
                    }
                    failing = false;
                    pause = POLL_EVERY;
                }
                Err(e) => {
                    self.stats.retries.fetch_add(1, Ordering::Relaxed);
                    if !failing {
                        tracing::warn!("audit log: not stored now; records wait in its file: {e}");
                    }
                    failing = true;
                    pause = (2 * pause).min(self.retry_max).max(POLL_EVERY);
                }
            }
            if last {
                return;
            }
            std::thread::park_timeout(pause);
        }
    }

    /// Sends everything that the log holds beyond the stored position.
    fn pass(&mut self) -> Result<(), Trouble> {
        loop {
            let mut file = File::open(&self.log).map_err(Trouble::Log)?;
            let meta = file.metadata().map_err(Trouble::Log)?;
            let mut at = self.progress.load().map_err(Trouble::Log)?;
            if at.inode != meta.ino() || at.bytes > meta.len() {
                at = Position {
                    inode: meta.ino(),
                    bytes: 0,
                };
            }
            let waiting = meta.len() - at.bytes;
            self.stats.waiting_bytes.store(waiting, Ordering::Relaxed);
            if waiting == 0 {
                return Ok(());
            }
            let chunk = lines_from(&mut file, at.bytes).map_err(Trouble::Log)?;
            if chunk.is_empty() {
                return Ok(());
            }
            self.send(&chunk).map_err(Trouble::Server)?;
            at.bytes += chunk.len() as u64;
            self.progress.save(at).map_err(Trouble::Log)?;
            let waiting = meta.len() - at.bytes;
            self.stats.waiting_bytes.store(waiting, Ordering::Relaxed);
        }
    }

    fn send(&mut self, chunk: &[u8]) -> Result<(), CallError> {
        if self.schema_wanted {
            self.client.create_schema()?;
            self.schema_wanted = false;
        }
        let lines = chunk.split(|&b| b == b'\n').filter(|l| !l.is_empty());
        let rows = lines.map(|l| row(&self.controller, std::str::from_utf8(l).ok()?));
        let rows: Vec<Option<String>> = rows.collect();
        let good: Vec<&str> = rows.iter().flatten().map(String::as_str).collect();
        let refused = self.insert(&good)?;
        // Counted only after success: a chunk may be sent several times.
        let no_record = rows.len() - good.len();
        let stored = good.len() - refused.len();
        let s = &self.stats;
        s.stored.fetch_add(stored as u64, Ordering::Relaxed);
        let rejected = (no_record + refused.len()) as u64;
        s.rejected.fetch_add(rejected, Ordering::Relaxed);
        let log = self.log.display();
        if no_record > 0 {
            tracing::error!(
                "audit log: {log}: {no_record} lines are not audit records and are not stored"
            );
        }
        for why in refused {
            tracing::error!("audit log: {log}: a record is not stored: {why}");
        }
        Ok(())
    }

    /// Inserts rows; returns the server's errors about rows that it cannot read.
    fn insert(&self, rows: &[&str]) -> Result<Vec<CallError>, CallError> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        match self.client.insert_json(TABLE, &rows.join("\n")) {
            Ok(()) => Ok(Vec::new()),
            // One of them is at fault: the other rows are stored without it.
            Err(e) if e.bad_data() && rows.len() > 1 => {
                let each: Result<Vec<_>, _> = rows.iter().map(|r| self.insert(&[*r])).collect();
                Ok(each?.into_iter().flatten().collect())
            }
            Err(e) if e.bad_data() => Ok(vec![e]),
            Err(e) => Err(e),
        }
    }
}

/// Reads whole lines from a position, about [`CHUNK_BYTES`] of them; a line that is still being
/// written is left for later.
fn lines_from(file: &mut File, at_bytes: u64) -> std::io::Result<Vec<u8>> {
    let mut limit = CHUNK_BYTES;
    loop {
        file.seek(SeekFrom::Start(at_bytes))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        let whole = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        if whole > 0 || (bytes.len() as u64) < limit {
            bytes.truncate(whole);
            return Ok(bytes);
        }
        // A longer line: read on to its end.
        limit *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn only_whole_lines_are_read() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one\ntwo\nthr").unwrap();
        assert_eq!(lines_from(&mut file, 0).unwrap(), b"one\ntwo\n");
        assert_eq!(lines_from(&mut file, 4).unwrap(), b"two\n");
        assert_eq!(lines_from(&mut file, 8).unwrap(), b"");
        file.write_all(b"ee\n").unwrap();
        assert_eq!(lines_from(&mut file, 8).unwrap(), b"three\n");
    }

    #[test]
    fn a_long_line_is_read_whole() {
        let mut file = tempfile::tempfile().unwrap();
        let long = vec![b'x'; 3 * CHUNK_BYTES as usize];
        file.write_all(&long).unwrap();
        file.write_all(b"\nshort\n").unwrap();
        let read = lines_from(&mut file, 0).unwrap();
        assert!(read.starts_with(&long) && read.ends_with(b"\n"));
    }
}
