// SPDX-License-Identifier: Apache-2.0
//! Forms batches of rows and puts them into the spool.

use crate::block::{Builder, Common};
use crate::config::ClickHouseConfig;
use crate::error::ClickHouseError;
use crate::queue::Queue;
use crate::spool::{BatchName, Spool, Spooled};
use crate::stats::{Loss, SinkStats};
use crate::tables::Table;
use crate::unix_time::UnixTime;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use tidemark_rows::{FlatEvent, NamedProbe, PostcardRow};

/// Rows of one table.
pub(crate) enum Rows {
    Postcards(Vec<PostcardRow>),
    Probes(Vec<NamedProbe>),
    Events(Vec<FlatEvent>),
}

/// Rows, and the offset from their `rx_ns` to Unix time.
pub(crate) struct Message {
    pub rows: Rows,
    pub unix_minus_rx_ns: i64,
}

/// Forms batches of rows and spools them.
pub(crate) struct Writer {
    pub config: ClickHouseConfig,
    pub capture: String,
    pub spool: Spool,
    pub queue: Arc<Queue>,
    pub stats: SinkStats,
    /// Returns the Unix time in s.
    pub unix_s: fn() -> u64,
    /// Whether to wait for room instead of losing rows; batches may then be repeated.
    pub wait: bool,
    pub unix_time: UnixTime,
    pub postcards: Builder<PostcardRow>,
    pub probes: Builder<NamedProbe>,
    pub events: Builder<FlatEvent>,
    pub number: u64,
    pub started_s: u64,
    /// Last error while the present batches were closed.
    failure: Option<String>,
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
            failure: None,
        }
    }

    pub(crate) fn open_rows(&self) -> u64 {
        (self.postcards.rows + self.probes.rows + self.events.rows) as u64
    }

    /// Longest time for which a batch stays open.
    fn period(&self) -> Duration {
        // When loading, nobody waits for rows: batches are cut only by their number
        // of rows, so that every repetition cuts them alike.
        Duration::from_millis(if self.wait {
            u64::MAX / 2
        } else {
            self.config.batch_ms
        })
    }

    /// Closes all batches if one is full or they have been open for `period`; says whether.
    pub(crate) fn seal_if_due(&mut self, open: Duration) -> bool {
        let most = self
            .postcards
            .rows
            .max(self.probes.rows)
            .max(self.events.rows);
        let due = most >= self.config.batch_rows || open >= self.period();
        if due {
            self.seal();
        }
        due
    }

    /// Runs until the sink is gone.
    pub(crate) fn run(mut self, receiver: &Receiver<Message>) {
        let period = self.period();
        let mut opened = Instant::now();
        loop {
            let left = period.saturating_sub(opened.elapsed());
            match receiver.recv_timeout(left.min(Duration::from_secs(3600))) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if self.seal_if_due(opened.elapsed()) {
                opened = Instant::now();
            }
        }
        self.seal();
    }

    pub(crate) fn take(&mut self, message: Message) {
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

    /// Closes the batches of all tables together, so that a kill loses the same time of each.
    pub(crate) fn seal(&mut self) {
        let mut postcards = std::mem::take(&mut self.postcards);
        let mut probes = std::mem::take(&mut self.probes);
        let mut events = std::mem::take(&mut self.events);
        let sealed = [
            self.seal_table(&mut postcards),
            self.seal_table(&mut probes),
            self.seal_table(&mut events),
        ];
        // The builders keep their allocated memory for the next batch.
        (self.postcards, self.probes, self.events) = (postcards, probes, events);
        let sealed: Vec<_> = sealed.into_iter().flatten().collect();
        if !sealed.is_empty() {
            self.enqueue(sealed);
        } else if self.failure.is_none() {
            return;
        }
        self.stats.set_spool_failure(self.failure.take());
    }

    /// Passes batches to the inserters. If their names could not be synced, this is reported,
    /// and a power cut may lose the batches. Their files are complete, though, so the server
    /// still gets the rows: they are not lost and do not disturb the next start.
    fn enqueue(&mut self, sealed: Vec<(Spooled, Vec<u8>)>) {
        let synced = self.spool.sync();
        if let Err(e) = &synced {
            let rows: u64 = sealed.iter().map(|(b, _)| b.name.rows).sum();
            tracing::error!(
                "clickhouse spool: {e}; a power cut takes {rows} rows, unless the server has them before"
            );
            self.failure = Some(e.to_string());
        }
        for (mut batch, body) in sealed {
            batch.doubtful = self.wait;
            batch.lasts = synced.is_ok();
            self.stats.spooled(&batch);
            self.queue.push(batch, Some(body));
        }
    }

    fn seal_table<T: Table>(&mut self, builder: &mut Builder<T>) -> Option<(Spooled, Vec<u8>)> {
        let rows = builder.rows as u64;
        if rows == 0 {
            return None;
        }
        let common = Common {
            capture: &self.capture,
            batch: builder.first_order,
            stored_on: ((self.unix_s)() / 86_400) as u16,
        };
        let packed = builder.pack(&common, self.config.compression);
        let name = BatchName {
            started_s: self.started_s,
            number: self.number,
            table: T::NAME.to_owned(),
            capture: self.capture.clone(),
            batch: builder.first_order,
            rows,
        };
        builder.clear();
        self.number += 1;
        let body = match packed {
            Ok(body) => body,
            Err(e) => {
                tracing::error!("clickhouse: packing a batch: {e}; {rows} rows lost");
                self.stats.lose(Loss::SpoolError, rows);
                return None;
            }
        };
        let max = self.config.spool_max_bytes;
        if !self.queue.take_room(body.len() as u64, max, self.wait) {
            self.stats.lose(Loss::SpoolFull, rows);
            self.failure = Some(format!("clickhouse.spool_max_bytes ({max}) are in use"));
            return None;
        }
        match self.spool.put(name, &body, self.config.compression) {
            Ok(batch) => Some((batch, body)),
            Err(e) => {
                tracing::error!("clickhouse spool: {e}; {rows} rows lost");
                self.queue.done(body.len() as u64);
                self.stats.lose(Loss::SpoolError, rows);
                self.failure = Some(e.to_string());
                None
            }
        }
    }
}

/// Returns a [`ClickHouseError::Io`] for a thread that cannot start.
pub(crate) fn cannot_start(source: std::io::Error) -> ClickHouseError {
    ClickHouseError::Io {
        path: "thread".into(),
        source,
    }
}
