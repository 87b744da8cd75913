// SPDX-License-Identifier: Apache-2.0
//! Collectors that serve generated telemetry.

use crate::load::Load;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tidemark_proto::telemetry::telemetry_server::{Telemetry, TelemetryServer};
use tidemark_proto::telemetry::{
    CollectorInfo, GetInfoRequest, PacketBatch, ReadPacketsRequest, SubscribeRequest, Update,
};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{Request, Response, Status};

/// Most updates that wait to be written: few, so that a slow subscriber shows at once.
const WAITING: usize = 4;
const MAX_MESSAGE_BYTES: usize = 64 << 20;

#[derive(Default)]
struct Progress {
    live: AtomicU64,
    records: AtomicU64,
    /// Longest delay until a live update was taken, over all collectors, us.
    behind_us: AtomicU64,
}

struct Collector {
    index: u32,
    load: Arc<Load>,
    progress: Arc<Progress>,
}

pub(crate) struct Collectors {
    pub addresses: Vec<SocketAddr>,
    of: u64,
    progress: Arc<Progress>,
    _runtime: Runtime,
}

impl Collectors {
    /// Waits until the past has been sent.
    pub(crate) fn wait_until_live(&self) {
        while self.progress.live.load(Ordering::Relaxed) < self.of {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Returns the number of live records sent so far.
    pub(crate) fn sent(&self) -> u64 {
        self.progress.records.load(Ordering::Relaxed)
    }

    /// Returns the longest time that a live update waited to be taken.
    pub(crate) fn behind_s(&self) -> f64 {
        self.progress.behind_us.load(Ordering::Relaxed) as f64 / 1e6
    }
}

#[tonic::async_trait]
impl Telemetry for Collector {
    async fn get_info(
        &self,
        _: Request<GetInfoRequest>,
    ) -> Result<Response<CollectorInfo>, Status> {
        Ok(Response::new(self.load.info(self.index)))
    }

    type SubscribeStream = ReceiverStream<Result<Update, Status>>;

    async fn subscribe(
        &self,
        _: Request<SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let (tx, rx) = mpsc::channel(WAITING);
        let (load, progress, index) = (
            Arc::clone(&self.load),
            Arc::clone(&self.progress),
            self.index,
        );
        tokio::spawn(async move { send(&load, &progress, index, tx).await });
        Ok(Response::new(ReceiverStream::new(rx)))
    }

    async fn read_packets(
        &self,
        _: Request<ReadPacketsRequest>,
    ) -> Result<Response<PacketBatch>, Status> {
        Ok(Response::new(PacketBatch::default()))
    }
}

async fn send(
    load: &Load,
    progress: &Progress,
    index: u32,
    tx: mpsc::Sender<Result<Update, Status>>,
) {
    let interval = Duration::from_millis(load.options.interval_ms);
    let past = load.options.past_s * 1000 / load.options.interval_ms;
    for step in 0..past {
        if tx.send(Ok(load.update(index, step).0)).await.is_err() {
            return;
        }
    }
    let began = Instant::now();
    progress.live.fetch_add(1, Ordering::Relaxed);
    for step in past.. {
        let due = began + interval * u32::try_from(step - past).unwrap();
        tokio::time::sleep_until(due.into()).await;
        let (update, records) = load.update(index, step);
        if tx.send(Ok(update)).await.is_err() {
            return;
        }
        progress.records.fetch_add(records, Ordering::Relaxed);
        let behind_us = due.elapsed().as_micros() as u64;
        progress.behind_us.fetch_max(behind_us, Ordering::Relaxed);
    }
}

pub(crate) fn start(load: &Arc<Load>) -> Collectors {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let progress = Arc::new(Progress::default());
    let bind = |index: u32| {
        let collector = Collector {
            index,
            load: Arc::clone(load),
            progress: Arc::clone(&progress),
        };
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .unwrap();
        let address = listener.local_addr().unwrap();
        let service = TelemetryServer::new(collector).max_encoding_message_size(MAX_MESSAGE_BYTES);
        runtime.spawn(async move {
            tonic::transport::Server::builder()
                .add_service(service)
                .serve_with_incoming(TcpListenerStream::new(listener))
                .await
                .unwrap();
        });
        address
    };
    Collectors {
        addresses: (0..load.options.collectors).map(bind).collect(),
        of: load.options.collectors.into(),
        progress,
        _runtime: runtime,
    }
}
