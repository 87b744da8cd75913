// SPDX-License-Identifier: Apache-2.0
//! The gRPC service: order of checks, and the wiring of the other modules.

use crate::arbitration::{Arbitration, StreamId, unknown_device};
use crate::device::Device;
use crate::errors::{Failure, Outcome};
use crate::stream::{self, Outgoing, Streams};
use crate::target::Target;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::p4_runtime_server::{P4Runtime, P4RuntimeServer};
use tidemark_proto::p4::v1::stream_error::Details;
use tidemark_proto::p4::v1::stream_message_request::Update;
use tokio::sync::{RwLock, broadcast};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

/// Programs with their P4Info can be large; the specification asks for 64 MB.
const MAX_MESSAGE_BYTES: usize = 256 << 20;
const API_VERSION: &str = "1.5.0";

/// How a server presents itself.
#[derive(Clone, Debug)]
pub struct Options {
    pub device_id: u64,
    /// Clients at a time, and roles ever.
    pub max_streams: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            device_id: 1,
            max_streams: 64,
        }
    }
}

/// A P4Runtime server for one device. Clones serve the same device.
#[derive(Clone)]
pub struct Server {
    inner: Arc<Inner>,
}

struct Inner {
    device_id: u64,
    target: Arc<dyn Target>,
    device: RwLock<Device>,
    streams: Mutex<Streams>,
}

impl Inner {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        // Each change of the streams is complete in itself.
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_device(&self, id: u64) -> Outcome<()> {
        if id == self.device_id {
            return Ok(());
        }
        Err(unknown_device(id, self.device_id))
    }

    fn check_primary(&self, role: &str, role_id: u64, id: Option<&p4::Uint128>) -> Outcome<()> {
        if role_id != 0 && role.is_empty() {
            return Err(Failure::invalid(
                "numeric role ids are not supported; use role",
            ));
        }
        self.streams().arbitration().check_primary(role, id)
    }
}

impl Server {
    /// Must be called within a tokio runtime.
    pub fn new(target: Arc<dyn Target>, options: Options) -> Self {
        let inner = Arc::new(Inner {
            device_id: options.device_id,
            device: RwLock::new(Device::new(target.clone())),
            streams: Mutex::new(Streams::new(Arbitration::new(
                options.device_id,
                options.max_streams,
            ))),
            target,
        });
        tokio::spawn(forward_packets(
            Arc::downgrade(&inner),
            inner.target.packet_in(),
        ));
        Self { inner }
    }

    /// Sets the pipeline from inside the process, as VERIFY_AND_COMMIT would.
    pub async fn load(&self, config: p4::ForwardingPipelineConfig) -> Outcome<()> {
        use p4::set_forwarding_pipeline_config_request::Action;
        let mut device = self.inner.device.write().await;
        device
            .set_pipeline(Action::VerifyAndCommit, Some(config))
            .await
    }

    /// Applies updates from inside the process, without arbitration.
    ///
    /// # Errors
    /// As the Write RPC: details say which update was refused and why.
    pub async fn write(&self, updates: &[p4::Update]) -> Result<(), Status> {
        self.inner.device.write().await.write(updates).await
    }

    /// Packet-ins that no primary client took in time.
    pub fn packets_dropped(&self) -> u64 {
        self.inner.streams().packets_dropped
    }

    pub fn into_service(self) -> P4RuntimeServer<Self> {
        P4RuntimeServer::new(self)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }
}

/// Ends when the server or the target is gone.
async fn forward_packets(
    server: std::sync::Weak<Inner>,
    mut packets: broadcast::Receiver<bytes::Bytes>,
) {
    loop {
        let frame = match packets.recv().await {
            Ok(frame) => frame,
            Err(broadcast::error::RecvError::Lagged(n)) => {
                if let Some(inner) = server.upgrade() {
                    inner.streams().packets_dropped += n;
                }
                continue;
            }
            Err(broadcast::error::RecvError::Closed) => return,
        };
        let Some(inner) = server.upgrade() else {
            return;
        };
        let pipeline = inner.device.read().await.pipeline().cloned();
        match pipeline.and_then(|p| p.packet_in.unpack(&frame)) {
            Some(packet) => inner.streams().packet_in(&packet),
            None => inner.streams().packets_dropped += 1,
        }
    }
}

/// Runs to its end even when the client gives up in between, so that the
/// target and what is remembered of it stay the same.
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
        let inner = self.inner.clone();
        let r = request.into_inner();
        to_the_end(async move {
            inner.check_device(r.device_id)?;
            let mut device = inner.device.write().await;
            inner.check_primary(&r.role, r.role_id, r.election_id.as_ref())?;
            if r.atomicity != p4::write_request::Atomicity::ContinueOnError as i32 {
                return Err(
                    Failure::unsupported("only atomicity CONTINUE_ON_ERROR is supported").into(),
                );
            }
            device.write(&r.updates).await?;
            Ok(p4::WriteResponse {})
        })
        .await
    }

    async fn read(
        &self,
        request: Request<p4::ReadRequest>,
    ) -> Result<Response<Self::ReadStream>, Status> {
        let r = request.into_inner();
        self.inner.check_device(r.device_id)?;
        let answer = self.inner.device.read().await.read(&r.entities).await;
        Ok(Response::new(Box::pin(tokio_stream::iter(answer))))
    }

    async fn set_forwarding_pipeline_config(
        &self,
        request: Request<p4::SetForwardingPipelineConfigRequest>,
    ) -> Result<Response<p4::SetForwardingPipelineConfigResponse>, Status> {
        let inner = self.inner.clone();
        let r = request.into_inner();
        to_the_end(async move {
            inner.check_device(r.device_id)?;
            let mut device = inner.device.write().await;
            inner.check_primary(&r.role, r.role_id, r.election_id.as_ref())?;
            let action = r.action();
            device.set_pipeline(action, r.config).await?;
            Ok(p4::SetForwardingPipelineConfigResponse {})
        })
        .await
    }

    async fn get_forwarding_pipeline_config(
        &self,
        request: Request<p4::GetForwardingPipelineConfigRequest>,
    ) -> Result<Response<p4::GetForwardingPipelineConfigResponse>, Status> {
        let r = request.into_inner();
        self.inner.check_device(r.device_id)?;
        let device = self.inner.device.read().await;
        Ok(Response::new(p4::GetForwardingPipelineConfigResponse {
            config: device
                .current_pipeline()
                .map(|p| p.response(r.response_type())),
        }))
    }

    async fn stream_channel(
        &self,
        request: Request<Streaming<p4::StreamMessageRequest>>,
    ) -> Result<Response<Self::StreamChannelStream>, Status> {
        let (id, outbox) = self.inner.streams().open();
        tokio::spawn(serve_stream(self.inner.clone(), id, request.into_inner()));
        Ok(Response::new(Box::pin(ReceiverStream::new(outbox))))
    }

    async fn capabilities(
        &self,
        request: Request<p4::CapabilitiesRequest>,
    ) -> Result<Response<p4::CapabilitiesResponse>, Status> {
        // Device 0 stands for the server itself.
        match request.into_inner().device_id {
            0 => {}
            id => self.inner.check_device(id)?,
        }
        Ok(Response::new(p4::CapabilitiesResponse {
            p4runtime_api_version: API_VERSION.to_owned(),
            experimental: None,
        }))
    }
}

async fn serve_stream(
    inner: Arc<Inner>,
    id: StreamId,
    mut requests: Streaming<p4::StreamMessageRequest>,
) {
    let mut arbitrated = false;
    let mut reason = None;
    while let Some(Ok(message)) = requests.next().await {
        let result = match message.update {
            Some(Update::Arbitration(m)) => {
                // Waits for a write in progress: its client is primary until then.
                let _no_write = inner.device.read().await;
                arbitrated = true;
                inner.streams().arbitrate(id, &m)
            }
            _ if !arbitrated => Err(Failure::precondition(
                "the first message of a stream must be an arbitration update",
            )),
            Some(other) => {
                if let Some(answer) = handle(&inner, id, other).await {
                    inner.streams().send(id, answer);
                }
                Ok(())
            }
            None => Err(Failure::invalid("empty stream message")),
        };
        if let Err(f) = result {
            reason = Some(f);
            break;
        }
    }
    inner.streams().close(id, reason);
}

/// Everything but arbitration; returns what to answer, if anything.
async fn handle(
    inner: &Inner,
    id: StreamId,
    update: Update,
) -> Option<p4::stream_message_response::Update> {
    match update {
        Update::Packet(packet) => match send_packet(inner, id, &packet).await {
            Ok(()) => None,
            Err(f) => Some(stream::packet_out_error(&f, packet)),
        },
        Update::DigestAck(ack) => Some(stream::unsupported(
            "digests",
            Details::DigestListAck(p4::DigestListAckError {
                digest_list_ack: Some(ack),
            }),
        )),
        Update::Other(any) => Some(stream::unsupported(
            "this kind of stream message",
            Details::Other(p4::StreamOtherError { other: Some(any) }),
        )),
        Update::Arbitration(_) => None,
    }
}

async fn send_packet(inner: &Inner, id: StreamId, packet: &p4::PacketOut) -> Outcome<()> {
    if !inner.streams().arbitration().is_primary(id) {
        return Err(Failure::denied("only the primary client may send packets"));
    }
    let pipeline = inner.device.read().await.pipeline().cloned();
    let frame = pipeline
        .ok_or_else(|| Failure::precondition("no forwarding pipeline is committed"))?
        .packet_out
        .pack(packet)?;
    Ok(inner.target.packet_out(frame).await?)
}
