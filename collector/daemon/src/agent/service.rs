// SPDX-License-Identifier: Apache-2.0
//! The collector's side: the gRPC service that agents call.

use super::agents::Agents;
use futures::StreamExt;
use futures::stream::BoxStream;
use std::sync::Arc;
use tidemark_proto::telemetry::agent_server::Agent;
use tidemark_proto::telemetry::{AgentAck, AgentBatch};
use tonic::{Request, Response, Status, Streaming};

/// Takes the batches of agents.
pub struct AgentService(pub Agents);

#[tonic::async_trait]
impl Agent for AgentService {
    type PushStream = BoxStream<'static, Result<AgentAck, Status>>;

    async fn push(
        &self,
        request: Request<Streaming<AgentBatch>>,
    ) -> Result<Response<Self::PushStream>, Status> {
        let peer = request.remote_addr();
        tracing::info!(?peer, "agent connected");
        let connection = Arc::new(self.0.connect(peer.map(|p| p.ip()))?);
        let acks = request.into_inner().then(move |batch| {
            let connection = Arc::clone(&connection);
            async move {
                let batch = batch?;
                let sequence = batch.sequence;
                tokio::task::spawn_blocking(move || connection.take(&batch))
                    .await
                    .map_err(|e| Status::internal(e.to_string()))??;
                Ok(AgentAck { sequence })
            }
        });
        Ok(Response::new(acks.boxed()))
    }
}
