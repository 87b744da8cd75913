// SPDX-License-Identifier: Apache-2.0
//! `tidemark-collector load`: a capture into ClickHouse.

mod capture;

use anyhow::{Context, Result, bail};
use clap::Args;
use daemon_kit::cli::{print, print_json};
use std::path::PathBuf;
use tidemark_capture::CaptureMeta;
use tidemark_clickhouse::ClickHouseConfig;

#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Directory of the capture.
    capture: PathBuf,
    /// The server's HTTP interface.
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
    /// Where batches wait for the server; default in the temporary directory.
    #[arg(long)]
    spool_dir: Option<PathBuf>,
    /// Rows of one insert.
    #[arg(long, default_value_t = ClickHouseConfig::default().batch_rows)]
    batch_rows: usize,
    /// Make database and tables where they are missing.
    #[arg(long)]
    create_schema: bool,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
}

/// # Errors
/// When the capture cannot be read, or rows did not get into the database.
pub(crate) fn run(args: &LoadArgs) -> Result<()> {
    let spool_dir = match &args.spool_dir {
        Some(dir) => dir.clone(),
        None => {
            let meta = CaptureMeta::read(&args.capture)?;
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
    let report = capture::load(&args.capture, &config).context("load")?;
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
