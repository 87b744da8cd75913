// SPDX-License-Identifier: Apache-2.0
//! Messages on a client's stream.

use crate::arbitration::StreamId;
use crate::errors::{Failure, Outcome, refuse};
use crate::shared::Shared;
use crate::streams;
use std::sync::Arc;
use std::time::Duration;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::stream_error::Details;
use tidemark_proto::p4::v1::stream_message_request::Update;
use tokio_stream::StreamExt as _;
use tonic::Streaming;

/// A stream without a first message by then is closed.
const FIRST_WITHIN: Duration = Duration::from_secs(10);

pub(crate) async fn serve_stream(
    shared: Arc<Shared>,
    id: StreamId,
    mut requests: Streaming<p4::StreamMessageRequest>,
) {
    let mut arbitrated = false;
    let mut reason = None;
    loop {
        let next = requests.next();
        let next = match arbitrated {
            true => next.await,
            false => match tokio::time::timeout(FIRST_WITHIN, next).await {
                Ok(next) => next,
                Err(_) => {
                    reason = Some(Failure::precondition(
                        "no arbitration update came within 10 s; open the stream again",
                    ));
                    break;
                }
            },
        };
        let Some(Ok(message)) = next else { break };
        let result = match message.update {
            Some(Update::Arbitration(m)) => {
                // Waits for a write in progress, whose client stays primary until then.
                let _no_write = shared.device.read().await;
                arbitrated = true;
                shared.streams().arbitrate(id, &m)
            }
            _ if !arbitrated => Err(Failure::precondition(
                "the first message of a stream must be an arbitration update",
            )),
            Some(other) => {
                if let Some(answer) = handle(&shared, id, other).await {
                    shared.streams().send(id, answer);
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
    shared.streams().close(id, reason);
}

/// Handles all messages but arbitration; returns the answer, if any.
async fn handle(
    shared: &Shared,
    id: StreamId,
    update: Update,
) -> Option<p4::stream_message_response::Update> {
    match update {
        Update::Packet(packet) => match send_packet(shared, id, &packet).await {
            Ok(()) => None,
            Err(f) => {
                let details = p4::PacketOutError {
                    packet_out: Some(packet),
                };
                Some(streams::error(&f, Details::PacketOut(details)))
            }
        },
        Update::DigestAck(ack) => acknowledge(shared, id, &ack).err().map(|f| {
            let details = p4::DigestListAckError {
                digest_list_ack: Some(ack),
            };
            streams::error(&f, Details::DigestListAck(details))
        }),
        Update::Other(any) => Some(streams::error(
            &Failure::unsupported("this kind of stream message: not supported"),
            Details::Other(p4::StreamOtherError { other: Some(any) }),
        )),
        Update::Arbitration(_) => None,
    }
}

fn acknowledge(shared: &Shared, id: StreamId, ack: &p4::DigestListAck) -> Outcome<()> {
    if !shared.streams().arbitration().is_primary(id) {
        refuse!(denied: "only the primary client may acknowledge digests");
    }
    if shared.digests().ack(ack) {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "no digest with id {} in the P4Info",
        ack.digest_id
    )))
}

async fn send_packet(shared: &Shared, id: StreamId, packet: &p4::PacketOut) -> Outcome<()> {
    if !shared.streams().arbitration().is_primary(id) {
        refuse!(denied: "only the primary client may send packets");
    }
    let pipeline = shared.device.read().await.pipeline().cloned();
    let frame = pipeline
        .ok_or_else(|| Failure::precondition("no forwarding pipeline is committed"))?
        .packet_out
        .pack(packet)?;
    Ok(shared.target.packet_out(frame).await?)
}
