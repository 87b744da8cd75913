// SPDX-License-Identifier: Apache-2.0
//! Client of a collector's agent service, for events of any origin.

use super::client::{CONNECT, WINDOW};
use super::convert::message_of;
use anyhow::{Context, Result, anyhow, bail};
use daemon_kit::credentials::Access;
use daemon_kit::credentials::explain::{self, Shown};
use tcp_probe::Event;
use tidemark_proto::telemetry::AgentBatch;
use tidemark_proto::telemetry::agent_client::AgentClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

/// Sends events of any origin as an agent does, and waits for the collector.
pub struct Pusher {
    runtime: tokio::runtime::Runtime,
    sender: mpsc::Sender<AgentBatch>,
    acks: tokio::task::JoinHandle<Result<u64, tonic::Status>>,
    shown: Shown,
    host: String,
    instance: String,
    sequence: u64,
}

impl Pusher {
    /// # Errors
    /// If `to` is not an address or no collector answers there.
    pub fn connect(to: &str, host: &str, access: &Access) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start the runtime")?;
        let endpoint = access
            .endpoint(to)
            .map_err(|e| anyhow!("{to}: HOST:PORT or a URL is needed: {e}"))?
            .connect_timeout(CONNECT);
        let channel = runtime.block_on(endpoint.connect()).map_err(|e| {
            let why = explain::connection(&e, access.shown());
            anyhow!("no collector answers on {to}; is it its grpc.listen? {why}")
        })?;
        let (access, shown) = (access.clone(), access.shown());
        let (sender, batches) = mpsc::channel(WINDOW);
        let acks = runtime.spawn(async move {
            let mut stream = AgentClient::new(access.channel(channel))
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
            shown,
            host: host.to_owned(),
            instance: crate::host::instance(),
            sequence: 0,
        })
    }

    /// # Errors
    /// If the collector is gone or refuses samples.
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
        let shown = self.shown;
        match self.runtime.block_on(&mut self.acks) {
            Ok(Err(status)) => refused(&status, shown),
            _ => anyhow!("the collector ended the stream"),
        }
    }

    /// Waits until the collector has taken everything.
    ///
    /// # Errors
    /// If the collector has refused or not taken a batch.
    pub fn finish(self) -> Result<()> {
        drop(self.sender);
        let last = self
            .runtime
            .block_on(self.acks)
            .context("the sender panicked")?
            .map_err(|status| refused(&status, self.shown))?;
        let sequence = self.sequence;
        if last != sequence {
            bail!("the collector took {last} of {sequence} batches of samples");
        }
        Ok(())
    }
}

fn refused(status: &tonic::Status, shown: Shown) -> anyhow::Error {
    if status.code() == tonic::Code::Unimplemented {
        return anyhow!(
            "the collector takes no samples from agents; start it with agents.accept = true"
        );
    }
    anyhow!(
        "the collector refused samples: {:?}: {}",
        status.code(),
        explain::status(status, shown)
    )
}
