// SPDX-License-Identifier: Apache-2.0
//! Inserts batches one after another.

use crate::config::ClickHouseConfig;
use crate::database::Database;
use crate::error::CallError;
use crate::insert::{self, Engine, Outcome};
use crate::queue::{Queue, Waiting};
use crate::spool::{Spool, Spooled};
use crate::stats::{Loss, SinkStats};
use durable_fs::SharedDisk;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

/// First pause after a failed attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Number of attempts to read a file; later batches wait behind it.
const READS: u32 = 5;

/// Inserts batches one after another.
pub(crate) struct Inserter {
    pub config: ClickHouseConfig,
    pub database: Arc<dyn Database>,
    pub disk: SharedDisk,
    pub queue: Arc<Queue>,
    pub stats: SinkStats,
    pub engine: Option<Engine>,
}

/// A batch that is being inserted.
pub(crate) struct Job {
    waiting: Waiting,
    /// Whether the server may have executed an earlier attempt.
    doubtful: bool,
    pause: Duration,
    reads: u32,
}

impl Job {
    pub(crate) fn new(waiting: Waiting) -> Self {
        Self {
            doubtful: waiting.batch.doubtful,
            waiting,
            pause: FIRST_PAUSE,
            reads: 0,
        }
    }
}

/// How an attempt ended.
pub(crate) enum Attempt {
    /// The batch is stored in the server, or given up.
    Done,
    /// The attempt is to be repeated after this pause.
    Again(Duration),
}

impl Inserter {
    /// Runs until the queue is complete and empty, or its deadline has passed. The
    /// remaining batches stay in the spool.
    pub(crate) fn run(mut self) {
        while let Some(waiting) = self.queue.pop() {
            let mut job = Job::new(waiting);
            while let Attempt::Again(pause) = self.attempt(&mut job) {
                if !self.queue.pause(pause) {
                    return;
                }
            }
        }
    }

    /// Tries once to insert the batch.
    pub(crate) fn attempt(&mut self, job: &mut Job) -> Attempt {
        if !self.has_body(job) {
            return match job.reads {
                READS.. => Attempt::Done,
                _ => job.again(&self.config),
            };
        }
        let batch = &job.waiting.batch;
        let body = job.waiting.body.as_deref().unwrap_or_default();
        let result = self.connect().and_then(|engine| {
            insert::attempt(
                &*self.database,
                engine,
                &batch.name,
                batch.compression,
                body,
                job.doubtful,
                &self.stats,
            )
        });
        match result {
            Ok(Outcome::Stored) => self.stored(&job.waiting),
            Ok(Outcome::Partial { found }) => {
                let why = format!("the server keeps only {found} of {} rows", batch.name.rows);
                self.put_aside(batch, Loss::Rejected, &why);
            }
            Err(e) if e.bad_data() => self.put_aside(batch, Loss::Rejected, &e.to_string()),
            Err(e) => {
                job.doubtful |= !matches!(e, CallError::Unreachable(_));
                // After an outage the server may have another engine.
                self.engine = None;
                if self.stats.set_failure(Some(e.to_string())) {
                    tracing::warn!("clickhouse: {e}; rows wait in the spool");
                }
                self.stats.add_retries(1);
                return job.again(&self.config);
            }
        }
        Attempt::Done
    }

    /// Reads the batch's file if the body is not in memory. A file that cannot be read
    /// is given up after a few attempts.
    fn has_body(&self, job: &mut Job) -> bool {
        if job.waiting.body.is_some() {
            return true;
        }
        let batch = &job.waiting.batch;
        match self.disk.read(&batch.path) {
            Ok(body) => job.waiting.body = Some(body),
            Err(e) => {
                job.reads = match e.kind() {
                    ErrorKind::NotFound => READS,
                    _ => job.reads + 1,
                };
                tracing::error!("clickhouse spool: {}: {e}", batch.path.display());
                if e.kind() == ErrorKind::NotFound {
                    self.stats.lose(Loss::SpoolError, batch.name.rows);
                    self.left_spool(batch);
                } else if job.reads >= READS {
                    self.put_aside(batch, Loss::SpoolError, "it cannot be read");
                }
                return false;
            }
        }
        true
    }

    /// Returns the tables' engine; first creates the tables if so configured.
    fn connect(&mut self) -> Result<Engine, CallError> {
        if let Some(engine) = self.engine {
            return Ok(engine);
        }
        if self.config.create_schema {
            self.database.create_schema()?;
        }
        let engine = insert::engine(&*self.database)?;
        self.engine = Some(engine);
        Ok(engine)
    }

    fn stored(&self, waiting: &Waiting) {
        let batch = &waiting.batch;
        if self.stats.set_failure(None) {
            tracing::info!("clickhouse: inserting again");
        }
        self.stats.add_inserted(batch.name.rows);
        self.stats.add_batches(1);
        // A power cut may bring the file back: the next start then finds its rows stored.
        if let Err(e) = self.disk.remove(&batch.path) {
            tracing::error!("clickhouse spool: {}: {e}", batch.path.display());
        }
        self.left_spool(batch);
    }

    /// Takes a batch that leaves the spool out of the counters, and releases its room.
    fn left_spool(&self, batch: &Spooled) {
        self.stats.left_spool(batch);
        self.queue.done(batch.bytes);
    }

    /// Moves a batch to `rejected/` and counts its rows as lost. If the move fails, the
    /// batch stays in the spool, keeps its room, and the next start tries it again.
    fn put_aside(&self, batch: &Spooled, loss: Loss, why: &str) {
        match Spool::reject(&*self.disk, batch) {
            Ok(path) => {
                self.stats.lose(loss, batch.name.rows);
                self.left_spool(batch);
                tracing::error!("clickhouse: {why}; kept in {}", path.display());
            }
            Err(e) => {
                tracing::error!("clickhouse: {why}; {e}; it stays in the spool for the next start");
            }
        }
    }
}

impl Job {
    fn again(&mut self, config: &ClickHouseConfig) -> Attempt {
        let pause = self.pause;
        self.pause = (pause * 2).min(Duration::from_millis(config.retry_max_ms));
        Attempt::Again(pause)
    }
}
