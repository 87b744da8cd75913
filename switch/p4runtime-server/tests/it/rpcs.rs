// SPDX-License-Identifier: Apache-2.0
//! Arbitration, pipelines and batches over a real connection.

use crate::common::{DEVICE, Peer, acl, arbitration, config, server, update};
use p4runtime_server::errors::errors_of;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::get_forwarding_pipeline_config_request::ResponseType;
use tidemark_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use tidemark_proto::p4::v1::stream_message_request::Update as Ask;
use tidemark_proto::p4::v1::update::Type;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

#[tokio::test]
async fn primary_and_backup() {
    let (_, client) = server().await;
    let mut a = Peer::primary(client.clone()).await;
    let mut b = Peer::open(client.clone(), 2).await;
    assert_eq!(b.arbitration().await, Code::Ok);
    assert_eq!(a.arbitration().await, Code::AlreadyExists);
    let refused = a
        .batch(vec![update(Type::Insert, Entity::TableEntry(acl(1, 1)))])
        .await;
    assert_eq!(refused.unwrap_err().code(), Code::PermissionDenied);
    b.batch(vec![update(Type::Insert, Entity::TableEntry(acl(1, 1)))])
        .await
        .unwrap();
    // A backup can read.
    let all = Entity::TableEntry(p4::TableEntry {
        table_id: 1,
        ..Default::default()
    });
    assert_eq!(a.read(all).await.unwrap().len(), 1);
    // The primary leaves; no other client takes its place by itself.
    drop(b);
    assert_eq!(a.arbitration().await, Code::NotFound);
    // An id in use ends the stream.
    let mut c = Peer::open(client, 1).await;
    assert_eq!(c.next().await.unwrap_err().code(), Code::InvalidArgument);
}

/// Regression test: 64 idle clients kept every other client out.
#[tokio::test]
async fn idle_clients_make_room_for_a_controller() {
    let (_, client) = server().await;
    let mut idle = Vec::new();
    for _ in 0..64 {
        let (tx, rx) = tokio::sync::mpsc::channel(1);
        let backup = p4::MasterArbitrationUpdate {
            device_id: DEVICE,
            ..Default::default()
        };
        let update = Some(Ask::Arbitration(backup));
        tx.send(p4::StreamMessageRequest { update }).await.unwrap();
        let stream = client.clone().stream_channel(ReceiverStream::new(rx)).await;
        let mut stream = stream.unwrap().into_inner();
        assert!(stream.message().await.unwrap().is_some());
        idle.push((tx, stream));
    }
    let mut controller = Peer::open(client.clone(), 1).await;
    assert_eq!(controller.arbitration().await, Code::Ok);
    let told = loop {
        match idle[0].1.message().await {
            Ok(Some(_)) => {}
            ended => break ended.unwrap_err(),
        }
    };
    assert_eq!(told.code(), Code::ResourceExhausted);
    let mut second = Peer::open(client.clone(), 2).await;
    assert_eq!(second.arbitration().await, Code::Ok);
    assert_eq!(controller.arbitration().await, Code::AlreadyExists);
}

/// A message above the size limit is refused before it is stored.
#[tokio::test]
async fn messages_are_bounded() {
    let (_, mut client) = server().await;
    let of = |bytes: usize| p4::SetForwardingPipelineConfigRequest {
        device_id: DEVICE + 1,
        config: Some(p4::ForwardingPipelineConfig {
            p4_device_config: vec![0; bytes],
            ..Default::default()
        }),
        ..Default::default()
    };
    let large = client.set_forwarding_pipeline_config(of(97 << 20)).await;
    assert_eq!(large.unwrap_err().code(), Code::OutOfRange);
    let right = client.set_forwarding_pipeline_config(of(95 << 20)).await;
    assert_eq!(right.unwrap_err().code(), Code::NotFound, "it was read");
}

#[tokio::test]
async fn streams_that_begin_wrong() {
    let (_, client) = server().await;
    let mut p = Peer::open(client.clone(), 1).await;
    assert_eq!(p.arbitration().await, Code::Ok);
    p.outbox.send(arbitration(DEVICE + 1, p.id)).await.unwrap();
    assert_eq!(p.next().await.unwrap_err().code(), Code::FailedPrecondition);

    let (tx, rx) = tokio::sync::mpsc::channel(1);
    tx.send(p4::StreamMessageRequest {
        update: Some(Ask::Packet(p4::PacketOut::default())),
    })
    .await
    .unwrap();
    let mut inbox = client
        .clone()
        .stream_channel(ReceiverStream::new(rx))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        inbox.message().await.unwrap_err().code(),
        Code::FailedPrecondition
    );
}

#[tokio::test]
async fn order_of_checks() {
    let (_, mut client) = server().await;
    let mut write = p4::WriteRequest {
        device_id: DEVICE + 1,
        ..Default::default()
    };
    assert_eq!(
        client.write(write.clone()).await.unwrap_err().code(),
        Code::NotFound
    );
    write.device_id = DEVICE;
    assert_eq!(
        client.write(write.clone()).await.unwrap_err().code(),
        Code::PermissionDenied
    );
    let mut p = Peer::open(client.clone(), 1).await;
    p.arbitration().await;
    write.election_id = Some(p.id);
    assert_eq!(
        client.write(write.clone()).await.unwrap_err().code(),
        Code::FailedPrecondition
    );
    let all = Entity::TableEntry(p4::TableEntry::default());
    assert_eq!(p.read(all).await, Err(Code::FailedPrecondition));
    p.push(Action::VerifyAndCommit).await.unwrap();
    client.write(write.clone()).await.unwrap();
    write.atomicity = p4::write_request::Atomicity::RollbackOnError as i32;
    assert_eq!(
        client.write(write).await.unwrap_err().code(),
        Code::Unimplemented
    );
}

#[tokio::test]
async fn batch_reports_each_update() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    let good = update(Type::Insert, Entity::TableEntry(acl(1, 1)));
    let bad = update(Type::Insert, Entity::TableEntry(acl(2, 0)));
    let gone = update(Type::Delete, Entity::TableEntry(acl(3, 1)));
    let status = p
        .batch(vec![good, bad, gone, p4::Update::default()])
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::Unknown);
    let codes: Vec<_> = errors_of(&status)
        .unwrap()
        .iter()
        .map(|e| e.canonical_code)
        .collect();
    assert_eq!(codes, [0, 3, 5, 3]);
    assert_eq!(target.state().entries.len(), 1, "the good one took effect");
}

async fn get(p: &mut Peer, what: ResponseType) -> Option<p4::ForwardingPipelineConfig> {
    let request = p4::GetForwardingPipelineConfigRequest {
        device_id: DEVICE,
        response_type: what as i32,
    };
    p.client
        .get_forwarding_pipeline_config(request)
        .await
        .unwrap()
        .into_inner()
        .config
}

#[tokio::test]
async fn pipeline_life() {
    let (target, client) = server().await;
    let mut p = Peer::open(client, 1).await;
    p.arbitration().await;
    assert_eq!(get(&mut p, ResponseType::All).await, None);
    p.push(Action::Verify).await.unwrap();
    assert!(target.state().programs.is_empty());
    assert_eq!(
        p.push(Action::Commit).await.unwrap_err().code(),
        Code::FailedPrecondition
    );
    p.push(Action::VerifyAndCommit).await.unwrap();
    assert_eq!(
        target.state().programs,
        [config().p4_device_config],
        "byte for byte"
    );
    assert_eq!(get(&mut p, ResponseType::All).await, Some(config()));
    let cookie = get(&mut p, ResponseType::CookieOnly).await.unwrap();
    assert!(cookie.p4info.is_none() && cookie.p4_device_config.is_empty());
    assert_eq!(cookie.cookie, config().cookie);
    let info = get(&mut p, ResponseType::P4infoAndCookie).await.unwrap();
    assert!(info.p4info.is_some() && info.p4_device_config.is_empty());
    let device = get(&mut p, ResponseType::DeviceConfigAndCookie)
        .await
        .unwrap();
    assert!(device.p4info.is_none() && !device.p4_device_config.is_empty());
    // A new commit clears the written state.
    p.write(Type::Insert, Entity::TableEntry(acl(1, 1)))
        .await
        .unwrap();
    p.push(Action::VerifyAndCommit).await.unwrap();
    let all = Entity::TableEntry(p4::TableEntry {
        table_id: 1,
        ..Default::default()
    });
    assert!(p.read(all).await.unwrap().is_empty());
    let unset = p.push(Action::Unspecified).await.unwrap_err();
    assert_eq!(unset.code(), Code::InvalidArgument);
    let backup_id = p4::Uint128 { high: 0, low: 0 };
    p.id = backup_id;
    assert_eq!(
        p.push(Action::VerifyAndCommit).await.unwrap_err().code(),
        Code::PermissionDenied
    );
}

#[tokio::test]
async fn refused_pipeline_leaves_the_old_one() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    p.write(Type::Insert, Entity::TableEntry(acl(1, 1)))
        .await
        .unwrap();
    let mut exotic = config();
    let json = String::from_utf8(exotic.p4_device_config).unwrap();
    let primitive = r#""primitives": [{"op": "exotic!", "parameters": []}]"#;
    exotic.p4_device_config = json.replacen(r#""primitives": []"#, primitive, 1).into();
    let status = p
        .push_config(Action::VerifyAndCommit, Some(exotic))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("exotic!"), "{status:?}");
    assert_eq!(target.state().entries.len(), 1);
    assert_eq!(get(&mut p, ResponseType::All).await, Some(config()));
}

#[tokio::test]
async fn save_then_commit_replays_writes() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    p.write(Type::Insert, Entity::TableEntry(acl(1, 1)))
        .await
        .unwrap();
    p.push(Action::VerifyAndSave).await.unwrap();
    p.write(Type::Insert, Entity::TableEntry(acl(2, 2)))
        .await
        .unwrap();
    let all = Entity::TableEntry(p4::TableEntry {
        table_id: 1,
        ..Default::default()
    });
    // Reads and writes refer to the saved config; packets still see the old one.
    match &p.read(all.clone()).await.unwrap()[..] {
        [Entity::TableEntry(e)] => assert_eq!(e.priority, 2),
        other => panic!("{other:?}"),
    }
    assert_eq!(target.state().entries.values().next().unwrap().priority, 1);
    p.push(Action::Commit).await.unwrap();
    assert_eq!(target.state().entries.len(), 1);
    assert_eq!(target.state().entries.values().next().unwrap().priority, 2);
    assert_eq!(p.read(all).await.unwrap().len(), 1);
}

#[tokio::test]
async fn large_programs_fit() {
    let (target, client) = server().await;
    let mut p = Peer::open(client, 1).await;
    p.arbitration().await;
    let mut big = config();
    let end = big.p4_device_config.len() - 1;
    big.p4_device_config.splice(end..end, vec![b' '; 70 << 20]);
    p.push_config(Action::VerifyAndCommit, Some(big.clone()))
        .await
        .unwrap();
    assert!(target.state().programs[0].len() > 64 << 20);
    assert_eq!(get(&mut p, ResponseType::All).await, Some(big));
}

#[tokio::test]
async fn capabilities() {
    let (_, mut client) = server().await;
    let version = client
        .capabilities(p4::CapabilitiesRequest { device_id: 0 })
        .await
        .unwrap()
        .into_inner()
        .p4runtime_api_version;
    assert_eq!(version.split('.').count(), 3);
}
