// SPDX-License-Identifier: Apache-2.0
//! The telemetry service.

use crate::hub::Hub;
use crate::packets::PacketMemory;
use futures::StreamExt;
use futures::stream::BoxStream;
use std::sync::Arc;
use tidemark_proto::telemetry::telemetry_server::Telemetry;
use tidemark_proto::telemetry::{
    CollectorInfo, GetInfoRequest, PacketBatch, ReadPacketsRequest, SubscribeRequest, Update,
};
use tonic::{Request, Response, Status};

/// Answers subscribers and requests for packets.
pub(crate) struct TelemetryService {
    pub info: CollectorInfo,
    pub hub: Arc<Hub>,
    pub packets: Arc<PacketMemory>,
}

#[tonic::async_trait]
impl Telemetry for TelemetryService {
    async fn get_info(
        &self,
        _: Request<GetInfoRequest>,
    ) -> Result<Response<CollectorInfo>, Status> {
        Ok(Response::new(self.info.clone()))
    }

    type SubscribeStream = BoxStream<'static, Result<Update, Status>>;

    async fn subscribe(
        &self,
        request: Request<SubscribeRequest>,
    ) -> Result<Response<Self::SubscribeStream>, Status> {
        let peer = request.remote_addr();
        let mut name = request.into_inner().subscriber;
        if name.is_empty() {
            name = peer.map_or_else(|| "unnamed".to_owned(), |p| p.to_string());
        }
        tracing::info!(subscriber = name, "subscribed");
        let subscription = self
            .hub
            .subscribe(&name, peer)
            .map_err(|e| Status::resource_exhausted(e.to_string()))?;
        Ok(Response::new(subscription.map(Ok).boxed()))
    }

    async fn read_packets(
        &self,
        request: Request<ReadPacketsRequest>,
    ) -> Result<Response<PacketBatch>, Status> {
        let request = request.into_inner();
        if request.from_ns > request.to_ns {
            return Err(Status::invalid_argument(format!(
                "from_ns {} is after to_ns {}",
                request.from_ns, request.to_ns
            )));
        }
        let packets = self.packets.clone();
        tokio::task::spawn_blocking(move || packets.read(&request))
            .await
            .map(Response::new)
            .map_err(|e| Status::internal(e.to_string()))
    }
}
