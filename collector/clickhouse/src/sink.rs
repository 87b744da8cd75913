// SPDX-License-Identifier: Apache-2.0
//! Takes rows from the pipeline and never makes it wait.

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

/// Rows handed to the writer at once.
const CHUNK_ROWS: usize = 4096;
/// Chunks that may wait for it.
const QUEUE_CHUNKS: usize = 64;
/// Longest time for an attempt under way at the deadline.
const GRACE: Duration = Duration::from_secs(1);

/// The sink of rows; it owns the threads of the writer and the inserters.
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
    /// Names by index, for events and for samples.
    host_names: Vec<String>,
    hosts: Vec<Arc<str>>,
}

impl ClickHouseSink {
    /// Starts the threads; what a former start left in the spool is inserted
    /// first. `capture` is the name of this start in the tables (letters, digits
    /// and `-`). `unix_s` tells the Unix time, s.
    ///
    /// `load`: nobody waits for the rows, and they may be a repetition. They wait for
    /// the server instead of being lost, and every batch is looked for before it is
    /// inserted.
    ///
    /// # Errors
    /// A configuration that cannot be used, or an unusable spool. The server
    /// need not be there.
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

    /// As [`ClickHouseSink::start`], with a disk and a server of one's own and
    /// without threads: nothing is written or inserted but by [`SinkSteps`].
    ///
    /// # Errors
    /// A configuration that cannot be used, or an unusable spool.
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

    /// Counters since the start.
    pub fn stats(&self) -> SinkStats {
        self.stats.clone()
    }

    /// Sets the offset that turns `rx_ns` into Unix time.
    pub fn set_unix_offset(&mut self, unix_minus_rx_ns: i64) {
        self.unix_minus_rx_ns = unix_minus_rx_ns;
    }
    /// Takes a reported packet. One that finds no room is counted as lost.
    pub fn postcard(&mut self, row: &PostcardRow) {
        self.postcards.push(*row);
        if self.postcards.len() >= CHUNK_ROWS {
            self.flush();
        }
    }
    /// Takes a sample; the same.
    pub fn probe(&mut self, row: &ProbeRow) {
        let host = self.hosts.get(usize::from(row.host)).cloned();
        self.probe_of(row, host.unwrap_or_default());
    }

    /// A sample whose host is known by name.
    pub fn probe_of(&mut self, row: &ProbeRow, host: Arc<str>) {
        self.probes.push(NamedProbe { row: *row, host });
        if self.probes.len() >= CHUNK_ROWS {
            self.flush();
        }
    }
    /// Takes an event; the same.
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

    /// Hands gathered rows to the writer.
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

    /// Hands over what has gathered; nothing is taken any more. For a sink without
    /// threads; its steps come to their end then.
    pub fn close(&mut self) {
        self.flush();
        self.sender = None;
    }

    /// Closes the open batches and inserts what waits; after
    /// `clickhouse.finish_s` the rest stays in the spool for the next start.
    /// A sink that waits does so without end.
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
        // An inserter in a call that hangs is left to the end of the process;
        // its batch stays in the spool.
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
