// SPDX-License-Identifier: Apache-2.0
//! Packet-in and packet-out over a real connection.

use crate::common::{Peer, server};
use bytes::Bytes;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::stream_message_request::Update as Ask;
use tidemark_proto::p4::v1::stream_message_response::Update as Answer;
use tonic::Code;

#[tokio::test]
async fn packets() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client.clone()).await;
    let mut backup = Peer::open(client, 0).await;
    assert_eq!(backup.arbitration().await, Code::AlreadyExists);
    let packet = p4::PacketOut {
        payload: b"frame".to_vec(),
        metadata: vec![p4::PacketMetadata {
            metadata_id: 1,
            value: vec![1, 2],
        }],
    };
    let ask = |packet: &p4::PacketOut| p4::StreamMessageRequest {
        update: Some(Ask::Packet(packet.clone())),
    };
    // Refused messages are answered; an answer also shows that earlier messages of the same
    // stream were handled.
    p.outbox.send(ask(&packet)).await.unwrap();
    p.outbox.send(ask(&p4::PacketOut::default())).await.unwrap();
    match p.next().await.unwrap() {
        Answer::Error(e) => assert_eq!(e.canonical_code, Code::InvalidArgument as i32),
        other => panic!("{other:?}"),
    }
    backup.outbox.send(ask(&packet)).await.unwrap();
    match backup.next().await.unwrap() {
        Answer::Error(e) => assert_eq!(e.canonical_code, Code::PermissionDenied as i32),
        other => panic!("{other:?}"),
    }
    assert_eq!(
        target.state().sent,
        [Bytes::from_static(b"\x81\x00frame")],
        "9 bits of port, 7 of padding"
    );
    target
        .packets
        .send(Bytes::from_static(b"\x81\x00frame"))
        .unwrap();
    match p.next().await.unwrap() {
        Answer::Packet(packet) => {
            assert_eq!(packet.payload, b"frame");
            assert_eq!(packet.metadata[0].value, [1, 2]);
        }
        other => panic!("{other:?}"),
    }
}
