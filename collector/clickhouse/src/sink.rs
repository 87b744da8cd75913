// SPDX-License-Identifier: Apache-2.0
//! Takes rows from the pipeline without ever making the pipeline wait.

use crate::client::Client;
use crate::config::ClickHouseConfig;
use crate::database::Database;
use crate::error::ClickHouseError;
use crate::inserter::Inserter;
use crate::queue::Queue;
use crate::spool::Spool;
use crate::stats::{Loss, SinkStats};
use crate::steps::SinkSteps;
use crate::writer::{Message, Rows, Writer, cannot_start};
use durable_fs::SharedDisk;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tidemark_rows::{Event, EventRow, FlatEvent, NamedProbe, PostcardRow, ProbeRow};

/// Number of rows handed to the writer in one message.
const CHUNK_ROWS: usize = 4096;
/// Number of messages that may wait for the writer.
const QUEUE_CHUNKS: usize = 64;
/// How long to wait after the deadline for attempts that are still running.
const GRACE: Duration = Duration::from_secs(1);

/// The sink for rows; owns the threads of the writer and the inserters.
pub struct ClickHouseSink {
    sender: Option<SyncSender<Message>>,
    writer: Option<JoinHandle<()>>,
    inserters: Vec<JoinHandle<()>>,
    queue: Arc<Queue>,
    stats: SinkStats,
    wait: bool,
    finish: Duration,
    unix_minus_rx_ns: i64,
    postcards: Vec<PostcardRow>,
    probes: Vec<NamedProbe>,
    events: Vec<FlatEvent>,
    /// Host names by index; `host_names` is for events, `hosts` for samples.
    host_names: Vec<String>,
    hosts: Vec<Arc<str>>,
}

impl ClickHouseSink {
    /// Starts the sink and its threads. Batches that an earlier start left in the spool
    /// are inserted first. `capture` names this start in the tables (letters, digits
    /// and `-`). `unix_s` returns the Unix time in s.
    ///
    /// `load`: the rows are loaded from a capture, perhaps repeatedly. The caller waits for
    /// the server instead of losing rows, and every batch is looked up before it is
    /// inserted.
    ///
    /// # Errors
    /// The configuration is invalid, or the spool cannot be used. The server need not
    /// be reachable.
    pub fn start(
        config: &ClickHouseConfig,
        capture: &str,
        unix_s: fn() -> u64,
        load: bool,
    ) -> Result<Self, ClickHouseError> {
        let client = Client::new(config)?;
        let disk = durable_fs::real();
        let database: Arc<dyn Database> = Arc::new(client);
        let (mut sink, steps) = Self::stepped(config, &disk, &database, capture, unix_s, load)?;
        let named = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let SinkSteps {
            writer, receiver, ..
        } = steps;
        let writer = named("clickhouse")
            .spawn(move || writer.run(&receiver))
            .map_err(cannot_start)?;
        sink.writer = Some(writer);
        for _ in 0..config.connections {
            let inserter = sink.inserter(config, &disk, &database);
            sink.inserters.push(
                named("ch-insert")
                    .spawn(move || inserter.run())
                    .map_err(cannot_start)?,
            );
        }
        Ok(sink)
    }

    fn inserter(
        &self,
        config: &ClickHouseConfig,
        disk: &SharedDisk,
        database: &Arc<dyn Database>,
    ) -> Inserter {
        Inserter {
            config: config.clone(),
            database: Arc::clone(database),
            disk: Arc::clone(disk),
            queue: self.queue.clone(),
            stats: self.stats.clone(),
            engine: None,
        }
    }

    /// Like [`ClickHouseSink::start`], but takes the disk and the server, and starts no
    /// threads: only [`SinkSteps`] writes and inserts.
    ///
    /// # Errors
    /// The configuration is invalid, or the spool cannot be used.
    pub fn stepped(
        config: &ClickHouseConfig,
        disk: &SharedDisk,
        database: &Arc<dyn Database>,
        capture: &str,
        unix_s: fn() -> u64,
        load: bool,
    ) -> Result<(Self, SinkSteps), ClickHouseError> {
        config.validate()?;
        let Some(dir) = &config.spool_dir else {
            return Err(ClickHouseError::config("spool_dir", "is needed"));
        };
        let (spool, left) = Spool::open(Arc::clone(disk), dir)?;
        let queue = Arc::new(Queue::default());
        let stats = SinkStats::default();
        for batch in left {
            stats.spooled(&batch);
            queue.push_left(batch);
        }
        let (sender, receiver) = sync_channel(QUEUE_CHUNKS);
        let writer = Writer::new(
            config.clone(),
            capture.to_owned(),
            spool,
            queue.clone(),
            stats.clone(),
            unix_s,
            load,
        );
        let sink = Self {
            sender: Some(sender),
            writer: None,
            inserters: Vec::new(),
            queue,
            stats,
            wait: load,
            finish: Duration::from_secs(config.finish_s),
            unix_minus_rx_ns: 0,
            postcards: Vec::new(),
            probes: Vec::new(),
            events: Vec::new(),
            host_names: Vec::new(),
            hosts: Vec::new(),
        };
        let inserter = sink.inserter(config, disk, database);
        Ok((sink, SinkSteps::new(writer, receiver, inserter)))
    }

    /// Returns the counters, which run since the start.
    pub fn stats(&self) -> SinkStats {
        self.stats.clone()
    }

    /// Sets the offset that turns `rx_ns` into Unix time.
    pub fn set_unix_offset(&mut self, unix_minus_rx_ns: i64) {
        self.unix_minus_rx_ns = unix_minus_rx_ns;
    }
    /// Takes a reported packet; rows that find no room in the queue are counted as lost.
    pub fn postcard(&mut self, row: &PostcardRow) {
        self.postcards.push(*row);
        if self.postcards.len() >= CHUNK_ROWS {
            self.flush();
        }
    }
    /// Takes a sample, like [`Self::postcard`].
    pub fn probe(&mut self, row: &ProbeRow) {
        let host = self.hosts.get(usize::from(row.host)).cloned();
        self.probe_of(row, host.unwrap_or_default());
    }

    /// Takes a sample whose host is given by name.
    pub fn probe_of(&mut self, row: &ProbeRow, host: Arc<str>) {
        self.probes.push(NamedProbe { row: *row, host });
        if self.probes.len() >= CHUNK_ROWS {
            self.flush();
        }
    }
    /// Takes an event, like [`Self::postcard`].
    pub fn event(&mut self, row: &EventRow) {
        if let Event::Host { host, name } = &row.event {
            let i = usize::from(*host);
            if self.hosts.len() <= i {
                self.hosts.resize(i + 1, Arc::default());
                self.host_names.resize(i + 1, String::new());
            }
            self.hosts[i] = Arc::from(&**name);
            self.host_names[i] = name.to_string();
        }
        self.events.push(FlatEvent::new(row, &self.host_names));
        if self.events.len() >= CHUNK_ROWS {
            self.flush();
        }
    }

    /// Hands the buffered rows to the writer.
    pub fn flush(&mut self) {
        if !self.postcards.is_empty() {
            let rows = std::mem::take(&mut self.postcards);
            self.postcards.reserve(CHUNK_ROWS);
            self.send(rows.len(), Rows::Postcards(rows));
        }
        if !self.probes.is_empty() {
            let rows = std::mem::take(&mut self.probes);
            self.send(rows.len(), Rows::Probes(rows));
        }
        if !self.events.is_empty() {
            let rows = std::mem::take(&mut self.events);
            self.send(rows.len(), Rows::Events(rows));
        }
    }

    fn send(&self, count: usize, rows: Rows) {
        self.stats.add_taken(count as u64);
        let lose = || self.stats.lose(Loss::QueueFull, count as u64);
        let message = Message {
            rows,
            unix_minus_rx_ns: self.unix_minus_rx_ns,
        };
        let Some(sender) = &self.sender else {
            return lose();
        };
        if self.wait {
            if sender.send(message).is_err() {
                lose();
            }
        } else if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            sender.try_send(message)
        {
            lose();
        }
    }

    /// Hands over the buffered rows and takes no more. For a sink without threads, whose
    /// steps can then end.
    pub fn close(&mut self) {
        self.flush();
        self.sender = None;
    }

    /// Closes the open batches and inserts all waiting batches. After
    /// `clickhouse.finish_s` the rest stays in the spool for the next start.
    /// A sink started with `load` waits without a time limit.
    pub fn finish(mut self) -> SinkStats {
        self.end();
        self.stats.clone()
    }

    fn end(&mut self) {
        let deadline = (!self.wait).then(|| Instant::now() + self.finish);
        let waiting = std::mem::replace(&mut self.wait, true);
        self.flush();
        self.wait = waiting;
        self.sender = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("clickhouse: the writer panicked");
        }
        self.queue.complete(deadline);
        // An inserter whose call hangs runs on until the process ends; its batch
        // stays in the spool.
        while deadline.is_some_and(|d| Instant::now() < d + GRACE)
            && self.inserters.iter().any(|i| !i.is_finished())
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        for inserter in self.inserters.drain(..) {
            if deadline.is_some() && !inserter.is_finished() {
                continue;
            }
            if inserter.join().is_err() {
                tracing::error!("clickhouse: an inserter panicked");
            }
        }
        let left = self.stats.spool_batches();
        if left > 0 {
            tracing::warn!("clickhouse: {left} batches wait in the spool for the next start");
        }
    }
}

impl Drop for ClickHouseSink {
    fn drop(&mut self) {
        if self.writer.is_some() {
            self.end();
        }
    }
}
