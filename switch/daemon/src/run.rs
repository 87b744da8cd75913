// SPDX-License-Identifier: Apache-2.0
//! `tidemark-switch run`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use daemon_kit::credentials::{ServerCredentials, incoming};
use daemon_kit::privileges;
use int_report::keys::ReportKeys;
use p4runtime_server::Server;
use tidemark_proto::p4::v1::ForwardingPipelineConfig;
use tidemark_proto::switch::switch_control_server::SwitchControlServer;
use tokio::net::TcpListener;

use crate::cli::args::RunArgs;
use crate::control::Control;
use crate::io::afpacket::Interface;
use crate::io::netns;
use crate::metrics;
use crate::p4runtime::EmbeddedTarget;
use crate::tagging::{self, TagCounters};
use crate::{data_plane, entries, program, thrift};
use p4_vm::Image;
use traffic_manager::Switch;

/// Runs until SIGINT, SIGTERM or SIGHUP.
///
/// # Errors
/// Bad program, interface, namespace or address: nothing stays configured.
pub(crate) fn run(args: RunArgs) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let (credentials, open) = args
        .credentials
        .load(args.grpc, now.map_or(0, |d| d.as_secs()))?;
    if let Some(warning) = open {
        tracing::warn!("--grpc: {warning}");
    }
    let grpc = listen("gRPC address", args.grpc, "--grpc")?;
    let metrics = match args.metrics {
        Some(a) if !args.metrics_insecure && !a.ip().to_canonical().is_loopback() => bail!(
            "--metrics: {a} can be reached from other machines, and nothing says who may read: listen on \
             127.0.0.1, behind a proxy that asks; --metrics-insecure serves everybody"
        ),
        Some(a) => Some(listen("metrics address", a, "--metrics")?),
        None => None,
    };
    let thrift = match args.thrift {
        Some(a) if !a.ip().to_canonical().is_loopback() => bail!(
            "--thrift: {a} can be reached from other machines, and nothing says who may write: listen on 127.0.0.1"
        ),
        Some(a) => Some(listen("Thrift address", a, "--thrift (--thrift-port)")?),
        None => None,
    };
    let mut switch = Switch::new();
    switch.set_priority_queues(args.priority_queues.into());
    if let Some(path) = &args.program {
        switch.load(Image::new(program::read(path)?));
    }
    let config = match &args.program {
        Some(path) => Some(program::pipeline_config(path, args.p4info.as_deref())?),
        None => None,
    };
    let mut tags = TagCounters::default();
    if let Some(path) = &args.report_key_file {
        let keys = ReportKeys::read(path).context("--report-key-file")?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.context("--report-key-file: the clock is set before 1970")?;
        let boot = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        tags = tagging::tag_reports(&mut switch, keys, boot);
    }
    let mut interfaces = BTreeMap::new();
    for p in &args.ports {
        if args.cpu_port == Some(p.number) {
            bail!("port {}: is the CPU port; give it another number", p.number);
        }
        let opened = match &p.netns {
            Some(n) => netns::within(n, || Interface::open(&p.interface)),
            None => Interface::open(&p.interface),
        };
        let mut opened = opened.with_context(|| format!("port {}", p.number))?;
        opened.merge = p.merge;
        if let Some(folder) = &args.bmv2.captures {
            opened.capture(folder)?;
        }
        if interfaces.insert(p.number, opened).is_some() {
            bail!("port {} is given twice", p.number);
        }
        switch.configure(p.number, p.config);
    }
    for aqm in &args.aqm {
        if !interfaces.contains_key(&aqm.port) {
            bail!(
                "--aqm: there is no port {0}; --port {0}=IFACE makes it",
                aqm.port
            );
        }
        aqm.apply(&mut switch).map_err(anyhow::Error::msg)?;
    }
    // For the data-plane thread, which inherits it.
    data_plane::take_precedence();
    let user = args.user.as_deref();
    let given_up = match args.bmv2.unannounced {
        // A BMv2 client can add ports.
        true => privileges::give_up_all_but_packet_sockets("--user", user)?,
        false => privileges::give_up("--user", user)?,
    };
    tracing::debug!("goes on {given_up}");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(data_plane::give_way)
        .enable_all()
        .build()
        .context("tokio runtime")?;
    let opened = Opened {
        credentials,
        grpc,
        metrics,
        thrift,
        interfaces,
        tags,
    };
    runtime.block_on(serve(args, opened, switch, config))
}

/// Resources opened before privileges are dropped.
struct Opened {
    credentials: ServerCredentials,
    grpc: std::net::TcpListener,
    metrics: Option<std::net::TcpListener>,
    thrift: Option<std::net::TcpListener>,
    interfaces: BTreeMap<u32, Interface>,
    tags: TagCounters,
}

fn listen(what: &str, address: SocketAddr, flag: &str) -> Result<std::net::TcpListener> {
    let listen = || {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok::<_, std::io::Error>(listener)
    };
    listen().with_context(|| {
        format!(
            "{what} {address}: cannot listen; is another switch running? choose another with {flag}"
        )
    })
}

/// Tells the service manager, if it watches, that the data plane responds.
async fn tell_alive(data_plane: data_plane::Handle) {
    let Some(period) = daemon_kit::notify::watchdog_period() else {
        return;
    };
    while data_plane.call(|_| ()).await.is_ok() {
        daemon_kit::notify::alive();
        tokio::time::sleep(period).await;
    }
}

async fn serve(
    args: RunArgs,
    opened: Opened,
    switch: Switch,
    config: Option<ForwardingPipelineConfig>,
) -> Result<()> {
    let Opened {
        credentials,
        interfaces,
        ..
    } = opened;
    let listener = TcpListener::from_std(opened.grpc).context("gRPC address")?;
    let metrics = opened.metrics.map(TcpListener::from_std);
    let metrics_listener = metrics.transpose().context("metrics address")?;
    let mut stop = daemon_kit::notify::Stop::listen()?;
    let count = interfaces.len();
    let (handle, thread) = data_plane::start(switch, interfaces, args.cpu_port, args.coalesce)?;
    data_plane::give_way();
    let target = Arc::new(EmbeddedTarget::new(handle.clone()));
    let server = Server::new(target, args.device_id);
    if args.bmv2.unannounced {
        server.promote_backups();
    }
    if let Some(c) = config {
        // Without a P4Info, clients cannot name any objects.
        let loaded = match args.bmv2.unannounced || c.p4info.is_none() {
            true => server.load_unannounced(c).await,
            false => server.load(c).await,
        };
        loaded.map_err(|e| anyhow::anyhow!("program and P4Info: {e}"))?;
    }
    entries::write(&server, Some(&handle), &args.entries).await?;
    let mut also = String::new();
    if let Some(l) = opened.thrift {
        let at = l.local_addr().context("Thrift address")?;
        let port = at.port();
        also = format!(", BMv2's Thrift on {at}");
        let services = thrift::Services {
            runtime: server.runtime(),
            plane: handle.clone(),
            about: Arc::new(thrift::About {
                device_id: args.device_id,
                thrift_port: port,
                swap: !args.bmv2.no_swap,
                captures: args.bmv2.captures.clone(),
            }),
            swapping: Arc::default(),
        };
        thrift::start(l, services)?;
    }
    let address = listener.local_addr().context("gRPC address")?;
    if let Some(l) = metrics_listener {
        let refusals = credentials.refusals().clone();
        let app = metrics::router(
            handle.clone(),
            refusals,
            opened.tags,
            server.lost(),
            &args.metrics_hosts,
        );
        tokio::spawn(daemon_kit::credentials::http::serve(l, app));
    }
    eprintln!(
        "ready: P4Runtime and SwitchControl on {address}, device {}, {count} ports, {}{also}",
        args.device_id,
        credentials.summary()
    );
    let served = credentials
        .server()?
        .add_service(server.into_service())
        .add_service(SwitchControlServer::new(Control::new(handle.clone())))
        .serve_with_incoming(incoming(listener));
    daemon_kit::notify::ready(&format!("{count} ports, P4Runtime on {address}"));
    let watchdog = tokio::spawn(tell_alive(handle.clone()));
    let result = tokio::select! {
        r = served => r.context("gRPC server"),
        _ = stop.asked() => Ok(()),
    };
    daemon_kit::notify::stopping();
    watchdog.abort();
    handle.stop();
    // The thread responds at once: it never blocks without watching for commands.
    tokio::task::spawn_blocking(move || thread.join())
        .await
        .context("data-plane thread")?
        .map_err(|_| anyhow::anyhow!("internal error: data-plane thread died"))?;
    result
}
