// SPDX-License-Identifier: Apache-2.0
//! The threads behind the sink: one makes batches, others insert them.

use crate::block::{Builder, Common};
use crate::client::Client;
use crate::config::ClickHouseConfig;
use crate::error::{CallError, ClickHouseError};
use crate::insert::{self, Engine, Outcome};
use crate::message::{Message, Rows};
use crate::queue::{Queue, Waiting};
use crate::schema;
use crate::spool::{BatchName, Spool};
use crate::stats::{Loss, SinkStats};
use crate::tables::Table;
use crate::unix_time::UnixTime;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tidemark_rows::{FlatEvent, NamedProbe, PostcardRow};

/// First pause after a failed attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// Makes batches of rows.
pub(crate) struct Writer {
    pub config: ClickHouseConfig,
    pub capture: String,
    pub spool: Spool,
    pub queue: Arc<Queue>,
    pub stats: SinkStats,
    /// Tells the Unix time, s.
    pub unix_s: fn() -> u64,
    /// Wait for room instead of losing rows; batches may be repetitions.
    pub wait: bool,
    pub unix_time: UnixTime,
    pub postcards: Builder<PostcardRow>,
    pub probes: Builder<NamedProbe>,
    pub events: Builder<FlatEvent>,
    pub number: u64,
    pub started_s: u64,
}

impl Writer {
    pub(crate) fn new(
        config: ClickHouseConfig,
        capture: String,
        spool: Spool,
        queue: Arc<Queue>,
        stats: SinkStats,
        unix_s: fn() -> u64,
        wait: bool,
    ) -> Self {
        Self {
            config,
            capture,
            spool,
            queue,
            stats,
            unix_s,
            wait,
            unix_time: UnixTime::default(),
            postcards: Builder::default(),
            probes: Builder::default(),
            events: Builder::default(),
            number: 0,
            started_s: unix_s(),
        }
    }

    /// Works until the sink is gone.
    pub(crate) fn run(mut self, receiver: &Receiver<Message>) {
        // Waiting for room means that nobody waits for rows: batches are cut by
        // their rows alone, the same at every repetition.
        let period = Duration::from_millis(if self.wait {
            u64::MAX / 2
        } else {
            self.config.batch_ms
        });
        let mut opened = Instant::now();
        loop {
            let left = period.saturating_sub(opened.elapsed());
            match receiver.recv_timeout(left.min(Duration::from_secs(3600))) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let most = (self.postcards.rows())
                .max(self.probes.rows())
                .max(self.events.rows());
            if most >= self.config.batch_rows || opened.elapsed() >= period {
                self.seal();
                opened = Instant::now();
            }
        }
        self.seal();
    }

    fn take(&mut self, message: Message) {
        let unix_time = &mut self.unix_time;
        let unix_minus_rx_ns = message.unix_minus_rx_ns;
        match message.rows {
            Rows::Postcards(rows) => self.postcards.append(&rows, |r| {
                let unix_ns = (r.rx_ns as i64).wrapping_add(unix_minus_rx_ns);
                unix_time.observe(r.node_id, r.time_ns(), unix_ns)
            }),
            Rows::Probes(rows) => self
                .probes
                .append(&rows, |r| unix_time.offset(r.row.node_id)),
            Rows::Events(rows) => self.events.append(&rows, |r| {
                if let ("restart", Some(node)) = (r.kind.as_str(), r.node_id) {
                    unix_time.restart(node);
                }
                r.node_id().map_or(0, |n| unix_time.offset(n))
            }),
        }
    }

    /// All tables at once, so that a kill loses the same time of each.
    fn seal(&mut self) {
        let mut postcards = std::mem::take(&mut self.postcards);
        let mut probes = std::mem::take(&mut self.probes);
        let mut events = std::mem::take(&mut self.events);
        self.seal_table(&mut postcards);
        self.seal_table(&mut probes);
        self.seal_table(&mut events);
        // The columns keep their memory for the next batch.
        (self.postcards, self.probes, self.events) = (postcards, probes, events);
    }

    fn seal_table<T: Table>(&mut self, builder: &mut Builder<T>) {
        let rows = builder.rows() as u64;
        if rows == 0 {
            return;
        }
        let common = Common {
            capture: &self.capture,
            batch: builder.first_order(),
            stored_on: ((self.unix_s)() / 86_400) as u16,
        };
        let packed = builder.pack(&common, self.config.compression);
        let name = BatchName {
            started_s: self.started_s,
            number: self.number,
            table: T::NAME.to_owned(),
            capture: self.capture.clone(),
            batch: builder.first_order(),
            rows,
        };
        builder.clear();
        self.number += 1;
        let body = match packed {
            Ok(body) => body,
            Err(e) => {
                tracing::error!("clickhouse: packing a batch: {e}; {rows} rows lost");
                return self.stats.lose(Loss::SpoolError, rows);
            }
        };
        let max = self.config.spool_max_bytes;
        if !self.queue.has_room(body.len() as u64, max, self.wait) {
            return self.stats.lose(Loss::SpoolFull, rows);
        }
        match self.spool.put(name, &body, self.config.compression) {
            Ok(mut batch) => {
                batch.doubtful = self.wait;
                self.stats.add_spool_bytes(batch.bytes);
                self.stats.add_spool_batches(1);
                self.queue.push(batch, Some(body));
            }
            Err(e) => {
                tracing::error!("clickhouse spool: {e}; {rows} rows lost");
                self.stats.lose(Loss::SpoolError, rows);
            }
        }
    }
}

/// Inserts batches, one after the other.
pub(crate) struct Inserter {
    pub config: ClickHouseConfig,
    pub client: Client,
    pub queue: Arc<Queue>,
    pub stats: SinkStats,
    pub engine: Option<Engine>,
}

impl Inserter {
    /// Works until the queue is complete and empty, or its time is up.
    pub(crate) fn run(mut self) {
        while let Some(waiting) = self.queue.pop() {
            if !self.batch(&waiting) {
                return;
            }
            self.queue.done(waiting.batch.bytes);
        }
    }

    /// False when time is up; the batch waits in the spool then.
    fn batch(&mut self, waiting: &Waiting) -> bool {
        let batch = &waiting.batch;
        let read;
        let body = match &waiting.body {
            Some(body) => body,
            None => match std::fs::read(&batch.path) {
                Ok(body) => {
                    read = body;
                    &read
                }
                Err(e) => {
                    tracing::error!("clickhouse spool: {}: {e}", batch.path.display());
                    self.stats.lose(Loss::SpoolError, batch.name.rows);
                    self.stats.sub_spool(batch.bytes);
                    return true;
                }
            },
        };
        let mut doubtful = batch.doubtful;
        let mut pause = FIRST_PAUSE;
        loop {
            let result = self.connect().and_then(|engine| {
                insert::attempt(
                    &self.client,
                    engine,
                    &batch.name,
                    batch.compression,
                    body,
                    doubtful,
                    &self.stats,
                )
            });
            match result {
                Ok(Outcome::Stored) => {
                    self.stored(waiting);
                    return true;
                }
                Ok(Outcome::Partial { found }) => {
                    let why = format!("the server keeps only {found} of {} rows", batch.name.rows);
                    self.reject(waiting, &why);
                    return true;
                }
                Err(e) if e.bad_data() => {
                    self.reject(waiting, &e.to_string());
                    return true;
                }
                Err(e) => {
                    doubtful |= !matches!(e, CallError::Unreachable(_));
                    // The server may come back as another one.
                    self.engine = None;
                    if self.stats.set_failure(Some(e.to_string())) {
                        tracing::warn!("clickhouse: {e}; rows wait in the spool");
                    }
                }
            }
            self.stats.add_retries(1);
            if !self.queue.pause(pause) {
                return false;
            }
            pause = (pause * 2).min(Duration::from_millis(self.config.retry_max_ms));
        }
    }

    /// Knows the tables, after making them if so configured.
    fn connect(&mut self) -> Result<Engine, CallError> {
        if let Some(engine) = self.engine {
            return Ok(engine);
        }
        if self.config.create_schema {
            schema::create(&self.client)?;
        }
        let engine = insert::engine(&self.client)?;
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
        self.stats.sub_spool(batch.bytes);
        if let Err(e) = std::fs::remove_file(&batch.path) {
            // Found again at the next start, and found stored then.
            tracing::error!("clickhouse spool: {}: {e}", batch.path.display());
        }
    }

    fn reject(&self, waiting: &Waiting, why: &str) {
        let batch = &waiting.batch;
        self.stats.lose(Loss::Rejected, batch.name.rows);
        self.stats.sub_spool(batch.bytes);
        match Spool::reject(batch) {
            Ok(path) => tracing::error!("clickhouse: {why}; kept in {}", path.display()),
            Err(e) => tracing::error!("clickhouse: {why}; {e}"),
        }
    }
}

/// An [`ClickHouseError::Io`] for a thread that cannot start.
pub(crate) fn cannot_start(source: std::io::Error) -> ClickHouseError {
    ClickHouseError::Io {
        path: "thread".into(),
        source,
    }
}
