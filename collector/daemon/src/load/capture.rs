// SPDX-License-Identifier: Apache-2.0
//! A Parquet capture into ClickHouse. Batches are cut the same at every
//! repetition, so a load that was broken off is simply started again.

use anyhow::{Context, Result, anyhow, bail};
use daemon_kit::cli::Progress;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tidemark_capture::{AnyRow, CaptureMeta, Merged};
use tidemark_clickhouse::{ClickHouseConfig, ClickHouseSink, Client, SinkStats, schema};

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(super) struct LoadReport {
    /// Name of the capture in the tables.
    pub capture: String,
    pub postcards: u64,
    pub tcp_probe: u64,
    pub events: u64,
    /// Rows that the server has of this capture at the end.
    pub rows_stored: u64,
    /// Batches that were there from an earlier load.
    pub batches_found: u64,
    pub rows_lost: u64,
}

/// Nanoseconds of 2001: larger reception times are times of day.
const A_TIME_OF_DAY_NS: u64 = 1_000_000_000_000_000_000;

/// How often it is looked whether all rows are stored: a load of a few rows is quick.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// unix less rx, from the capture's description.
fn unix_minus_rx_ns(meta: &CaptureMeta, first_rx_ns: u64) -> i64 {
    if first_rx_ns >= A_TIME_OF_DAY_NS {
        return 0;
    }
    let local = meta
        .config
        .local_host
        .as_ref()
        .and_then(|host| meta.clocks.iter().find(|c| &c.host == host));
    match local {
        Some(c) => c
            .unix_ns_at_reference
            .wrapping_sub(c.reference_ns as i64)
            .wrapping_sub(c.offset_ns),
        None => meta.started_unix_ns.wrapping_sub(first_rx_ns as i64),
    }
}

/// Loads a capture; waits for a server that is away.
///
/// # Errors
/// When the capture cannot be read, or a running collector sent it to the same
/// database already.
pub(super) fn load(dir: &Path, config: &ClickHouseConfig) -> Result<LoadReport> {
    config.validate()?;
    let meta = CaptureMeta::read(dir)?;
    let client = Client::new(config)?;
    if config.create_schema {
        schema::create(&client).with_context(|| client.url().to_owned())?;
    }
    let live = client
        .query(
            "SELECT count() FROM events WHERE capture = {capture:String} FORMAT TSV",
            &[("capture", &meta.instance)],
        )
        .with_context(|| client.url().to_owned())?;
    if live.trim() != "0" {
        bail!(
            "capture {} came to this database from a running collector; it is not loaded again",
            meta.instance
        );
    }
    let mut report = LoadReport {
        capture: format!("{}-load", meta.instance),
        ..LoadReport::default()
    };
    let mut rows = Merged::open(dir)?;
    let mut shown = Shown::new(Merged::rows(dir)?);
    let mut sink = ClickHouseSink::start_load(config, &report.capture, crate::time::unix_s)?;
    let mut host: Arc<str> = Arc::default();
    let mut placed = false;
    let stats = sink.stats();
    while let Some(row) = rows.next_row()? {
        match row {
            AnyRow::Postcard(r) => {
                if !placed {
                    sink.set_unix_offset(unix_minus_rx_ns(&meta, r.rx_ns));
                    placed = true;
                }
                report.postcards += 1;
                sink.postcard(&r);
            }
            AnyRow::Probe(r) => {
                report.tcp_probe += 1;
                if *host != *r.host {
                    host = Arc::from(&*r.host);
                }
                sink.probe_of(&r.row, host.clone());
            }
            AnyRow::Event(r) => {
                report.events += 1;
                sink.event(&r);
            }
        }
        shown.tick(&stats);
    }
    let stats = finish(sink, shown)?;
    for table in ["postcards", "tcp_probe", "events"] {
        let sql =
            format!("SELECT count() FROM {table} WHERE capture = {{capture:String}} FORMAT TSV");
        let answer = client
            .query(&sql, &[("capture", &report.capture)])
            .with_context(|| client.url().to_owned())?;
        report.rows_stored += answer.trim().parse::<u64>().unwrap_or(0);
    }
    report.batches_found = stats.found();
    report.rows_lost = stats.lost_total();
    Ok(report)
}

/// What the server has of all rows, where somebody sees it.
struct Shown {
    progress: Progress,
    rows: u64,
}

impl Shown {
    fn new(rows: u64) -> Self {
        Self {
            progress: Progress::new("rows stored", true),
            rows: rows.max(1),
        }
    }

    fn tick(&mut self, stats: &SinkStats) {
        let stored = stats.inserted();
        let fraction = stored as f64 / self.rows as f64;
        self.progress.tick(stored, Some(fraction));
    }
}

/// Waits for the rows that the server does not have yet: of a capture that fits the
/// spool, nearly all.
fn finish(sink: ClickHouseSink, mut shown: Shown) -> Result<SinkStats> {
    let stats = sink.stats();
    let finishing = std::thread::spawn(move || sink.finish());
    while !finishing.is_finished() {
        shown.tick(&stats);
        std::thread::sleep(LOOK_EVERY);
    }
    shown.progress.end(stats.inserted());
    finishing
        .join()
        .map_err(|_| anyhow!("the threads that load stopped without a result"))
}
