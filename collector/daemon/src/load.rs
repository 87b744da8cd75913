// SPDX-License-Identifier: Apache-2.0
//! `tidemark-collector load`: loads a capture into ClickHouse. Batches are cut the same way every
//! time, so a load that was interrupted is simply started again.

use crate::export::tell_notes;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use daemon_kit::cli::{Progress, print, print_json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tidemark_capture::{AnyRow, CaptureMeta, Merged, locate};
use tidemark_clickhouse::{ClickHouseConfig, ClickHouseSink, Client, Database as _, SinkStats};

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Directory of a run, or of its capture.
    #[arg(value_name = "RUN")]
    capture: PathBuf,
    /// URL of the server's HTTP interface.
    #[arg(
        long,
        env = "TIDEMARK_CLICKHOUSE_URL",
        default_value = "http://127.0.0.1:8123"
    )]
    clickhouse: String,
    #[arg(long, default_value = "tidemark")]
    database: String,
    #[arg(long, default_value = "default")]
    user: String,
    /// File with the password.
    #[arg(long)]
    password_file: Option<PathBuf>,
    /// Directory for batches that wait for the server; default: in the temporary directory.
    #[arg(long)]
    spool_dir: Option<PathBuf>,
    /// Rows per insert.
    #[arg(long, default_value_t = ClickHouseConfig::default().batch_rows)]
    batch_rows: usize,
    /// Create the database and tables if they are missing.
    #[arg(long)]
    create_schema: bool,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &LoadArgs) -> Result<()> {
    let capture = locate(&args.capture)?;
    tell_notes(&capture)?;
    let spool_dir = match &args.spool_dir {
        Some(dir) => dir.clone(),
        None => {
            let meta = CaptureMeta::read(&capture)?;
            std::env::temp_dir().join(format!("tidemark-load-{}", meta.instance))
        }
    };
    let config = ClickHouseConfig {
        url: Some(args.clickhouse.clone()),
        database: args.database.clone(),
        user: args.user.clone(),
        password_file: args.password_file.clone(),
        spool_dir: Some(spool_dir.clone()),
        batch_rows: args.batch_rows,
        create_schema: args.create_schema,
        ..ClickHouseConfig::default()
    };
    let report = load(&capture, &config).context("load")?;
    if args.spool_dir.is_none() && report.rows_lost == 0 {
        std::fs::remove_dir_all(&spool_dir)
            .with_context(|| format!("removing {}", spool_dir.display()))?;
    }
    if args.json {
        print_json(&report)?;
    } else {
        print(format_args!(
            "loaded {} postcards, {} samples, {} events as capture {}; the database has {} rows of it",
            report.postcards, report.tcp_probe, report.events, report.capture, report.rows_stored
        ))?;
    }
    let rows = report.postcards + report.tcp_probe + report.events;
    if report.rows_lost > 0 || report.rows_stored != rows {
        bail!(
            "{} of {rows} rows are in the database, {} were refused (kept in {})",
            report.rows_stored,
            report.rows_lost,
            spool_dir.display()
        );
    }
    Ok(())
}

/// Result of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
struct LoadReport {
    /// Name of the capture in the tables.
    capture: String,
    postcards: u64,
    tcp_probe: u64,
    events: u64,
    /// Rows of this capture that the server has at the end.
    rows_stored: u64,
    /// Batches that the server had from an earlier load.
    batches_found: u64,
    rows_lost: u64,
}

/// A Unix time in 2001, in ns: larger reception times are Unix times.
const A_TIME_OF_DAY_NS: u64 = 1_000_000_000_000_000_000;

/// How often to check whether all rows are stored; often, because a small load is quick.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Returns Unix time minus reception time, in ns, from the capture's description.
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

/// Loads a capture; waits for a server that cannot be reached.
///
/// # Errors
/// If the capture cannot be read, or a running collector has already sent it to this database.
fn load(dir: &Path, config: &ClickHouseConfig) -> Result<LoadReport> {
    config.validate()?;
    let meta = CaptureMeta::read(dir)?;
    let client = Client::new(config)?;
    if config.create_schema {
        client
            .create_schema()
            .with_context(|| client.url().to_owned())?;
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
    let there = Merged::rows(dir)?;
    let mut progress = Progress::new("rows stored", true);
    let mut sink = ClickHouseSink::start(config, &report.capture, crate::time::unix_s, true)?;
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
        show(&mut progress, &stats, there);
    }
    let stats = finish(sink, progress, there)?;
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

/// Shows how many of the rows the server has.
fn show(progress: &mut Progress, stats: &SinkStats, rows: u64) {
    let stored = stats.inserted();
    progress.tick(stored, Some(stored as f64 / rows.max(1) as f64));
}

/// Waits until the server has all remaining rows, which are nearly all rows if the capture fits the
/// spool.
fn finish(sink: ClickHouseSink, mut progress: Progress, rows: u64) -> Result<SinkStats> {
    let stats = sink.stats();
    let finishing = std::thread::spawn(move || sink.finish());
    while !finishing.is_finished() {
        show(&mut progress, &stats, rows);
        std::thread::sleep(LOOK_EVERY);
    }
    progress.end(stats.inserted());
    finishing
        .join()
        .map_err(|_| anyhow!("the threads that load stopped without a result"))
}
