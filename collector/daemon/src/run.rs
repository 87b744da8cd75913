// SPDX-License-Identifier: Apache-2.0
//! The collector as a daemon: everything that can fail is opened first, then
//! everything starts.

use crate::agent::{AgentService, Agents};
use crate::answers::FewAnswers;
use crate::config::{Config, GrpcConfig, HttpConfig};
use crate::engine::{RowSink, SharedSnapshot};
use crate::grpc::TelemetryService;
use crate::host;
use crate::http::{Shown, router};
use crate::hub::Hub;
use crate::open::{Opened, open};
use crate::packets::PacketMemory;
use crate::receive;
use crate::shards::{self, Engines};
use crate::source::SourceCounters;
use crate::store::{CaptureSink, KnownNodes};
use anyhow::{Context, Result};
use daemon_kit::credentials::http::Server;
use daemon_kit::credentials::incoming;
use daemon_kit::notify::{Deadline, Stop};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tidemark_capture::CaptureMeta;
use tidemark_clickhouse::ClickHouseConfig;
use tidemark_pipeline::proto_nodes;
use tidemark_proto::telemetry::CollectorInfo;
use tidemark_proto::telemetry::agent_server::AgentServer;
use tidemark_proto::telemetry::telemetry_server::TelemetryServer;
use tokio::sync::watch;

/// How long streams may take to end.
const GRACE: Duration = Duration::from_secs(1);
/// Consequence of a shutdown that takes too long.
const LEFT: &str = "rows that are not on the disk yet are lost, and the capture is not closed; \
                    batches in the spool wait for the next start";
/// Maximum size of an agent's batch: more than 4096 events of 100 bytes.
const MAX_BATCH_BYTES: usize = 4 << 20;

/// Returns the longest time that the shutdown may take, which includes the time that the
/// configuration gives the database beyond its default.
fn deadline(config: &Config) -> Duration {
    let database = Duration::from_secs(config.clickhouse.finish_s);
    let usual = Duration::from_secs(ClickHouseConfig::default().finish_s);
    Deadline::END + database.saturating_sub(usual)
}

/// Runs until SIGINT, SIGTERM or SIGHUP.
///
/// # Errors
/// When something cannot be opened (before anything has started), or the
/// capture could not be completed.
pub(crate) fn run(config: &Config) -> Result<()> {
    let instance = host::instance();
    let meta = CaptureMeta {
        format: tidemark_capture::FORMAT,
        tidemark_version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: instance.clone(),
        kernel: host::kernel(),
        started_unix_ns: crate::time::unix_ns(),
        config: config.pipeline(),
        known_nodes_only: config.accept_unknown_nodes,
        ..CaptureMeta::default()
    };
    // Read before privileges are given up, because only root may be able to read the keys.
    let mut pipeline = config.pipeline();
    pipeline.read_keys()?;
    let opened = open(config, meta)?;
    match &opened.runs {
        Some(file) => pipeline.runs.clone_from(file.runs()),
        None if pipeline.keys.is_empty() => {}
        None => tracing::warn!(
            "nodes have a key_file, but there is no runs_file: a recording may be accepted when the \
             collector starts"
        ),
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    for node in config.nodes_open_to_anybody() {
        tracing::warn!(
            "anybody can send reports of node {node}: name its addresses in nodes.{node}.exporters"
        );
    }
    let clickhouse = config.clickhouse.server();
    for (server, warning) in [
        (
            "grpc",
            config.grpc.protection().warning(&GrpcConfig::keys()),
        ),
        ("clickhouse", clickhouse.and_then(|s| s.warning())),
        (
            "http",
            config.http.protection().warning(&HttpConfig::keys()),
        ),
    ] {
        if let Some(warning) = warning {
            tracing::warn!("{server}: {warning}");
        }
    }
    let ended = runtime.block_on(serve(config, pipeline, instance, opened));
    // A call that hangs must not hold up the end.
    runtime.shutdown_background();
    ended
}

/// Tells the service manager that the engines are alive, if it has a watchdog.
async fn tell_alive(snapshot: SharedSnapshot) {
    let Some(period) = daemon_kit::notify::watchdog_period() else {
        return;
    };
    let mut before = None;
    loop {
        let published = snapshot.published();
        if before.replace(published) != Some(published) {
            daemon_kit::notify::alive();
        }
        tokio::time::sleep(period).await;
    }
}

async fn serve(
    config: &Config,
    pipeline: tidemark_pipeline::Config,
    instance: String,
    opened: Opened,
) -> Result<()> {
    let mut stop_signals = Stop::listen()?;
    let hub = Hub::new(config.pipeline.max_flows).naming(config.named_ports());
    let hub = Arc::new(hub);
    let packets = Arc::new(PacketMemory::new(config.packets, config.named_ports()));
    let counters = Arc::new(SourceCounters::default());
    let snapshot = SharedSnapshot::of_engines(config.receive.shards);
    let capture = opened
        .capture
        .as_ref()
        .map(|c| (c.dir().display().to_string(), c.stats()));
    if let Some((dir, _)) = &capture {
        tracing::info!(dir, "capture");
    }
    let info = CollectorInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instance: instance.clone(),
        interval_ms: config.pipeline.interval_ms,
        nodes: proto_nodes(&config.nodes),
        capture_dir: capture.as_ref().map(|c| c.0.clone()).unwrap_or_default(),
    };

    let stop = Arc::new(AtomicBool::new(false));
    let clickhouse = opened.clickhouse.as_ref().map(|c| c.stats());
    let stores: [Option<Box<dyn RowSink>>; 2] = [
        opened.capture.map(|c| Box::new(CaptureSink(c)) as _),
        opened.clickhouse.map(|c| Box::new(c) as _),
    ];
    let stores = stores.into_iter().flatten().map(|store| {
        if config.accept_unknown_nodes {
            let known = config.nodes.keys().copied().collect();
            Box::new(KnownNodes::new(store, known)) as Box<dyn RowSink>
        } else {
            store
        }
    });
    let shown: Box<dyn RowSink> = Box::new(packets.clone());
    let sinks = std::iter::once(shown).chain(stores).collect();
    let options = shards::Options {
        pipeline,
        shards: config.receive.shards,
        host: config.tcp_probe.host.clone(),
        clock: config.tcp_probe.clock,
    };
    let mut engines = Engines::start(&options, sinks, &hub, &counters, &snapshot)?;
    let (runs_end, runs_ended) = mpsc::channel();
    let keeper = opened.runs.map(|file| {
        let snapshot = snapshot.clone();
        let thread = std::thread::Builder::new().name("runs".to_owned());
        thread.spawn(move || file.follow(&snapshot, &runs_ended))
    });
    let keeper = keeper.transpose().context("cannot start thread runs")?;
    counters.show_sockets(opened.reports.counters());
    let receiving = opened
        .reports
        .start(|_| {
            let mut sender = engines.report_sender();
            move |batch: &receive::Received<'_>| sender.send(batch)
        })
        .context("cannot start the receiving threads")?;
    let mut probe = None;
    if let Some(reader) = opened.probe {
        let sender = engines.event_sender();
        let (stop, counters) = (stop.clone(), counters.clone());
        let thread = std::thread::Builder::new().name("tcp_probe".to_owned());
        let thread = thread.spawn(move || {
            crate::probe::read(reader, &stop, |events, counts, _| {
                counters.set_probe(counts);
                events.is_empty() || sender.send(None, events).is_ok()
            });
        });
        probe = Some(thread.context("cannot start thread tcp_probe")?);
    }
    let accept = config.agents.accept;
    let agents = accept.then(|| Agents::new(engines.event_sender()));
    engines.close();

    let (shut, shutting) = watch::channel(false);
    let closing = |mut shutting: watch::Receiver<bool>| async move {
        // An error means that the sender is gone, which also means closing.
        let _ = shutting.wait_for(|s| *s).await;
    };
    let agent_service = agents
        .clone()
        .map(|a| AgentServer::new(AgentService(a)).max_decoding_message_size(MAX_BATCH_BYTES));
    let grpc = opened
        .credentials
        .server()?
        .add_optional_service(agent_service)
        .add_service(FewAnswers::new(TelemetryServer::new(TelemetryService {
            info,
            hub: hub.clone(),
            packets: packets.clone(),
        })))
        .serve_with_incoming_shutdown(
            incoming(tokio::net::TcpListener::from_std(opened.grpc)?),
            closing(shutting),
        );
    let grpc = tokio::spawn(grpc);
    let listener = tokio::net::TcpListener::from_std(opened.http)?;
    let scheme = if opened.https.is_some() {
        "https"
    } else {
        "http"
    };
    let http = Server::new(listener, opened.https);
    let shown = Shown {
        version: env!("CARGO_PKG_VERSION"),
        instance,
        snapshot: snapshot.clone(),
        counters,
        refusals: opened.credentials.refusals().clone(),
        handshakes_failed: http.failed(),
        hub: hub.clone(),
        packets,
        capture,
        agents: agents.clone(),
        clickhouse,
    };
    let app = router(shown, opened.http_token, &config.http.hosts);
    let http = tokio::spawn(http.serve(app));
    eprintln!(
        "ready: reports on {}, telemetry on {} ({}), metrics on {scheme}://{}/metrics",
        config
            .listen
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
        config.grpc.listen,
        opened.credentials.summary(),
        config.http.listen
    );

    daemon_kit::notify::ready(&format!("reports on {} addresses", config.listen.len()));
    let watchdog = tokio::spawn(tell_alive(snapshot));

    let early = tokio::select! {
        _ = stop_signals.asked() => None,
        result = engines.ended() => result,
    };
    daemon_kit::notify::stopping();
    watchdog.abort();
    let _deadline =
        Deadline::start(deadline(config), LEFT).context("cannot start thread deadline")?;
    stop.store(true, Ordering::Relaxed);
    if let Some(agents) = &agents {
        agents.close();
    }
    tokio::task::spawn_blocking(move || receiving.stop())
        .await
        .context("stopping the receivers")?;
    let result = engines.join(early).await;
    hub.close();
    drop(runs_end);
    let threads = [probe, keeper].into_iter().flatten();
    if threads.map(|thread| thread.join()).any(|r| r.is_err()) {
        tracing::error!("a thread panicked");
    }
    // Streams end with the last update; slow readers get time to read it.
    let _ = shut.send(true);
    let _ = tokio::time::timeout(GRACE, async {
        let _ = grpc.await;
    })
    .await;
    http.abort();
    let stats = result?;
    tracing::info!(
        reports = stats.reports,
        lost = stats.reports_lost,
        matched_fraction = stats.matched_fraction(),
        "ended"
    );
    Ok(())
}
