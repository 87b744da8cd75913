// SPDX-License-Identifier: Apache-2.0
//! The gRPC service: the order of checks, and the connections between the other modules.

use crate::errors::{Failure, Outcome};
use crate::forwarding;
use crate::runtime::Runtime;
use crate::shared::Shared;
use crate::stream_channel::serve_stream;
use crate::streams::Outgoing;
use crate::target::Target;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

/// Programs with their P4Info can be large; the specification requires 64 MB.
const MAX_MESSAGE_BYTES: usize = 96 << 20;
const API_VERSION: &str = "1.5.0";

/// A P4Runtime server for one device. Clones serve the same device.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// Makes a server whose requests must name `device_id`. Must be called within a tokio runtime
    /// that has time enabled.
    pub fn new(target: Arc<dyn Target>, device_id: u64) -> Self {
        let shared = Arc::new(Shared::new(target, device_id));
        tokio::spawn(forwarding::forward_packets(
            Arc::downgrade(&shared),
            shared.target.packet_in(),
        ));
        tokio::spawn(forwarding::forward_digests(
            Arc::downgrade(&shared),
            shared.target.digests(),
        ));
        tokio::spawn(forwarding::forward_idle(Arc::downgrade(&shared)));
        Self { shared }
    }

    /// From now on, the backup with the highest election id is promoted and notified when the
    /// primary leaves, as in BMv2. The specification requires an id as high as any before.
    pub fn promote_backups(&self) {
        self.shared.streams().promote_backups();
    }

    /// Returns the count of packets and digest lists that a primary client did not receive: it was
    /// too slow, or they did not match their type.
    pub fn lost(&self) -> Arc<AtomicU64> {
        self.shared.lost.clone()
    }

    /// Sets the pipeline from within the process, like VERIFY_AND_COMMIT.
    pub async fn load(&self, config: p4::ForwardingPipelineConfig) -> Outcome<()> {
        use p4::set_forwarding_pipeline_config_request::Action;
        let mut device = self.shared.device.write().await;
        device
            .set_pipeline(Action::VerifyAndCommit, Some(config))
            .await?;
        self.shared.restart_digests(&device);
        Ok(())
    }

    /// Applies updates from within the process, without arbitration.
    ///
    /// # Errors
    /// As in the Write RPC: details say which update was refused and why.
    pub async fn write(&self, updates: &[p4::Update]) -> Result<(), Status> {
        let mut device = self.shared.device.write().await;
        let result = device.write(updates).await;
        self.shared.configure_digests(&device);
        result
    }

    /// Like [`Self::load`], but P4Runtime clients have to push the program before they can read
    /// or write, as with BMv2's server.
    ///
    /// # Errors
    /// The program cannot be run.
    pub async fn load_unannounced(&self, config: p4::ForwardingPipelineConfig) -> Outcome<()> {
        let mut device = self.shared.device.write().await;
        device.load_unannounced(config).await?;
        self.shared.restart_digests(&device);
        Ok(())
    }

    /// Returns this device as BMv2's runtime services present it, by names and handles.
    pub fn runtime(&self) -> Runtime {
        Runtime {
            shared: self.shared.clone(),
        }
    }

    /// Returns the gRPC service.
    pub fn into_service(self) -> P4RuntimeServer<Self> {
        P4RuntimeServer::new(self)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }
}

/// Runs `work` to its end even if the client cancels, so that the target and the stored
/// state stay consistent.
async fn to_the_end<T: Send + 'static>(
    work: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<Response<T>, Status> {
    match tokio::spawn(work).await {
        Ok(result) => result.map(Response::new),
        Err(e) => Err(Status::internal(format!("request was interrupted: {e}"))),
    }
}

#[tonic::async_trait]
impl P4Runtime for Server {
    type ReadStream = Pin<Box<dyn Stream<Item = Result<p4::ReadResponse, Status>> + Send>>;
    type StreamChannelStream = Pin<Box<dyn Stream<Item = Outgoing> + Send>>;

    async fn write(
        &self,
        request: Request<p4::WriteRequest>,
    ) -> Result<Response<p4::WriteResponse>, Status> {
        let shared = self.shared.clone();
        let r = request.into_inner();
        to_the_end(async move {
            shared.check_device(r.device_id)?;
            let mut device = shared.device.write().await;
            shared.check_primary(&r.role, r.role_id, r.election_id.as_ref())?;
            if r.atomicity != p4::write_request::Atomicity::ContinueOnError as i32 {
                return Err(
                    Failure::unsupported("only atomicity CONTINUE_ON_ERROR is supported").into(),
                );
            }
            device.check_announced()?;
            let result = device.write(&r.updates).await;
            shared.configure_digests(&device);
            result.map(|()| p4::WriteResponse {})
        })
        .await
    }

    async fn read(
        &self,
        request: Request<p4::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let r = request.into_inner();
        self.shared.check_device(r.device_id)?;
        let device = self.shared.device.read().await;
        device.check_announced()?;
        let answer = device.read(&r.entities).await;
        Ok(Response::new(Box::pin(tokio_stream::iter(answer))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<p4::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<p4::SetForwardingPipelineConfigResponse>, Status> {
        let shared = self.shared.clone();
        let r = request.into_inner();
        to_the_end(async move {
            shared.check_device(r.device_id)?;
            let mut device = shared.device.write().await;
            shared.check_primary(&r.role, r.role_id, r.election_id.as_ref())?;
            let action = r.action();
            let before = device.pipeline().cloned();
            let result = device.set_pipeline(action, r.config).await;
            let same = match (&before, device.pipeline()) {
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                (None, None) => true,
                _ => false,
            };
            if !same {
                shared.restart_digests(&device);
            }
            result?;
            Ok(p4::SetForwardingPipelineConfigResponse {})
        })
        .await
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<p4::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<p4::GetForwardingPipelineConfigResponse>, Status> {
        let r = request.into_inner();
        self.shared.check_device(r.device_id)?;
        let device = self.shared.device.read().await;
        let announced = device.check_announced().is_ok();
        Ok(Response::new(p4::GetForwardingPipelineConfigResponse {
            config: device
                .current_pipeline()
                .filter(|_| announced)
                .map(|p| p.response(r.response_type())),
        }))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<p4::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (id, outbox) = self.shared.streams().open();
        tokio::spawn(serve_stream(self.shared.clone(), id, request.into_inner()));
        Ok(Response::new(Box::pin(ReceiverStream::new(outbox))))
    }

    async fn capabilities(
        &self,
        request: Request<p4::CapabilitiesRequest>,
    ) -> Result<Response<p4::CapabilitiesResponse>, Status> {
        // Device 0 means the server itself.
        match request.into_inner().device_id {
            0 => {}
            id => self.shared.check_device(id)?,
        }
        Ok(Response::new(p4::CapabilitiesResponse {
            p4runtime_api_version: API_VERSION.to_owned(),
            experimental: None,
        }))
    }
}
