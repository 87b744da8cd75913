// SPDX-License-Identifier: Apache-2.0
//! Table entries and default entries over a real connection.

use crate::common::{Peer, acl, action, server};
use p4runtime_server::target::{ActionCall, EntryAction, MatchValue, TableEntry, TargetErrorKind};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

fn entry(e: p4::TableEntry) -> Entity {
    Entity::TableEntry(e)
}

fn call_of(e: &TableEntry) -> &ActionCall {
    match &e.action {
        EntryAction::Call(c) => c,
        other => panic!("{other:?}"),
    }
}

fn default_of(table_id: u32, action: Option<p4::TableAction>) -> Entity {
    entry(p4::TableEntry {
        table_id,
        is_default_action: true,
        action,
        ..Default::default()
    })
}

fn all_of(table_id: u32) -> Entity {
    entry(p4::TableEntry {
        table_id,
        ..Default::default()
    })
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
async fn life_of_an_entry() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    let mut e = acl(1, 10);
    e.metadata = b"mine".to_vec();
    p.write(Type::Insert, entry(e.clone())).await.unwrap();
    {
        let s = target.state();
        let (_, held) = s.entries.iter().next().unwrap();
        assert_eq!(held.priority, 10);
        assert_eq!(call_of(held).params, [vec![0, 5]]);
        assert_eq!(held.matches[1].bits, 9);
        assert_eq!(
            held.matches[1].value,
            MatchValue::Ternary {
                value: vec![0, 0],
                mask: vec![0, 0]
            }
        );
    }
    // Reads return the canonical form.
    e.action = action(101, &[&[5]]);
    assert_eq!(
        entries(p.read(all_of(1)).await.unwrap()),
        std::slice::from_ref(&e)
    );
    assert_eq!(
        p.write(Type::Insert, entry(e.clone())).await,
        Err(Code::AlreadyExists)
    );
    e.action = action(103, &[]);
    p.write(Type::Modify, entry(e.clone())).await.unwrap();
    assert_eq!(target.state().entries.len(), 1);
    assert_eq!(
        call_of(target.state().entries.values().next().unwrap()).name,
        "drop"
    );
    assert_eq!(
        p.write(Type::Delete, entry(acl(1, 11))).await,
        Err(Code::NotFound)
    );
    assert_eq!(
        p.write(Type::Modify, entry(acl(2, 10))).await,
        Err(Code::NotFound)
    );
    p.write(Type::Delete, entry(acl(1, 10))).await.unwrap();
    assert!(target.state().entries.is_empty());
    assert!(p.read(all_of(1)).await.unwrap().is_empty());
}

#[tokio::test]
async fn refused_entries_leave_nothing_behind() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    let mut no_action = acl(1, 1);
    no_action.action = None;
    let mut default_only = acl(1, 1);
    default_only.action = action(102, &[]);
    let mut wide = acl(1, 1);
    wide.action = action(101, &[&[2, 0]]);
    let mut missing_param = acl(1, 1);
    missing_param.action = action(101, &[]);
    let mut extra_param = acl(1, 1);
    extra_param.action = action(103, &[&[1]]);
    let mut foreign_action = acl(1, 1);
    foreign_action.action = action(999, &[]);
    let mut timeout = acl(1, 1);
    timeout.idle_timeout_ns = 5;
    let mut counted = p4::TableEntry {
        table_id: 4,
        action: action(101, &[&[1]]),
        ..Default::default()
    };
    counted.counter_data = Some(p4::CounterData::default());
    let cases = [
        (acl(1, 0), Code::InvalidArgument),
        (no_action, Code::InvalidArgument),
        (default_only, Code::PermissionDenied),
        (wide, Code::OutOfRange),
        (missing_param, Code::InvalidArgument),
        (extra_param, Code::InvalidArgument),
        (foreign_action, Code::InvalidArgument),
        (timeout, Code::InvalidArgument),
        (counted, Code::InvalidArgument),
        (
            p4::TableEntry {
                table_id: 99,
                ..Default::default()
            },
            Code::NotFound,
        ),
        (
            p4::TableEntry {
                table_id: 3,
                action: action(101, &[&[1]]),
                ..Default::default()
            },
            Code::InvalidArgument,
        ),
        (
            p4::TableEntry {
                table_id: 2,
                ..Default::default()
            },
            Code::PermissionDenied,
        ),
    ];
    for (e, code) in cases {
        assert_eq!(
            p.write(Type::Insert, entry(e.clone())).await,
            Err(code),
            "{e:?}"
        );
    }
    assert!(target.state().entries.is_empty());
    // A write that the target refuses is not stored either.
    target.state().refuse = Some(TargetErrorKind::Internal);
    assert_eq!(
        p.write(Type::Insert, entry(acl(1, 1))).await,
        Err(Code::Internal)
    );
    target.state().refuse = None;
    assert!(p.read(all_of(1)).await.unwrap().is_empty());
    // The table holds two entries.
    p.write(Type::Insert, entry(acl(1, 1))).await.unwrap();
    p.write(Type::Insert, entry(acl(2, 1))).await.unwrap();
    assert_eq!(
        p.write(Type::Insert, entry(acl(3, 1))).await,
        Err(Code::ResourceExhausted)
    );
}

#[tokio::test]
async fn entries_of_the_program() {
    let (_, client) = server().await;
    let mut p = Peer::primary(client).await;
    let found = entries(p.read(all_of(2)).await.unwrap());
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|e| e.is_const));
    assert!(
        found[0].priority > found[1].priority,
        "the first of the program wins"
    );
    assert_eq!(found[0].action, action(101, &[&[3]]));
    assert_eq!(found[1].r#match, [], "the whole range matches everything");
    assert_eq!(
        p.write(Type::Delete, entry(found[0].clone())).await,
        Err(Code::PermissionDenied)
    );
}

#[tokio::test]
async fn default_entries() {
    let (target, client) = server().await;
    let mut p = Peer::primary(client).await;
    let read = |found: Vec<Entity>| entries(found).remove(0).action;
    // From P4Info, from the program, const.
    assert_eq!(
        read(p.read(default_of(1, None)).await.unwrap()),
        action(102, &[])
    );
    assert_eq!(
        read(p.read(default_of(3, None)).await.unwrap()),
        action(101, &[&[7]])
    );
    assert_eq!(p.read(default_of(0, None)).await.unwrap().len(), 4);
    p.write(Type::Modify, default_of(3, action(101, &[&[1, 0]])))
        .await
        .unwrap();
    assert_eq!(
        target.state().defaults["keyless"].as_ref().unwrap().params,
        [vec![1, 0]]
    );
    assert_eq!(
        read(p.read(default_of(3, None)).await.unwrap()),
        action(101, &[&[1, 0]])
    );
    p.write(Type::Modify, default_of(3, None)).await.unwrap();
    assert_eq!(target.state().defaults["keyless"], None);
    assert_eq!(
        read(p.read(default_of(3, None)).await.unwrap()),
        action(101, &[&[7]])
    );
    for (kind, e, code) in [
        (
            Type::Insert,
            default_of(3, action(102, &[])),
            Code::InvalidArgument,
        ),
        (Type::Delete, default_of(3, None), Code::InvalidArgument),
        (
            Type::Modify,
            default_of(2, action(101, &[&[1]])),
            Code::PermissionDenied,
        ),
        (
            Type::Modify,
            default_of(1, action(103, &[])),
            Code::PermissionDenied,
        ),
        (
            Type::Modify,
            entry(p4::TableEntry {
                is_default_action: true,
                ..acl(1, 1)
            }),
            Code::InvalidArgument,
        ),
    ] {
        assert_eq!(p.write(kind, e).await, Err(code));
    }
}

#[tokio::test]
async fn filters_of_reads() {
    let (_, client) = server().await;
    let mut p = Peer::primary(client).await;
    let mut second = acl(2, 20);
    second.action = action(103, &[]);
    second.metadata = b"x".to_vec();
    p.write(Type::Insert, entry(acl(1, 10))).await.unwrap();
    p.write(Type::Insert, entry(second)).await.unwrap();
    let none = p4::TableEntry {
        table_id: 1,
        ..Default::default()
    };
    for (filter, count) in [
        (p4::TableEntry::default(), 4), // two more are in the program
        (none.clone(), 2),
        (
            p4::TableEntry {
                priority: 20,
                ..none.clone()
            },
            1,
        ),
        (
            p4::TableEntry {
                action: action(103, &[]),
                ..none.clone()
            },
            1,
        ),
        (
            p4::TableEntry {
                metadata: b"x".to_vec(),
                ..none.clone()
            },
            1,
        ),
        (
            p4::TableEntry {
                action: None,
                ..acl(1, 0)
            },
            1,
        ),
        (acl(1, 20), 0),
    ] {
        assert_eq!(
            p.read(entry(filter.clone())).await.unwrap().len(),
            count,
            "{filter:?}"
        );
    }
    assert_eq!(p.read(all_of(99)).await, Err(Code::NotFound));
}
