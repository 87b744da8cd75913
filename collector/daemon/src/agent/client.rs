// SPDX-License-Identifier: Apache-2.0
//! The agent: reads this host's tracepoints and sends their events to a collector.

use super::buffer::{AgentReport, Buffer};
use super::options::AgentOptions;
use anyhow::{Context, Result, anyhow, bail};
use daemon_kit::credentials::{Access, explain};
use daemon_kit::notify::{Deadline, Stop};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tcp_probe::perf::PerfReader;
use tidemark_proto::telemetry::agent_client::AgentClient;
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

/// Batches queued for the gRPC stream.
pub(super) const WINDOW: usize = 64;
pub(super) const CONNECT: Duration = Duration::from_secs(3);
const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);
/// How long the shutdown may take to read the rings and deliver the remaining batches.
const GRACE: Duration = Duration::from_secs(4);
/// Consequence of a shutdown that takes too long.
const LEFT: &str = "samples that the collector has not acknowledged are lost";

#[derive(Default)]
struct Shared {
    buffer: Mutex<Buffer>,
    /// Why the last connection ended or could not be made.
    problem: Mutex<String>,
    more: Notify,
}

fn read(
    reader: PerfReader,
    shared: &Shared,
    stop: &AtomicBool,
    options: &AgentOptions,
    instance: &str,
) {
    crate::probe::read(reader, stop, |events, counts, last| {
        let mut buffer = shared.buffer.lock();
        buffer.put(&events, counts.lost, options, instance);
        buffer.ended |= last;
        drop(buffer);
        if last || !events.is_empty() {
            shared.more.notify_one();
        }
        true
    });
}

/// Runs one connection until it breaks or everything has been delivered.
async fn connection(endpoint: &Endpoint, access: &Access, shared: &Arc<Shared>) -> Result<()> {
    let channel = endpoint
        .connect()
        .await
        .map_err(|e| anyhow!("no answer: {}", explain::connection(&e, access.shown())))?;
    let (sender, batches) = mpsc::channel(WINDOW);
    // The first answer may come only after the first batch, so start sending at once.
    let sending = {
        let shared = shared.clone();
        tokio::spawn(async move {
            let mut sent = 0;
            loop {
                let (next, ended) = {
                    let buffer = shared.buffer.lock();
                    let i = buffer.batches.partition_point(|b| b.sequence <= sent);
                    (buffer.batches.get(i).cloned(), buffer.ended)
                };
                match next {
                    Some(batch) => {
                        sent = batch.sequence;
                        if sender.send(batch).await.is_err() {
                            return;
                        }
                    }
                    None if ended => return,
                    None => shared.more.notified().await,
                }
            }
        })
    };
    let result = async {
        let mut acks = AgentClient::new(access.channel(channel))
            .push(ReceiverStream::new(batches))
            .await?
            .into_inner();
        shared.buffer.lock().report.connections += 1;
        while let Some(ack) = acks.message().await? {
            shared.buffer.lock().acknowledged(ack.sequence);
        }
        Ok::<_, tonic::Status>(())
    }
    .await;
    sending.abort();
    result.map_err(|s| anyhow!("{:?}: {}", s.code(), explain::status(&s, access.shown())))
}

async fn deliver(endpoint: Endpoint, access: Access, shared: Arc<Shared>, to: String) {
    let mut wait = RETRY_LEAST;
    loop {
        let before = shared.buffer.lock().report.delivered;
        let result = connection(&endpoint, &access, &shared).await;
        {
            let buffer = shared.buffer.lock();
            if buffer.ended && buffer.batches.is_empty() {
                return;
            }
            if buffer.report.delivered > before {
                wait = RETRY_LEAST;
            }
        }
        let problem = match result {
            Err(e) => format!("{e:#}"),
            Ok(()) => "the collector ended the stream".to_owned(),
        };
        // Log a problem once, not at every attempt.
        if *shared.problem.lock() != problem {
            tracing::warn!(to, "{problem}; trying again");
        }
        *shared.problem.lock() = problem;
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY_MOST);
    }
}

/// Returns an error if no collector has taken samples within `connect_within`; else never ends.
async fn in_vain(shared: &Shared, options: &AgentOptions) -> anyhow::Error {
    let Some(within) = options.connect_within else {
        return std::future::pending().await;
    };
    tokio::time::sleep(within).await;
    if shared.buffer.lock().report.connections > 0 {
        return std::future::pending().await;
    }
    let problem = shared.problem.lock();
    let problem = if problem.is_empty() {
        "no answer"
    } else {
        &problem
    };
    anyhow!(
        "--to {}: no collector took samples within {} s: {problem}; start one there with \
         `--agents true`, or wait for it with --connect-within 0",
        options.to,
        within.as_secs()
    )
}

/// Runs the agent until it is told to end, then delivers the remaining batches.
///
/// # Errors
/// If the tracepoints cannot be opened, the address is invalid, or no collector answers at the
/// start; a collector that stops answering later is waited for.
pub fn run(options: &AgentOptions) -> Result<AgentReport> {
    if options
        .to
        .rsplit_once(':')
        .is_none_or(|(_, p)| p.parse::<u16>().is_err())
    {
        bail!(
            "--to {}: HOST:PORT of the collector's grpc.listen is needed",
            options.to
        );
    }
    let endpoint = options
        .access
        .endpoint(&options.to)
        .map_err(|e| anyhow!("--to {}: {e}", options.to))?
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_while_idle(true);
    let reader = PerfReader::open(&options.probe).context("tcp_probe")?;
    let given_up = daemon_kit::privileges::give_up("--user", options.user.as_deref())?;
    tracing::info!("goes on {given_up}");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let instance = crate::host::instance();
    let shared = Arc::new(Shared::default());
    let stop = Arc::new(AtomicBool::new(false));
    let reading = {
        let (shared, stop, options) = (shared.clone(), stop.clone(), options.clone());
        std::thread::Builder::new()
            .name("tcp_probe".into())
            .spawn(move || read(reader, &shared, &stop, &options, &instance))
            .context("cannot start a thread")?
    };
    let ended = runtime.block_on(async {
        let mut stop_signals = Stop::listen()?;
        let mut delivering = tokio::spawn(deliver(
            endpoint,
            options.access.clone(),
            shared.clone(),
            options.to.clone(),
        ));
        eprintln!("ready: tcp_probe of {} to {}", options.host, options.to);
        let vain = tokio::select! {
            _ = stop_signals.asked() => None,
            _ = &mut delivering => None,
            e = in_vain(&shared, options) => Some(e),
        };
        let deadline =
            Deadline::start(Deadline::END, LEFT).context("cannot start thread deadline")?;
        stop.store(true, Ordering::Relaxed);
        let grace = if vain.is_some() {
            Duration::ZERO
        } else {
            GRACE
        };
        let _ = tokio::time::timeout(grace, async {
            let joined = tokio::task::spawn_blocking(move || reading.join()).await;
            if !matches!(joined, Ok(Ok(()))) {
                tracing::error!("the reader's thread panicked");
            }
            if !delivering.is_finished() {
                let _ = (&mut delivering).await;
            }
        })
        .await;
        delivering.abort();
        vain.map_or(Ok(deadline), Err)
    });
    // A name lookup may hang: do not wait for it.
    runtime.shutdown_background();
    let _deadline = ended?;
    let buffer = shared.buffer.lock();
    Ok(AgentReport {
        undelivered: buffer.events as u64,
        ..buffer.report
    })
}
