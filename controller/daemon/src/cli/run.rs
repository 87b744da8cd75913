// SPDX-License-Identifier: Apache-2.0
//! `run` and `validate`.

use super::RunArgs;
use crate::api::{self, Token, TokenSource};
use crate::config::{CollectorConfig, Config, Mode};
use crate::core::{Core, subscribe, switch, switches, tick, time};
use crate::store::Store;
use anyhow::Context as _;
use daemon_kit::cli::{LevelFilter, print, print_json, start_log};
use daemon_kit::credentials::{Keys, http};
use daemon_kit::notify::{Deadline, Stop};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Time limit at shutdown for sending the rest of the audit log to ClickHouse.
const STORE_WITHIN: Duration = Duration::from_secs(2);
/// Consequence of a shutdown that takes too long.
const LEFT: &str =
    "the state file may be that of the previous save; every change is in the audit log";

pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")
}

fn configured(args: &RunArgs) -> anyhow::Result<Config> {
    let mut config = match &args.config {
        Some(path) => Config::load(path)?,
        None => Config::default(),
    };
    if let Some(listen) = args.listen {
        config.http.listen = listen;
    }
    if !args.collectors.is_empty() {
        config.collectors = named(&args.collectors, &config.collectors);
    }
    if let Some(mode) = args.mode {
        config.control.mode = mode;
    }
    if let Some(token) = super::token_of_environment() {
        config.http.token = Some(token);
    }
    if let Some(user) = &args.user {
        config.user = Some(user.clone());
    }
    config.http.insecure |= args.insecure;
    config.control.dry_run |= args.dry_run;
    config.check()?;
    collectors_can_be_reached(&config)?;
    Ok(config)
}

/// Returns the collectors at these addresses; one that the file names keeps its credentials.
fn named(addresses: &[String], of_file: &[CollectorConfig]) -> Vec<CollectorConfig> {
    let named = addresses.iter().map(|a| {
        let known = of_file.iter().find(|c| c.address == *a);
        known.cloned().unwrap_or_else(|| CollectorConfig::new(a))
    });
    named.collect()
}

/// Checks that addresses are plausible and that credentials can be read.
fn collectors_can_be_reached(config: &Config) -> anyhow::Result<()> {
    for (i, c) in config.collectors.iter().enumerate() {
        anyhow::ensure!(
            c.address.contains(':'),
            "collectors[{i}]: \"{}\" is not an address like 127.0.0.1:9560",
            c.address
        );
        c.access(i, time::unix_s())?;
    }
    Ok(())
}

/// Listens on the address of the console and REST interface.
pub(super) fn listen(address: std::net::SocketAddr) -> anyhow::Result<std::net::TcpListener> {
    std::net::TcpListener::bind(address)
        .and_then(|l| l.set_nonblocking(true).map(|()| l))
        .with_context(|| {
            format!("http.listen {address}: cannot listen; is another controller running? choose another with --listen")
        })
}

pub(super) fn run(args: RunArgs) -> anyhow::Result<()> {
    start_log("TIDEMARK_LOG", LevelFilter::INFO);
    let config = configured(&args)?;
    // Open the port first: if another controller has it, nothing is touched.
    let listener = listen(config.http.listen)?;
    let acceptor = acceptor(&config)?;
    // Nothing after this needs privileges, and no thread runs yet.
    let given_up = daemon_kit::privileges::give_up("user", config.user.as_deref())?;
    tracing::info!("goes on {given_up}");
    let runtime = runtime()?;
    let ended = runtime.block_on(serve(config, listener, acceptor, &given_up));
    // Estimates and name look-ups in progress must not delay the exit.
    runtime.shutdown_background();
    ended
}

fn acceptor(config: &Config) -> anyhow::Result<Option<TlsAcceptor>> {
    let tls = config.http.tls.as_ref();
    let acceptor = tls.map(|tls| http::acceptor(tls, &Keys::under("http"), time::unix_s()));
    Ok(acceptor.transpose()?)
}

/// Starts the background tasks of a controller: subscriptions to its collectors, care of its
/// switches, and ticks.
pub(super) fn tasks(core: &Arc<Core>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    for index in 0..core.config.collectors.len() {
        tasks.spawn(subscribe::run(Arc::clone(core), index));
    }
    for &node in core.switches.keys() {
        tasks.spawn(switches::run(Arc::clone(core), node));
    }
    tasks.spawn(tick::run(Arc::clone(core)));
    tasks
}

async fn serve(
    config: Config,
    listener: std::net::TcpListener,
    acceptor: Option<TlsAcceptor>,
    given_up: &str,
) -> anyhow::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let address = listener.local_addr()?;
    let config_http = config.http.clone();
    let (token, source) = Token::obtain(
        config_http.token.as_deref(),
        config_http.token_file.as_deref(),
    )
    .with_context(|| given_up.to_string())?;
    let connected = switch::connect(&config)?;
    let core = Arc::new(
        Core::new(config, connected, Arc::new(time::now)).with_context(|| given_up.to_string())?,
    );
    let store = Store::start(&core.config)?;
    if let Some(store) = &store {
        let _ = core.store.set(Arc::clone(&store.stats));
    }
    if core.config.control.mode == Mode::Auto && !core.audit.has_file() {
        tracing::warn!("control.audit_log is not set: auto mode changes limits without a record");
    }
    if let Some(warning) = core.config.clickhouse.server().and_then(|s| s.warning()) {
        tracing::warn!("clickhouse: {warning}");
    }
    if !address.ip().is_loopback() && acceptor.is_none() {
        tracing::warn!(%address, "http.insecure: listening beyond this machine, without encryption");
    }

    let mut tasks = tasks(&core);
    // Before anyone is told that the controller runs, and may stop it.
    let mut stop = Stop::listen()?;
    let scheme = if acceptor.is_some() { "https" } else { "http" };
    print(format!("console: {scheme}://{address}/"))?;
    match (source, &config_http.token_file) {
        (TokenSource::Given, _) => {}
        (_, Some(f)) => print(format!("token: in {}", f.display()))?,
        (TokenSource::Made(token), None) => print(format!("token: {token}"))?,
        (TokenSource::Kept, None) => {}
    }
    let app = api::router(Arc::clone(&core), token);
    let served = tokio::spawn(http::Server::new(listener, acceptor).serve(app));
    daemon_kit::notify::ready(&format!("console: {scheme}://{address}/"));
    let ended = tokio::select! {
        _ = stop.asked() => Ok(()),
        e = served => match e {
            Ok(()) => Ok(()),
            Err(e) => Err(anyhow::Error::from(e).context("HTTP")),
        },
    };
    daemon_kit::notify::stopping();
    let _deadline = Deadline::start(Deadline::END, LEFT).context("cannot start thread deadline")?;
    tasks.abort_all();
    core.save();
    if let Some(store) = store {
        // Its calls block.
        let _ = tokio::task::spawn_blocking(|| store.finish(STORE_WITHIN)).await;
    }
    tracing::info!("ended");
    ended
}

/// Reads a configuration and checks it as far as possible without connecting.
pub(super) fn valid(path: &Path) -> anyhow::Result<Config> {
    let config = Config::load(path)?;
    // Drivers check their addresses; they connect only when used.
    let rt = runtime()?;
    let _in_runtime = rt.enter();
    switch::connect(&config)?;
    collectors_can_be_reached(&config)?;
    acceptor(&config)?;
    for (i, s) in config.switches.iter().enumerate() {
        let Some(plan) = &s.provision else { continue };
        for (key, file) in [("p4info", &plan.p4info), ("program", &plan.program)] {
            if let Some(f) = file {
                anyhow::ensure!(
                    f.is_file(),
                    "switches[{i}].provision.{key}: {}: no such file",
                    f.display()
                );
            }
        }
    }
    Ok(config)
}

pub(super) fn validate(path: &Path, as_json: bool) -> anyhow::Result<()> {
    let config = valid(path)?;
    if as_json {
        return print_json(&config);
    }
    print(format!("{}: valid", path.display()))
}
