// SPDX-License-Identifier: Apache-2.0
//! Messages on a client's stream.

use crate::arbitration::StreamId;
use crate::errors::{Failure, Outcome};
use crate::inner::Inner;
use crate::stream;
use std::sync::Arc;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::stream_error::Details;
use tidemark_proto::p4::v1::stream_message_request::Update;
use tokio_stream::StreamExt as _;
use tonic::Streaming;

pub async fn serve_stream(
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
            Err(f) => {
                let details = p4::PacketOutError {
                    packet_out: Some(packet),
                };
                Some(stream::error(&f, Details::PacketOut(details)))
            }
        },
        Update::DigestAck(ack) => acknowledge(inner, id, &ack).err().map(|f| {
            let details = p4::DigestListAckError {
                digest_list_ack: Some(ack),
            };
            stream::error(&f, Details::DigestListAck(details))
        }),
        Update::Other(any) => Some(stream::error(
            &Failure::unsupported("this kind of stream message: not supported"),
            Details::Other(p4::StreamOtherError { other: Some(any) }),
        )),
        Update::Arbitration(_) => None,
    }
}

fn acknowledge(inner: &Inner, id: StreamId, ack: &p4::DigestListAck) -> Outcome<()> {
    if !inner.streams().arbitration().is_primary(id) {
        return Err(Failure::denied(
            "only the primary client may acknowledge digests",
        ));
    }
    if inner.digests().ack(ack) {
        return Ok(());
    }
    Err(Failure::invalid(format!(
        "no digest with id {} in the P4Info",
        ack.digest_id
    )))
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
