// SPDX-License-Identifier: Apache-2.0
//! The agent: reads this host's tracepoints and sends them on.

use super::convert::message_of;
use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tcp_probe::Event;
use tcp_probe::perf::{Options, PerfReader};
use tidemark_proto::telemetry::AgentBatch;
use tidemark_proto::telemetry::agent_client::AgentClient;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

/// Events of one batch.
const BATCH_EVENTS: usize = 4096;
/// Batches on their way without an acknowledgement.
const WINDOW: usize = 64;
const POLL: Duration = Duration::from_millis(5);
const CONNECT: Duration = Duration::from_secs(3);
const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);
/// How long the end may take to deliver what is left.
const GRACE: Duration = Duration::from_secs(5);

/// What an agent is told.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// `HOST:PORT` of a collector's gRPC address.
    pub to: String,
    pub host: String,
    /// Events kept while the collector does not answer.
    pub buffer_events: usize,
    pub probe: Options,
}

/// What an agent has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentReport {
    /// Read from the kernel.
    pub events: u64,
    pub ring_lost: u64,
    /// Read, but there was no room to keep them.
    pub buffer_lost: u64,
    /// Acknowledged by the collector.
    pub delivered: u64,
    /// Kept, but not acknowledged before the end.
    pub undelivered: u64,
    pub connections: u64,
}

/// Batches from the reader to the sender.
#[derive(Default)]
struct Buffer {
    batches: VecDeque<AgentBatch>,
    events: usize,
    next_sequence: u64,
    ended: bool,
    report: AgentReport,
}

impl Buffer {
    fn put(&mut self, events: &[Event], ring_lost: u64, options: &AgentOptions, instance: &str) {
        self.report.events += events.len() as u64;
        self.report.ring_lost = ring_lost;
        for part in events.chunks(BATCH_EVENTS) {
            if self.events + part.len() > options.buffer_events {
                self.report.buffer_lost += part.len() as u64;
                continue;
            }
            self.events += part.len();
            self.next_sequence += 1;
            self.batches.push_back(AgentBatch {
                host: options.host.clone(),
                instance: instance.to_owned(),
                sequence: self.next_sequence,
                events: part.iter().map(message_of).collect(),
                ring_lost,
                buffer_lost: self.report.buffer_lost,
            });
        }
    }

    /// Forgets what has been taken.
    fn acknowledged(&mut self, sequence: u64) {
        while self.batches.front().is_some_and(|b| b.sequence <= sequence) {
            let events = self.batches.pop_front().map_or(0, |b| b.events.len());
            self.events -= events;
            self.report.delivered += events as u64;
        }
    }
}

#[derive(Default)]
struct Shared {
    buffer: Mutex<Buffer>,
    more: Notify,
}

impl Shared {
    fn buffer(&self) -> MutexGuard<'_, Buffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(
    mut reader: PerfReader,
    shared: &Shared,
    stop: &AtomicBool,
    options: &AgentOptions,
    instance: &str,
) {
    loop {
        let mut stopping = stop.load(Ordering::Relaxed);
        if !stopping && let Err(e) = reader.poll(POLL) {
            tracing::error!("tcp_probe: {e}");
            stopping = true;
        }
        let mut events = Vec::new();
        if stopping {
            reader.finish(|e| events.push(e));
        } else {
            reader.drain(|e| events.push(e));
        }
        let mut buffer = shared.buffer();
        buffer.put(&events, reader.counts().lost, options, instance);
        buffer.ended |= stopping;
        drop(buffer);
        if stopping || !events.is_empty() {
            shared.more.notify_one();
        }
        if stopping {
            return;
        }
    }
}

/// One connection: sends until it breaks or everything has been delivered.
async fn connection(endpoint: &Endpoint, shared: &Arc<Shared>) -> Result<()> {
    let channel = endpoint.connect().await.context("no answer")?;
    let (sender, batches) = mpsc::channel(WINDOW);
    // The first answer may come only after the first batch: send meanwhile.
    let sending = {
        let shared = shared.clone();
        tokio::spawn(async move {
            let mut sent = 0;
            loop {
                let (next, ended) = {
                    let buffer = shared.buffer();
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
        let mut acks = AgentClient::new(channel)
            .push(ReceiverStream::new(batches))
            .await?
            .into_inner();
        shared.buffer().report.connections += 1;
        while let Some(ack) = acks.message().await? {
            shared.buffer().acknowledged(ack.sequence);
        }
        Ok::<_, tonic::Status>(())
    }
    .await;
    sending.abort();
    result?;
    Ok(())
}

async fn deliver(endpoint: Endpoint, shared: Arc<Shared>, to: String) {
    let mut wait = RETRY_LEAST;
    loop {
        let before = shared.buffer().report.delivered;
        let result = connection(&endpoint, &shared).await;
        {
            let buffer = shared.buffer();
            if buffer.ended && buffer.batches.is_empty() {
                return;
            }
            if buffer.report.delivered > before {
                wait = RETRY_LEAST;
            }
        }
        match result {
            Err(e) => tracing::warn!(to, "{e:#}; trying again"),
            Ok(()) => tracing::warn!(to, "the collector ended the stream; trying again"),
        }
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(RETRY_MOST);
    }
}

/// Runs until SIGINT or SIGTERM, then delivers what is left.
///
/// # Errors
/// When the tracepoints cannot be opened or the address is none; a collector
/// that does not answer is waited for.
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
    let endpoint = Endpoint::from_shared(format!("http://{}", options.to))
        .with_context(|| format!("--to {}", options.to))?
        .connect_timeout(CONNECT)
        .tcp_nodelay(true)
        .http2_keep_alive_interval(Duration::from_secs(10))
        .keep_alive_while_idle(true);
    let reader = PerfReader::open(&options.probe).context("tcp_probe")?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let instance = crate::run::instance();
    let shared = Arc::new(Shared::default());
    let stop = Arc::new(AtomicBool::new(false));
    let reading = {
        let (shared, stop, options) = (shared.clone(), stop.clone(), options.clone());
        std::thread::Builder::new()
            .name("tcp_probe".into())
            .spawn(move || read(reader, &shared, &stop, &options, &instance))
            .context("cannot start a thread")?
    };
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate()).context("SIGTERM")?;
        let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT")?;
        let mut delivering = tokio::spawn(deliver(endpoint, shared.clone(), options.to.clone()));
        eprintln!("ready: tcp_probe of {} to {}", options.host, options.to);
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = &mut delivering => {}
        }
        stop.store(true, Ordering::Relaxed);
        let joined = tokio::task::spawn_blocking(move || reading.join()).await;
        if !matches!(joined, Ok(Ok(()))) {
            tracing::error!("the reader's thread panicked");
        }
        if !delivering.is_finished() {
            let _ = tokio::time::timeout(GRACE, &mut delivering).await;
            delivering.abort();
        }
        Ok::<_, anyhow::Error>(())
    })?;
    let buffer = shared.buffer();
    Ok(AgentReport {
        undelivered: buffer.events as u64,
        ..buffer.report
    })
}

/// Sends events of any origin as an agent does, and waits for the collector.
pub struct Pusher {
    runtime: tokio::runtime::Runtime,
    sender: mpsc::Sender<AgentBatch>,
    acks: tokio::task::JoinHandle<Result<u64, tonic::Status>>,
    host: String,
    instance: String,
    sequence: u64,
}

impl Pusher {
    /// # Errors
    /// When no collector answers, or it takes nothing of agents.
    pub fn connect(to: &str, host: &str) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        let endpoint = Endpoint::from_shared(format!("http://{to}"))
            .with_context(|| format!("{to}: HOST:PORT is needed"))?
            .connect_timeout(CONNECT);
        let channel = runtime
            .block_on(endpoint.connect())
            .with_context(|| format!("no collector answers on {to}; is it its grpc.listen?"))?;
        let (sender, batches) = mpsc::channel(WINDOW);
        let acks = runtime.spawn(async move {
            let mut stream = AgentClient::new(channel)
                .push(ReceiverStream::new(batches))
                .await?
                .into_inner();
            let mut last = 0;
            while let Some(ack) = stream.message().await? {
                last = ack.sequence;
            }
            Ok(last)
        });
        Ok(Self {
            runtime,
            sender,
            acks,
            host: host.to_owned(),
            instance: crate::run::instance(),
            sequence: 0,
        })
    }

    /// # Errors
    /// When the collector is gone.
    pub fn push(&mut self, events: &[Event]) -> Result<()> {
        self.sequence += 1;
        let batch = AgentBatch {
            host: self.host.clone(),
            instance: self.instance.clone(),
            sequence: self.sequence,
            events: events.iter().map(message_of).collect(),
            ..AgentBatch::default()
        };
        if self.sender.blocking_send(batch).is_err() {
            return Err(self.why());
        }
        Ok(())
    }

    fn why(&mut self) -> anyhow::Error {
        match self.runtime.block_on(&mut self.acks) {
            Ok(Err(status)) if status.code() == tonic::Code::Unimplemented => anyhow::anyhow!(
                "the collector takes no samples of agents; start it with agents.accept = true"
            ),
            Ok(Err(status)) => anyhow::anyhow!("the collector refused samples: {status}"),
            _ => anyhow::anyhow!("the collector ended the stream"),
        }
    }

    /// Waits until everything has been taken.
    ///
    /// # Errors
    /// When something has not.
    pub fn finish(self) -> Result<()> {
        let Self {
            runtime,
            sender,
            acks,
            sequence,
            ..
        } = self;
        drop(sender);
        let last = runtime
            .block_on(acks)
            .context("the sender panicked")?
            .context("the collector refused samples")?;
        if last != sequence {
            bail!("the collector took {last} of {sequence} batches of samples");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use int_report::FlowKey;
    use tcp_probe::RetransmitEvent;

    #[test]
    fn the_buffer_is_bounded_and_counts() {
        let options = AgentOptions {
            to: "localhost:1".into(),
            host: "h".into(),
            buffer_events: 100,
            probe: Options::default(),
        };
        let event = Event::Retransmit(RetransmitEvent {
            time_ns: 1,
            flow: FlowKey {
                src: "10.0.0.1".parse().unwrap(),
                dst: "10.0.0.2".parse().unwrap(),
                src_port: 1,
                dst_port: 2,
                protocol: 6,
            },
        });
        let mut b = Buffer::default();
        for _ in 0..4 {
            b.put(&[event; 40], 3, &options, "i");
        }
        assert_eq!((b.events, b.batches.len()), (80, 2));
        assert_eq!((b.report.events, b.report.buffer_lost), (160, 80));
        b.acknowledged(1);
        b.put(&[event; 40], 3, &options, "i");
        let sequences: Vec<u64> = b.batches.iter().map(|b| b.sequence).collect();
        assert_eq!(sequences, [2, 3], "numbers of lost batches are not used");
        assert_eq!(b.batches[1].buffer_lost, 80);
        assert_eq!(b.report.delivered, 40);
    }
}
