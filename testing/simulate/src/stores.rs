// SPDX-License-Identifier: Apache-2.0
//! The collector's stores: the real capture writer and the real ClickHouse sink with its spool, run
//! step by step on a simulated disk.

use crate::digest::Digest;
use crate::parts::storage::Books;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::time::Duration;
use test_support::disk::SimDisk;
use tidemark_capture::{CaptureMeta, CaptureWriter, FORMAT, WriterOptions, WriterSteps};
use tidemark_clickhouse::{ClickHouseConfig, ClickHouseSink, Database, SinkSteps};
use tidemark_pipeline::{Config, EventRow, PostcardRow, ProbeRow};

const CAPTURE: &str = "/collector/capture";
const SPOOL: &str = "/collector/spool";
/// Interval between flushes, like the engine's.
const FLUSH_NS: u64 = 100_000_000;

/// Returns the configuration of every start.
pub(crate) fn clickhouse() -> ClickHouseConfig {
    ClickHouseConfig {
        url: Some("http://model:1".into()),
        spool_dir: Some(PathBuf::from(SPOOL)),
        batch_ms: 500,
        retry_max_ms: 1_000,
        ..ClickHouseConfig::default()
    }
}

/// Returns the time of day, s. Only the partition of a row depends on it.
pub(crate) fn unix_s() -> u64 {
    1_800_000_000
}

/// Returns the digest of a packet's row.
pub(crate) fn postcard_digest(row: &PostcardRow) -> u64 {
    let mut d = Digest::default();
    for n in [
        row.order,
        row.ingress_ns,
        row.egress_ns,
        u64::from(row.sequence),
        u64::from(row.tcp_seq),
        u64::from(row.cwnd),
        row.occupancy_bytes,
    ] {
        d.add(n);
    }
    d.value()
}

/// Returns the digest of a sample's row.
pub(crate) fn probe_digest(row: &ProbeRow) -> u64 {
    let mut d = Digest::default();
    for n in [row.order, row.time_ns, u64::from(row.snd_una)] {
        d.add(n);
    }
    d.value()
}

/// The stores of one start of the collector.
pub(crate) struct Stores {
    capture: CaptureWriter,
    capture_steps: WriterSteps,
    clickhouse: ClickHouseSink,
    clickhouse_steps: SinkSteps,
    disk: SimDisk,
    started_ns: u64,
    flush_ns: u64,
    /// Rows that were handed to the writers.
    flushed: u64,
    busy_until_ns: u64,
    /// End of the last operation on a slow disk.
    slow_until_ns: u64,
    books: Books,
}

impl Stores {
    /// # Errors
    /// The disk prevents their start.
    pub(crate) fn start(
        instance: u64,
        config: &Config,
        disk: &SimDisk,
        database: &std::sync::Arc<dyn Database>,
        now_ns: u64,
    ) -> Result<Self> {
        let meta = CaptureMeta {
            format: FORMAT,
            instance: format!("s{instance}"),
            config: config.clone(),
            ..CaptureMeta::default()
        };
        let options = WriterOptions {
            rotate_after: Duration::from_secs(2),
            zstd_level: 1,
            ..WriterOptions::default()
        };
        let name = meta.instance.clone();
        let shared = disk.shared();
        // In the daemon's order.
        let (clickhouse, clickhouse_steps) =
            ClickHouseSink::stepped(&clickhouse(), &shared, database, &name, unix_s, false)?;
        let dir = Path::new(CAPTURE);
        let (capture, capture_steps) = CaptureWriter::stepped_next(&shared, dir, &meta, options)?;
        disk.take_busy_ns();
        Ok(Self {
            books: Books {
                dir: capture.dir().to_path_buf(),
                capture: name,
                ..Books::default()
            },
            capture,
            capture_steps,
            clickhouse,
            clickhouse_steps,
            disk: disk.clone(),
            started_ns: now_ns,
            flush_ns: now_ns,
            flushed: 0,
            busy_until_ns: 0,
            slow_until_ns: 0,
        })
    }

    pub(crate) fn postcard(&mut self, row: &PostcardRow) {
        self.capture.postcard(row);
        self.clickhouse.postcard(row);
        self.books.rows.push(postcard_digest(row));
    }

    pub(crate) fn probe(&mut self, row: &ProbeRow) {
        self.capture.probe(row);
        self.clickhouse.probe(row);
        self.books.rows.push(probe_digest(row));
    }

    pub(crate) fn event(&mut self, row: &EventRow) {
        self.capture.event(row);
        self.clickhouse.event(row);
        self.books.rows.push(row.order);
    }

    /// Runs the stores' threads, unless the disk still blocks them.
    pub(crate) fn step(&mut self, now_ns: u64) {
        if now_ns >= self.flush_ns {
            self.flush_ns = now_ns + FLUSH_NS;
            self.capture.flush();
            self.clickhouse.flush();
            self.flushed = self.books.rows.len() as u64;
        }
        if now_ns < self.busy_until_ns {
            return;
        }
        let now = Duration::from_nanos(now_ns.saturating_sub(self.started_ns));
        // Nobody waits for this writer, so it counts errors instead of returning them.
        let _ = self.capture_steps.step(now);
        self.clickhouse_steps.write(now);
        self.note_spooled();
        self.clickhouse_steps.insert(now);
        let busy_ns = self.disk.take_busy_ns();
        self.busy_until_ns = now_ns + busy_ns;
        if busy_ns > 0 {
            self.slow_until_ns = self.busy_until_ns;
        }
        self.note_written();
    }

    fn note_written(&mut self) {
        let stats = self.capture.stats();
        let b = &mut self.books;
        (b.written, b.written_lost) = (stats.written(), stats.lost());
        if b.written_lost == 0 && b.written == self.flushed {
            b.written_before = b.written;
        }
    }

    fn note_spooled(&mut self) {
        let stats = self.clickhouse.stats();
        let b = &mut self.books;
        b.spooled_lost = stats.lost_total();
        b.found = stats.found();
        b.unsynced = stats.unsynced_rows();
        let open = self.clickhouse_steps.open_rows();
        b.spooled = stats.taken() - b.spooled_lost - open - b.unsynced;
    }

    /// Ends the stores properly: nothing is left in memory.
    pub(crate) fn end(mut self, now_ns: u64, unix_ns: u64) -> Books {
        self.busy_until_ns = 0;
        self.step(now_ns);
        self.capture.close();
        self.clickhouse.close();
        let now = Duration::from_nanos(now_ns.saturating_sub(self.started_ns));
        let ended = self.capture_steps.end(now);
        let stats = self.capture.stats();
        let finished = self.capture.finish(unix_ns as i64);
        self.clickhouse_steps.end();
        let sink = self.clickhouse.stats();
        let mut b = self.books;
        (b.written, b.written_lost) = (stats.written(), stats.lost());
        b.spooled_lost = sink.lost_total();
        b.unsynced = sink.unsynced_rows();
        b.spooled = sink.taken() - b.spooled_lost - b.unsynced;
        b.closed = ended.is_ok() && finished.is_ok();
        b
    }

    /// Kills the stores with the collector or its machine: only data on disk is kept.
    pub(crate) fn kill(self) -> Books {
        self.books
    }

    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    /// Returns the end of the last operation on a slow disk, possibly in the future.
    pub(crate) fn slow_until_ns(&self) -> u64 {
        self.slow_until_ns
    }

    /// Returns failures that currently keep rows out of the stores.
    pub(crate) fn failures(&self) -> Vec<String> {
        let clickhouse = self.clickhouse.stats();
        let all = [
            self.capture.stats().failure(),
            clickhouse.spool_failure(),
            clickhouse.failure(),
        ];
        all.into_iter().flatten().collect()
    }
}
