// SPDX-License-Identifier: Apache-2.0
//! Digests and value sets over a real connection.

use crate::common::{Peer, entities, server};
use p4runtime_server::target::DigestSample;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::digest_entry::Config;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::field_match::{Exact, FieldMatchType};
use tidemark_proto::p4::v1::stream_message_request::Update as Ask;
use tidemark_proto::p4::v1::stream_message_response::Update as Answer;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

// Ids of the P4Info.
const LEARNED: u32 = 400350661;
const KINDS: u32 = 55126507;

fn digest(config: Option<Config>) -> Entity {
    Entity::DigestEntry(p4::DigestEntry {
        digest_id: LEARNED,
        config,
    })
}

#[tokio::test]
async fn digests() {
    let (target, client) = server().await;
    let mut p = Peer::primary_of(client, entities()).await;
    let sample = |host: u8| DigestSample {
        digest: "learned_t".into(),
        data: vec![2, 0, 0, 0, 0, host, 1, 2, 0, 9].into(),
    };
    assert_eq!(p.read(digest(None)).await, Err(Code::NotFound));
    assert_eq!(
        p.write(Type::Modify, digest(None)).await,
        Err(Code::NotFound)
    );
    let config = Config {
        max_timeout_ns: 0,
        max_list_size: 1,
        ack_timeout_ns: 3_600_000_000_000,
    };
    let on = digest(Some(config));
    p.write(Type::Insert, on.clone()).await.unwrap();
    assert_eq!(
        p.write(Type::Insert, on.clone()).await,
        Err(Code::AlreadyExists)
    );
    assert_eq!(p.read(digest(None)).await.unwrap(), [on]);
    target.digests.send(sample(1)).unwrap();
    let list = match p.next().await.unwrap() {
        Answer::Digest(l) => l,
        other => panic!("{other:?}"),
    };
    assert_eq!((list.digest_id, list.list_id), (LEARNED, 1));
    assert!(list.timestamp > 0);
    let Some(p4::p4_data::Data::Struct(s)) = &list.data[0].data else {
        panic!("{list:?}")
    };
    let members: Vec<_> = s
        .members
        .iter()
        .map(|m| match &m.data {
            Some(p4::p4_data::Data::Bitstring(b)) => b.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(members, [vec![2, 0, 0, 0, 0, 1], vec![1, 2], vec![9]]);
    // A repeated sample is not new, a different one is.
    target.digests.send(sample(1)).unwrap();
    target.digests.send(sample(2)).unwrap();
    match p.next().await.unwrap() {
        Answer::Digest(l) => assert_eq!(l.list_id, 2),
        other => panic!("{other:?}"),
    }
    let ack = |digest_id, list_id| p4::StreamMessageRequest {
        update: Some(Ask::DigestAck(p4::DigestListAck { digest_id, list_id })),
    };
    p.outbox.send(ack(LEARNED, 1)).await.unwrap();
    // The reply to an invalid one shows that the one before was handled.
    p.outbox.send(ack(5, 1)).await.unwrap();
    match p.next().await.unwrap() {
        Answer::Error(e) => assert_eq!(e.canonical_code, Code::InvalidArgument as i32),
        other => panic!("{other:?}"),
    }
    target.digests.send(sample(1)).unwrap();
    match p.next().await.unwrap() {
        Answer::Digest(l) => assert_eq!(l.list_id, 3),
        other => panic!("{other:?}"),
    }
    p.write(Type::Delete, digest(None)).await.unwrap();
    let negative = Config {
        max_list_size: -1,
        ..config
    };
    assert_eq!(
        p.write(Type::Insert, digest(Some(negative))).await,
        Err(Code::InvalidArgument)
    );
}

#[tokio::test]
async fn a_digest_that_waits_is_sent_in_the_end() {
    let (target, client) = server().await;
    let mut p = Peer::primary_of(client, entities()).await;
    let config = Config {
        max_timeout_ns: 20_000_000,
        max_list_size: 100,
        ack_timeout_ns: 0,
    };
    p.write(Type::Insert, digest(Some(config))).await.unwrap();
    for host in 1..=2u8 {
        let data = vec![0, 0, 0, 0, 0, host, 0, 1, 0, 0].into();
        let digest = "learned_t".into();
        target.digests.send(DigestSample { digest, data }).unwrap();
    }
    match p.next().await.unwrap() {
        Answer::Digest(l) => assert!(!l.data.is_empty()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn value_sets() {
    let (target, client) = server().await;
    let mut p = Peer::primary_of(client, entities()).await;
    let member = |value: &[u8]| p4::ValueSetMember {
        r#match: vec![p4::FieldMatch {
            field_id: 1,
            field_match_type: Some(FieldMatchType::Exact(Exact {
                value: value.to_vec(),
            })),
        }],
    };
    let set = |members| {
        Entity::ValueSetEntry(p4::ValueSetEntry {
            value_set_id: KINDS,
            members,
        })
    };
    let two = set(vec![member(&[8, 0]), member(&[6])]);
    p.write(Type::Modify, two.clone()).await.unwrap();
    assert_eq!(
        target.state().value_sets["Parse.kinds"],
        [vec![8, 0], vec![0, 6]]
    );
    assert_eq!(p.read(set(Vec::new())).await.unwrap(), [two]);
    for (kind, e, code) in [
        (Type::Insert, set(Vec::new()), Code::InvalidArgument),
        (
            Type::Modify,
            set(vec![member(&[1]); 5]),
            Code::ResourceExhausted,
        ),
        (
            Type::Modify,
            set(vec![member(&[1, 0, 0])]),
            Code::OutOfRange,
        ),
        (
            Type::Modify,
            set(vec![p4::ValueSetMember::default()]),
            Code::InvalidArgument,
        ),
    ] {
        assert_eq!(p.write(kind, e).await, Err(code));
    }
    p.write(Type::Modify, set(Vec::new())).await.unwrap();
    assert!(target.state().value_sets["Parse.kinds"].is_empty());
}
