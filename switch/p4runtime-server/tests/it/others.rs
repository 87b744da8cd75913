// SPDX-License-Identifier: Apache-2.0
//! Multicast groups, clone sessions, and unsupported entities.

use crate::common::{Peer, server};
use p4runtime_server::target::Replica;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::packet_replication_engine_entry::Type as Pre;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

fn pre(e: Pre) -> Entity {
    Entity::PacketReplicationEngineEntry(p4::PacketReplicationEngineEntry { r#type: Some(e) })
}

fn group(id: u32, ports: &[u32]) -> Entity {
    pre(Pre::MulticastGroupEntry(p4::MulticastGroupEntry {
        multicast_group_id: id,
        replicas: replicas(ports),
        ..Default::default()
    }))
}

fn session(id: u32, ports: &[u32], packet_length_bytes: i32) -> Entity {
    pre(Pre::CloneSessionEntry(p4::CloneSessionEntry {
        session_id: id,
        replicas: replicas(ports),
        packet_length_bytes,
        ..Default::default()
    }))
}

fn replicas(ports: &[u32]) -> Vec<p4::Replica> {
    ports
        .iter()
        .map(|&p| p4::Replica {
            port_kind: Some(p4::replica::PortKind::EgressPort(p)),
            instance: 1,
            ..Default::default()
        })
        .collect()
}

#[tokio::test]
async fn groups_and_sessions() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    p.write(Type::Insert, group(1, &[1, 2])).await.unwrap();
    p.write(Type::Insert, session(1, &[4], 128)).await.unwrap();
    {
        let s = target.state();
        assert_eq!(
            s.groups[&1],
            [1, 2].map(|port| Replica { port, instance: 1 })
        );
        assert_eq!(s.sessions[&1].packet_length_bytes, Some(128));
    }
    assert_eq!(
        p.read(group(0, &[])).await.unwrap(),
        [group(1, &[1, 2])],
        "0 reads all"
    );
    assert_eq!(
        p.read(session(1, &[], 0)).await.unwrap(),
        [session(1, &[4], 128)]
    );
    p.write(Type::Modify, group(1, &[3])).await.unwrap();
    assert_eq!(target.state().groups[&1].len(), 1);
    for (kind, e, code) in [
        (Type::Insert, group(1, &[]), Code::AlreadyExists),
        (Type::Modify, group(2, &[]), Code::NotFound),
        (Type::Delete, session(2, &[], 0), Code::NotFound),
        (Type::Insert, group(0, &[]), Code::InvalidArgument),
        (Type::Insert, session(0, &[], 0), Code::InvalidArgument),
    ] {
        assert_eq!(p.write(kind, e).await, Err(code));
    }
    assert_eq!(p.read(group(2, &[])).await, Err(Code::NotFound));
    p.write(Type::Delete, group(1, &[])).await.unwrap();
    p.write(Type::Delete, session(1, &[], 0)).await.unwrap();
    assert!(target.state().groups.is_empty() && target.state().sessions.is_empty());
}

#[tokio::test]
async fn entities_that_are_not_supported() {
    let (_, client) = server().await;
    let mut p = Peer::primary(client).await;
    let e = Entity::ExternEntry(p4::ExternEntry::default());
    assert_eq!(
        p.write(Type::Insert, e.clone()).await,
        Err(Code::Unimplemented)
    );
    assert_eq!(p.read(e).await, Err(Code::Unimplemented));
    // This program has no such entities.
    for e in [
        Entity::MeterEntry(p4::MeterEntry {
            meter_id: 1,
            ..Default::default()
        }),
        Entity::DigestEntry(p4::DigestEntry {
            digest_id: 1,
            config: None,
        }),
        Entity::ActionProfileMember(p4::ActionProfileMember {
            action_profile_id: 1,
            ..Default::default()
        }),
        Entity::ActionProfileGroup(p4::ActionProfileGroup {
            action_profile_id: 1,
            ..Default::default()
        }),
        Entity::ValueSetEntry(p4::ValueSetEntry {
            value_set_id: 1,
            ..Default::default()
        }),
    ] {
        assert_eq!(
            p.write(Type::Modify, e.clone()).await,
            Err(Code::NotFound),
            "{e:?}"
        );
        assert_eq!(p.read(e).await, Err(Code::NotFound));
    }
}
