// SPDX-License-Identifier: Apache-2.0
//! Idle timeouts over a real connection.

use crate::common::{Mock, Peer, acl, action, server};
use p4runtime_server::target::EntryId;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::field_match::{FieldMatchType, Lpm};
use tidemark_proto::p4::v1::stream_message_response::Update as Answer;
use tidemark_proto::p4::v1::table_entry::IdleTimeout;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

const ROUTE: u32 = 4;
const HOUR_NS: u64 = 3_600_000_000_000;

fn route(last_byte: u8, idle_timeout_ns: i64) -> p4::TableEntry {
    p4::TableEntry {
        table_id: ROUTE,
        r#match: vec![p4::FieldMatch {
            field_id: 1,
            field_match_type: Some(FieldMatchType::Lpm(Lpm {
                value: vec![10, 0, 0, last_byte],
                prefix_len: 32,
            })),
        }],
        action: action(101, &[&[5]]),
        idle_timeout_ns,
        controller_metadata: 7,
        ..Default::default()
    }
}

/// Returns the ids of the entries in the order in which they were added.
fn ids(target: &Mock) -> Vec<EntryId> {
    let mut ids: Vec<_> = target.state().entries.keys().map(|(_, id)| *id).collect();
    ids.sort();
    ids
}

async fn notified(p: &mut Peer) -> Vec<p4::TableEntry> {
    match p.next().await.unwrap() {
        Answer::IdleTimeoutNotification(n) => {
            assert!(n.timestamp > 0);
            n.table_entry
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_idle_entry_is_told_again_until_it_is_hit_or_removed() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    let first = route(1, 20_000_000);
    p.write(Type::Insert, Entity::TableEntry(first.clone()))
        .await
        .unwrap();
    let id = ids(&target)[0];
    target.state().idle_ns.insert(id, HOUR_NS);
    let key_only = |e: &p4::TableEntry| p4::TableEntry {
        action: None,
        ..e.clone()
    };
    for _ in 0..3 {
        assert_eq!(notified(&mut p).await, [key_only(&first)]);
    }

    // From now on the first is hit, and the second is reported.
    target.state().idle_ns.insert(id, 0);
    let second = route(2, 20_000_000);
    p.write(Type::Insert, Entity::TableEntry(second.clone()))
        .await
        .unwrap();
    let other = ids(&target)[1];
    target.state().idle_ns.insert(other, HOUR_NS);
    while notified(&mut p).await != [key_only(&second)] {}
    for _ in 0..3 {
        assert_eq!(notified(&mut p).await, [key_only(&second)]);
    }

    // Both are idle: the second is removed, the first loses its timeout, a third is reported.
    target.state().idle_ns.insert(id, HOUR_NS);
    p.write(Type::Delete, Entity::TableEntry(second))
        .await
        .unwrap();
    p.write(Type::Modify, Entity::TableEntry(route(1, 0)))
        .await
        .unwrap();
    let third = route(3, 1);
    p.write(Type::Insert, Entity::TableEntry(third.clone()))
        .await
        .unwrap();
    let last = *ids(&target).last().unwrap();
    target.state().idle_ns.insert(last, HOUR_NS);
    while notified(&mut p).await != [key_only(&third)] {}
    for _ in 0..3 {
        assert_eq!(notified(&mut p).await, [key_only(&third)]);
    }
}

#[tokio::test]
async fn the_time_since_the_last_hit_is_read_where_it_is_asked_for() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    let written = route(1, 2 * HOUR_NS as i64);
    p.write(Type::Insert, Entity::TableEntry(written.clone()))
        .await
        .unwrap();
    let id = ids(&target)[0];
    target.state().idle_ns.insert(id, 1234);
    let mut filter = p4::TableEntry {
        table_id: ROUTE,
        ..Default::default()
    };
    let read = p.read(Entity::TableEntry(filter.clone())).await.unwrap();
    assert_eq!(read, [Entity::TableEntry(written.clone())]);
    filter.time_since_last_hit = Some(IdleTimeout::default());
    let read = p.read(Entity::TableEntry(filter)).await.unwrap();
    let timed = p4::TableEntry {
        time_since_last_hit: Some(IdleTimeout { elapsed_ns: 1234 }),
        ..written
    };
    assert_eq!(read, [Entity::TableEntry(timed)]);
}

#[tokio::test]
async fn refusals() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    let mut elsewhere = acl(1, 1);
    elsewhere.idle_timeout_ns = 5;
    let mut written = route(1, 5);
    written.time_since_last_hit = Some(IdleTimeout::default());
    for entry in [elsewhere, route(1, -1), written] {
        assert_eq!(
            p.write(Type::Insert, Entity::TableEntry(entry)).await,
            Err(Code::InvalidArgument)
        );
    }
    let default = p4::TableEntry {
        table_id: ROUTE,
        is_default_action: true,
        idle_timeout_ns: 5,
        ..Default::default()
    };
    assert_eq!(
        p.write(Type::Modify, Entity::TableEntry(default)).await,
        Err(Code::InvalidArgument)
    );
    assert!(target.state().entries.is_empty());
}
