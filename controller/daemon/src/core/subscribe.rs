// SPDX-License-Identifier: Apache-2.0
//! Keeps the subscription to one collector alive.

use super::{Core, Event};
use std::sync::Arc;
use std::time::Duration;
use tidemark_proto::telemetry::telemetry_client::TelemetryClient;
use tidemark_proto::telemetry::{
    GetInfoRequest, PacketBatch, ReadPacketsRequest, SubscribeRequest,
};
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

const MAX_MESSAGE_BYTES: usize = 64 << 20;
const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// Live collectors send something every second; silence is a dead connection.
const SILENCE: Duration = Duration::from_secs(15);

/// A client for the collector at `address` (`host:port` or a URL); connects
/// when used.
///
/// # Errors
/// An address that makes no sense.
pub fn client(address: &str) -> Result<TelemetryClient<Channel>, String> {
    let url = if address.contains("://") {
        address.to_string()
    } else {
        format!("http://{address}")
    };
    let endpoint = Endpoint::from_shared(url)
        .map_err(|e| format!("collectors: \"{address}\" is not like 127.0.0.1:9560: {e}"))?
        .connect_timeout(Duration::from_secs(5))
        .http2_keep_alive_interval(Duration::from_secs(10))
        .initial_stream_window_size(4 << 20)
        .initial_connection_window_size(8 << 20);
    Ok(TelemetryClient::new(endpoint.connect_lazy()).max_decoding_message_size(MAX_MESSAGE_BYTES))
}

/// Subscribes, and again after every failure, until the task is aborted.
pub async fn run(core: Arc<Core>, index: usize) {
    let Some(address) = core.config.collectors.get(index).cloned() else {
        return;
    };
    let mut backoff = FIRST_BACKOFF;
    loop {
        let started = core.now();
        let problem = match once(&core, index, &address).await {
            Ok(()) => "the collector ended the stream".to_string(),
            Err(status) => explain(&status),
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

fn explain(status: &Status) -> String {
    match status.code() {
        tonic::Code::Unavailable => format!("cannot be reached ({})", status.message()),
        code => format!("{code:?}: {}", status.message()),
    }
}

async fn once(core: &Core, index: usize, address: &str) -> Result<(), Status> {
    let mut rpc = client(address).map_err(Status::invalid_argument)?;
    let info = rpc.get_info(GetInfoRequest {}).await?.into_inner();
    let request = SubscribeRequest {
        subscriber: "tidemark-controller".into(),
    };
    let mut stream = rpc.subscribe(request).await?.into_inner();
    let instance = info.instance.clone();
    let restarted = core.connected(index, info);
    tracing::info!(%address, %instance, restarted, "collector: connected");
    core.emit(Event::Collector {
        address: address.into(),
        connected: true,
        problem: None,
    });
    loop {
        let next = tokio::time::timeout(SILENCE, stream.message()).await;
        let Ok(next) = next else {
            return Err(Status::deadline_exceeded(format!(
                "nothing came for {} s",
                SILENCE.as_secs()
            )));
        };
        let Some(update) = next? else {
            return Ok(());
        };
        core.take(index, &update);
    }
}

/// Single packets out of a collector's memory.
///
/// # Errors
/// What the collector said, or that it did not answer.
pub async fn read_packets(
    address: &str,
    request: ReadPacketsRequest,
) -> Result<PacketBatch, String> {
    let mut rpc = client(address)?;
    let call = rpc.read_packets(request);
    match tokio::time::timeout(Duration::from_secs(10), call).await {
        Ok(Ok(r)) => Ok(r.into_inner()),
        Ok(Err(s)) => Err(format!("collector {address}: {}", explain(&s))),
        Err(_) => Err(format!("collector {address}: no answer within 10 s")),
    }
}
