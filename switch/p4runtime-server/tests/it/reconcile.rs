// SPDX-License-Identifier: Apache-2.0
//! RECONCILE_AND_COMMIT keeps the written state.

use crate::common::{Peer, acl, action, config, server};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;
use tidemark_proto::p4::v1::set_forwarding_pipeline_config_request::Action;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

fn session() -> Entity {
    Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry {
        r#type: Some(Pre::CloneSessionEntry(p4::CloneSessionEntry {
            session_id: 5,
            ..Default::default()
        })),
    })
}

async fn written(p: &mut Peer) {
    let mut e = acl(1, 7);
    e.metadata = b"mine".to_vec();
    p.write(Type::Insert, Entity::TableEntry(e)).await.unwrap();
    let default = p4::TableEntry {
        table_id: 3,
        is_default_action: true,
        action: action(101, &[&[4]]),
        ..Default::default()
    };
    p.write(Type::Modify, Entity::TableEntry(default))
        .await
        .unwrap();
    p.write(Type::Insert, session()).await.unwrap();
}

/// The program, except that a name without meaning is changed.
fn changed() -> p4::ForwardingPipelineConfig {
    let mut c = config();
    let json = String::from_utf8(c.p4_device_config).unwrap();
    c.p4_device_config = json.replacen('{', "{\"program\": \"newer.p4\",", 1).into();
    c
}

#[tokio::test]
async fn entries_survive_a_new_program() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    written(&mut p).await;
    p.push_config(Action::ReconcileAndCommit, Some(changed()))
        .await
        .unwrap();
    {
        let s = target.state();
        assert_eq!(s.programs.len(), 2);
        assert_eq!(s.entries.values().next().unwrap().priority, 7);
        assert_eq!(s.defaults["keyless"].as_ref().unwrap().params, [vec![0, 4]]);
        assert!(s.sessions.contains_key(&5));
    }
    let all = p4::TableEntry {
        table_id: 1,
        ..Default::default()
    };
    match &p.read(Entity::TableEntry(all)).await.unwrap()[..] {
        [Entity::TableEntry(e)] => assert_eq!(e.metadata, b"mine"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_same_program_goes_on_without_a_break() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    written(&mut p).await;
    let mut same = config();
    same.cookie = Some(p4::forwarding_pipeline_config::Cookie { cookie: 99 });
    p.push_config(Action::ReconcileAndCommit, Some(same))
        .await
        .unwrap();
    assert_eq!(target.state().programs.len(), 1, "not loaded again");
    let request = p4::GetForwardingPipelineConfigRequest {
        device_id: crate::common::DEVICE,
        ..Default::default()
    };
    let got = p.client.get_forwarding_pipeline_config(request).await;
    assert_eq!(
        got.unwrap().into_inner().config.unwrap().cookie,
        Some(99).map(|cookie| { p4::forwarding_pipeline_config::Cookie { cookie } })
    );
}

#[tokio::test]
async fn what_has_no_place_is_refused() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    written(&mut p).await;
    // The table keeps its id but loses a key.
    let mut smaller = changed();
    let json = String::from_utf8(smaller.p4_device_config).unwrap();
    let key = r#"{"match_type": "ternary", "name": "src", "target": ["h", "src"], "mask": null},"#;
    assert!(json.contains(key));
    smaller.p4_device_config = json.replace(key, "").into();
    let info = smaller.p4info.as_mut().unwrap();
    info.tables[0].match_fields.remove(0);
    let status = p
        .push_config(Action::ReconcileAndCommit, Some(smaller))
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
    assert!(status.message().contains("acl"), "{status:?}");
    {
        let s = target.state();
        assert_eq!((s.programs.len(), s.entries.len()), (1, 1), "as it was");
    }
    let none = p.push_config(Action::ReconcileAndCommit, None).await;
    assert_eq!(none.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn without_a_pipeline_it_is_a_commit() {
    let (target, client) = server().await;
    let mut p = Peer::open(client, 1).await;
    p.arbitration().await;
    p.push(Action::ReconcileAndCommit).await.unwrap();
    assert_eq!(target.state().programs.len(), 1);
}
