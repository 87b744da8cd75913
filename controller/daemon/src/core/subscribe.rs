// SPDX-License-Identifier: Apache-2.0
//! Keeps the subscription to one collector alive.

use super::{Core, Event};
use crate::config::CollectorConfig;
use daemon_kit::credentials::CallerChannel;
use daemon_kit::credentials::explain::{self as credentials, Shown};
use std::sync::Arc;
use std::time::Duration;
use tidemark_proto::telemetry::telemetry_client::TelemetryClient;
use tidemark_proto::telemetry::{
    GetInfoRequest, PacketBatch, ReadPacketsRequest, SubscribeRequest,
};
use tonic::Status;

const MAX_MESSAGE_BYTES: usize = 64 << 20;
const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// A live collector sends something every second; after this silence the connection is dead.
const SILENCE: Duration = Duration::from_secs(15);

type Client = TelemetryClient<CallerChannel>;

/// Creates a client for the collector with this index; it connects when first used. The credentials
/// are read again, so that renewed ones need no restart.
fn client(
    core: &Core,
    index: usize,
    collector: &CollectorConfig,
) -> Result<(Client, Shown), String> {
    let access = collector
        .access(index, core.now().unix_ms / 1000)
        .map_err(|e| e.to_string())?;
    let endpoint = access
        .endpoint(&collector.address)?
        .connect_timeout(Duration::from_secs(5))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(8 << 20);
    let channel = access.channel(endpoint.connect_lazy());
    let client = TelemetryClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES);
    Ok((client, access.shown()))
}

/// Subscribes, and retries after every failure, until the task is aborted.
pub async fn run(core: Arc<Core>, index: usize) {
    let Some(collector) = core.config.collectors.get(index).cloned() else {
        return;
    };
    let address = &collector.address;
    let mut backoff = FIRST_BACKOFF;
    loop {
        let started = core.now();
        let problem = match once(&core, index, &collector).await {
            Ok(()) => "the collector ended the stream".to_string(),
            Err(problem) => problem,
        };
        let news = core.disconnected(index, problem.clone());
        if news {
            tracing::warn!(%address, "collector: {problem}; trying again");
            core.emit(Event::Collector {
                address: address.clone(),
                connected: false,
                problem: Some(problem),
            });
        }
        if core.now().since_s(started) > SILENCE.as_secs_f64() {
            backoff = FIRST_BACKOFF;
        }
        tokio::time::sleep(backoff).await;
        backoff = (backoff * 2).min(MAX_BACKOFF);
    }
}

fn explain(status: &Status, shown: Shown) -> String {
    let words = credentials::status(status, shown);
    match status.code() {
        tonic::Code::Unavailable => format!("cannot be reached ({words})"),
        code => format!("{code:?}: {words}"),
    }
}

async fn once(core: &Core, index: usize, collector: &CollectorConfig) -> Result<(), String> {
    let address = &collector.address;
    let (mut rpc, shown) = client(core, index, collector)?;
    let refused = |status: Status| explain(&status, shown);
    let info = rpc.get_info(GetInfoRequest {}).await.map_err(refused)?;
    let info = info.into_inner();
    let request = SubscribeRequest {
        subscriber: tidemark_proto::CONTROLLER.into(),
    };
    let stream = rpc.subscribe(request).await.map_err(refused)?;
    let mut stream = stream.into_inner();
    let instance = info.instance.clone();
    let restarted = core.connected(index, info);
    tracing::info!(%address, %instance, restarted, "collector: connected");
    core.emit(Event::Collector {
        address: address.clone(),
        connected: true,
        problem: None,
    });
    loop {
        let next = tokio::time::timeout(SILENCE, stream.message()).await;
        let Ok(next) = next else {
            return Err(format!("nothing came for {} s", SILENCE.as_secs()));
        };
        // The collector had let us in, so credentials are not the cause.
        let next = next.map_err(|s| format!("{:?}: {}", s.code(), s.message()))?;
        let Some(update) = next else {
            return Ok(());
        };
        core.take(index, &update);
    }
}

/// Reads single packets from a collector's memory.
pub async fn read_packets(
    core: &Core,
    address: &str,
    request: ReadPacketsRequest,
) -> Result<PacketBatch, String> {
    let mut all = core.config.collectors.iter().enumerate();
    let (index, collector) = all
        .find(|(_, c)| c.address == address)
        .ok_or_else(|| format!("collector {address}: is not configured"))?;
    let (mut rpc, shown) = client(core, index, collector)?;
    let call = rpc.read_packets(request);
    match tokio::time::timeout(Duration::from_secs(10), call).await {
        Ok(Ok(r)) => Ok(r.into_inner()),
        Ok(Err(s)) => Err(format!("collector {address}: {}", explain(&s, shown))),
        Err(_) => Err(format!("collector {address}: no answer within 10 s")),
    }
}
