// SPDX-License-Identifier: Apache-2.0
//! Opens everything that can fail, before anything is started.

use crate::config::{Config, HttpConfig, ProbeConfig};
use crate::receive::ReportReceiver;
use crate::runs_file::RunsFile;
use anyhow::{Context, Result, anyhow};
use daemon_kit::credentials::http::acceptor;
use daemon_kit::credentials::{ServerCredentials, Token};
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use tcp_probe::perf::{Options, PerfReader};
use tidemark_capture::{CaptureMeta, CaptureWriter, WriterOptions};
use tidemark_clickhouse::ClickHouseSink;
use tokio_rustls::TlsAcceptor;

fn in_use(what: &str, address: SocketAddr, key: &str, e: &std::io::Error) -> anyhow::Error {
    match e.kind() {
        std::io::ErrorKind::AddrInUse => anyhow!(
            "{what}: {address} is in use by another process; stop it or set {key} to another port"
        ),
        std::io::ErrorKind::AddrNotAvailable => {
            anyhow!("{what}: {address} is not an address of this machine; set {key} to one that is")
        }
        std::io::ErrorKind::PermissionDenied => {
            anyhow!("{what}: no permission to listen on {address}; use a port above 1023 in {key}")
        }
        _ => anyhow!("{what}: cannot listen on {address}: {e}"),
    }
}

fn tcp(what: &str, key: &str, address: SocketAddr) -> Result<TcpListener> {
    let bind = || {
        let l = TcpListener::bind(address)?;
        l.set_nonblocking(true)?;
        Ok(l)
    };
    bind().map_err(|e: std::io::Error| in_use(what, address, key, &e))
}

/// Returns the options for reading the tracepoints.
pub(crate) fn probe_options(p: &ProbeConfig) -> Options {
    Options {
        clock: p.clock,
        ring_bytes: p.ring_bytes,
        wakeup_bytes: (p.ring_bytes / 4).min(64 << 10) as u32,
        retransmits: p.retransmits,
        cong_states: p.cong_states,
        filter: p.filter.clone(),
        tracefs: None,
    }
}

pub(crate) struct Opened {
    pub credentials: ServerCredentials,
    pub grpc: TcpListener,
    pub http: TcpListener,
    pub https: Option<TlsAcceptor>,
    /// Token that readers of the HTTP server present.
    pub http_token: Option<Token>,
    pub reports: ReportReceiver,
    pub probe: Option<PerfReader>,
    pub capture: Option<CaptureWriter>,
    pub clickhouse: Option<ClickHouseSink>,
    pub runs: Option<RunsFile>,
}

/// Opens everything, then gives up the privileges that this needed; on an error nothing is left
/// behind. No other thread runs before.
///
/// # Errors
/// The first thing that cannot be opened, and what to do about it.
pub(crate) fn open(config: &Config, meta: CaptureMeta) -> Result<Opened> {
    let credentials = config.grpc.credentials(crate::time::unix_s())?;
    let grpc = tcp("telemetry (gRPC)", "grpc.listen", config.grpc.listen)?;
    let http = tcp("metrics (HTTP)", "http.listen", config.http.listen)?;
    let https = config.http.tls.as_ref();
    let https = https
        .map(|tls| acceptor(tls, &HttpConfig::keys(), crate::time::unix_s()))
        .transpose()?;
    let http_token = config.http.token()?;
    let reports = ReportReceiver::bind(&config.listen, &config.receive)
        .context("reports (UDP, key listen)")?;
    let p = &config.tcp_probe;
    let probe = if p.enabled {
        Some(PerfReader::open(&probe_options(p)).context("tcp_probe")?)
    } else {
        None
    };
    // The code below starts threads, which inherit this process's capabilities, and makes files,
    // which then belong to the user that goes on writing them.
    let given_up = daemon_kit::privileges::give_up("user", config.user.as_deref())?;
    tracing::info!("goes on {given_up}");
    let clickhouse = match config.clickhouse.url.is_some() {
        true => Some(
            ClickHouseSink::start(
                &config.clickhouse,
                &meta.instance,
                crate::time::unix_s,
                false,
            )
            .with_context(|| format!("clickhouse ({given_up})"))?,
        ),
        false => None,
    };
    let runs = config.runs_file.as_deref();
    let runs = runs.map(|path| RunsFile::open(durable_fs::real(), path));
    let runs = runs.transpose();
    let runs = runs.with_context(|| format!("runs_file ({given_up})"))?;
    // Last: the only step that leaves something on disk.
    let options = WriterOptions {
        rotate_rows: config.capture.rotate_rows,
        rotate_after: Duration::from_secs(config.capture.rotate_s.into()),
        zstd_level: config.capture.zstd_level,
        wait_when_full: false,
    };
    let capture = config.capture.dir.as_ref();
    let capture = capture.map(|dir| CaptureWriter::create_next(dir, meta, options));
    let capture = capture.transpose();
    let capture = capture.with_context(|| format!("capture ({given_up})"))?;
    Ok(Opened {
        credentials,
        grpc,
        http,
        https,
        http_token,
        reports,
        probe,
        capture,
        clickhouse,
        runs,
    })
}
