// SPDX-License-Identifier: Apache-2.0
//! The audit log in ClickHouse, so that a dashboard can overlay every limit change on what the
//! collectors stored there.
//!
//! The log's file is the queue. [`follow`] reads it from the position that [`progress`] keeps,
//! [`row`] turns its lines into rows, and the position advances only when the server has taken
//! them. A record may wait for days and survives a restart of both ends. It may be sent twice; the
//! table keeps one row per record.

pub(crate) mod follow;
mod progress;
mod row;

use crate::config::Config;
use anyhow::Context as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Thread;
use std::time::Duration;
use tidemark_clickhouse::Client;

#[derive(Debug)]
pub(crate) struct Store {
    pub stats: Arc<Stats>,
    end: Arc<AtomicBool>,
    thread: Thread,
    /// Disconnected when the thread ends.
    ended: Receiver<()>,
}

/// Counters of the store.
#[derive(Debug, Default)]
pub struct Stats {
    /// Records stored on the server.
    pub stored: AtomicU64,
    /// Lines of the log that are not records, or that the server cannot read.
    pub rejected: AtomicU64,
    /// Failed attempts.
    pub retries: AtomicU64,
    /// Bytes of the log that are not on the server yet.
    pub waiting_bytes: AtomicU64,
}

impl Store {
    /// Starts storing, if the configuration names a server.
    pub(crate) fn start(config: &Config) -> anyhow::Result<Option<Self>> {
        let (Some(server), Some(log)) = (config.clickhouse.server(), &config.control.audit_log)
        else {
            return Ok(None);
        };
        let client = Client::of(&server)?;
        let stats = Arc::new(Stats::default());
        let end = Arc::new(AtomicBool::new(false));
        let mut follower = follow::Follower::new(log, client, &config.clickhouse, &stats);
        let ends = Arc::clone(&end);
        let (ending, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("audit-store".into())
            .spawn(move || {
                let _ending = ending;
                follower.run(&ends);
            })
            .context("clickhouse: cannot start a thread")?;
        Ok(Some(Self {
            stats,
            end,
            thread: thread.thread().clone(),
            ended,
        }))
    }

    /// Sends the rest of the log once, within this time; whatever remains waits in the log for the
    /// next start.
    pub(crate) fn finish(self, within: Duration) {
        self.end.store(true, Ordering::Release);
        self.thread.unpark();
        if self.ended.recv_timeout(within) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!(
                "audit log: clickhouse has not answered within {within:?}: \
                 what it has not taken waits in the log for the next start"
            );
        }
    }
}
