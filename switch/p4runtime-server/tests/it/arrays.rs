// SPDX-License-Identifier: Apache-2.0
//! Counters and registers over a real connection.

use crate::common::{Peer, acl, server};
use p4runtime_server::target::CounterValue;
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

fn entry(e: p4::TableEntry) -> Entity {
    Entity::TableEntry(e)
}

fn entries(found: Vec<Entity>) -> Vec<p4::TableEntry> {
    found
        .into_iter()
        .map(|e| match e {
            Entity::TableEntry(t) => t,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn direct_counters() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    let mut e = acl(1, 10);
    e.counter_data = Some(p4::CounterData {
        packet_count: 3,
        byte_count: 300,
    });
    p.write(Type::Insert, entry(e.clone())).await.unwrap();
    assert_eq!(
        target.state().hits.values().next(),
        Some(&CounterValue {
            packets: 3,
            bytes: 300
        })
    );
    // MODIFY without counter data leaves the counter alone.
    p.write(Type::Modify, entry(acl(1, 10))).await.unwrap();
    let mut with = p4::TableEntry {
        table_id: 1,
        ..Default::default()
    };
    let found = entries(p.read(entry(with.clone())).await.unwrap());
    assert_eq!(found[0].counter_data, None, "not asked for");
    with.counter_data = Some(p4::CounterData::default());
    let found = entries(p.read(entry(with)).await.unwrap());
    assert_eq!(found[0].counter_data, e.counter_data);

    let direct = |e: p4::TableEntry, packets| {
        Entity::DirectCounterEntry(p4::DirectCounterEntry {
            table_entry: Some(e),
            data: Some(p4::CounterData {
                packet_count: packets,
                byte_count: 1,
            }),
        })
    };
    p.write(Type::Modify, direct(acl(1, 10), 8)).await.unwrap();
    match &p.read(direct(acl(1, 10), 0)).await.unwrap()[..] {
        [Entity::DirectCounterEntry(d)] => {
            assert_eq!(d.data.as_ref().unwrap().packet_count, 8);
        }
        other => panic!("{other:?}"),
    }
    let everything = Entity::DirectCounterEntry(p4::DirectCounterEntry::default());
    assert_eq!(p.read(everything).await.unwrap().len(), 1);
    for (kind, e, code) in [
        (Type::Modify, direct(acl(2, 10), 1), Code::NotFound),
        (Type::Insert, direct(acl(1, 10), 1), Code::InvalidArgument),
        (Type::Modify, direct(acl(1, 10), -1), Code::InvalidArgument),
    ] {
        assert_eq!(p.write(kind, e).await, Err(code));
    }
}

fn counter(id: u32, index: Option<i64>, packets: i64) -> Entity {
    Entity::CounterEntry(p4::CounterEntry {
        counter_id: id,
        index: index.map(|index| p4::Index { index }),
        data: Some(p4::CounterData {
            packet_count: packets,
            byte_count: 0,
        }),
    })
}

#[tokio::test]
async fn indexed_counters() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    p.write(Type::Modify, counter(201, Some(2), 5))
        .await
        .unwrap();
    assert_eq!(target.state().counters[&("rx".to_owned(), 2)].packets, 5);
    assert_eq!(
        p.read(counter(201, Some(2), 0)).await.unwrap(),
        [counter(201, Some(2), 5)]
    );
    assert_eq!(p.read(counter(0, None, 0)).await.unwrap().len(), 4);
    p.write(Type::Modify, counter(201, None, 1)).await.unwrap();
    assert_eq!(target.state().counters.len(), 4, "no index writes all");
    for (kind, e, code) in [
        (
            Type::Insert,
            counter(201, Some(0), 1),
            Code::InvalidArgument,
        ),
        (Type::Modify, counter(201, Some(4), 1), Code::OutOfRange),
        (Type::Modify, counter(201, Some(-1), 1), Code::OutOfRange),
        (Type::Modify, counter(202, Some(0), 1), Code::NotFound),
    ] {
        assert_eq!(p.write(kind, e).await, Err(code));
    }
    assert_eq!(
        p.read(counter(201, Some(4), 0)).await,
        Err(Code::OutOfRange)
    );
}

fn register(index: Option<i64>, value: &[u8]) -> Entity {
    Entity::RegisterEntry(p4::RegisterEntry {
        register_id: 401,
        index: index.map(|index| p4::Index { index }),
        data: Some(p4::P4Data {
            data: Some(p4::p4_data::Data::Bitstring(value.to_vec())),
        }),
    })
}

#[tokio::test]
async fn registers() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    p.write(Type::Modify, register(Some(1), &[0, 9]))
        .await
        .unwrap();
    assert_eq!(target.state().registers[&("last".to_owned(), 1)], [0, 9]);
    assert_eq!(
        p.read(register(None, &[0])).await.unwrap(),
        [
            register(Some(0), &[0]),
            register(Some(1), &[9]),
            register(Some(2), &[0])
        ]
    );
    p.write(Type::Modify, register(None, &[0x0f, 0xff]))
        .await
        .unwrap();
    assert_eq!(target.state().registers.len(), 3);
    for (kind, e, code) in [
        (Type::Modify, register(Some(3), &[1]), Code::OutOfRange),
        (
            Type::Modify,
            register(Some(0), &[0x10, 0]),
            Code::OutOfRange,
        ),
        (Type::Delete, register(Some(0), &[1]), Code::InvalidArgument),
    ] {
        assert_eq!(p.write(kind, e).await, Err(code));
    }
}
