// SPDX-License-Identifier: Apache-2.0
//! Action profiles and selectors over a real connection.

use crate::common::{Peer, action, entities, server};
use p4runtime_server::target::{EntryAction, TargetErrorKind, WeightedMember};
use tidemark_proto::p4::v1 as p4;
use tidemark_proto::p4::v1::action_profile_group::Member;
use tidemark_proto::p4::v1::action_profile_group::member::WatchKind;
use tidemark_proto::p4::v1::entity::Entity;
use tidemark_proto::p4::v1::table_action::Type as ActionType;
use tidemark_proto::p4::v1::update::Type;
use tonic::Code;

// Ids of the P4Info.
const L2: u32 = 42533672;
const CLASSIFY: u32 = 47674330;
const PATHS: u32 = 291958402;
const CLASSES: u32 = 292493897;
const FORWARD: u32 = 26464542;
const SET_CLASS: u32 = 19836626;

fn forward(port: u8) -> p4::Action {
    match action(FORWARD, &[&[port], &[0, port]]).unwrap().r#type {
        Some(ActionType::Action(a)) => a,
        other => panic!("{other:?}"),
    }
}

fn member(id: u32, port: u8) -> Entity {
    Entity::ActionProfileMember(p4::ActionProfileMember {
        action_profile_id: PATHS,
        member_id: id,
        action: Some(forward(port)),
    })
}

fn group(id: u32, members: &[(u32, i32)]) -> p4::ActionProfileGroup {
    p4::ActionProfileGroup {
        action_profile_id: PATHS,
        group_id: id,
        members: members
            .iter()
            .map(|&(member_id, weight)| Member {
                member_id,
                weight,
                watch_kind: None,
            })
            .collect(),
        max_size: 0,
    }
}

fn l2(host: u8, to: ActionType) -> Entity {
    use p4::field_match::{Exact, FieldMatchType};
    Entity::TableEntry(p4::TableEntry {
        table_id: L2,
        r#match: vec![p4::FieldMatch {
            field_id: 1,
            field_match_type: Some(FieldMatchType::Exact(Exact { value: vec![host] })),
        }],
        action: Some(p4::TableAction { r#type: Some(to) }),
        ..Default::default()
    })
}

fn set(ports: &[(u8, i32)]) -> ActionType {
    let action = |&(port, weight): &(u8, i32)| p4::ActionProfileAction {
        action: Some(forward(port)),
        weight,
        watch_kind: None,
    };
    ActionType::ActionProfileActionSet(p4::ActionProfileActionSet {
        action_profile_actions: ports.iter().map(action).collect(),
        ..Default::default()
    })
}

#[tokio::test]
async fn members_and_groups() {
    let (target, client) = server().await;
    let mut p = Peer::primary_of(client, entities()).await;
    for id in [1, 2] {
        p.write(Type::Insert, member(id, id as u8)).await.unwrap();
    }
    assert_eq!(
        p.write(Type::Insert, member(1, 9)).await,
        Err(Code::AlreadyExists)
    );
    let g = Entity::ActionProfileGroup;
    p.write(Type::Insert, g(group(1, &[(2, 3), (1, 1)])))
        .await
        .unwrap();
    let paths = "Switch.paths".to_owned();
    {
        let s = target.state();
        assert_eq!(s.members[&(paths.clone(), 1)].name, "Switch.forward");
        let held: Vec<_> = s.selector_groups[&(paths.clone(), 1)]
            .iter()
            .map(|m| (m.member, m.weight))
            .collect();
        assert_eq!(held, [(1, 1), (2, 3)], "in the order of their ids");
    }
    let one = ActionType::ActionProfileGroupId(1);
    p.write(Type::Insert, l2(1, one.clone())).await.unwrap();
    p.write(Type::Insert, l2(2, ActionType::ActionProfileMemberId(2)))
        .await
        .unwrap();
    let mut actions: Vec<_> = target
        .state()
        .entries
        .values()
        .map(|e| e.action.clone())
        .collect();
    actions.sort_by_key(|a| matches!(a, EntryAction::Member(_)));
    assert_eq!(actions, [EntryAction::Group(1), EntryAction::Member(2)]);
    // A filter by action.
    let Entity::TableEntry(mut filter) = l2(1, one) else {
        panic!()
    };
    filter.r#match.clear();
    let found = p.read(Entity::TableEntry(filter)).await.unwrap();
    assert_eq!(found.len(), 1);
    // Members and groups in use stay.
    for e in [member(1, 1), member(2, 1), g(group(1, &[]))] {
        assert_eq!(
            p.write(Type::Delete, e).await,
            Err(Code::FailedPrecondition)
        );
    }
    p.write(Type::Modify, member(1, 7)).await.unwrap();
    assert_eq!(
        target.state().members[&(paths.clone(), 1)].params[0],
        [0, 7]
    );
    p.write(Type::Modify, g(group(1, &[(1, 1)]))).await.unwrap();
    let all = p4::ActionProfileGroup::default();
    assert_eq!(
        p.read(g(all)).await.unwrap(),
        [g(group(1, &[(1, 1)]))],
        "0 reads all"
    );
    let all = Entity::ActionProfileMember(p4::ActionProfileMember::default());
    assert_eq!(p.read(all).await.unwrap().len(), 2);
    let one = p4::ActionProfileMember {
        action_profile_id: PATHS,
        member_id: 9,
        action: None,
    };
    assert_eq!(
        p.read(Entity::ActionProfileMember(one)).await,
        Err(Code::NotFound)
    );
    p.write(Type::Delete, l2(2, ActionType::ActionProfileMemberId(2)))
        .await
        .unwrap();
    p.write(Type::Delete, member(2, 1)).await.unwrap();
    p.write(Type::Delete, l2(1, ActionType::ActionProfileGroupId(1)))
        .await
        .unwrap();
    p.write(Type::Delete, g(group(1, &[]))).await.unwrap();
    assert!(target.state().selector_groups.is_empty());
}

#[tokio::test]
async fn refusals() {
    let (target, client) = server().await;
    let mut p = Peer::primary_of(client, entities()).await;
    p.write(Type::Insert, member(1, 1)).await.unwrap();
    let watched = |watch| {
        let mut g = group(1, &[(1, 1)]);
        g.members[0].watch_kind = Some(watch);
        Entity::ActionProfileGroup(g)
    };
    let sized = |max_size| {
        let mut g = group(1, &[(1, 2)]);
        g.max_size = max_size;
        Entity::ActionProfileGroup(g)
    };
    let g = |members: &[(u32, i32)]| Entity::ActionProfileGroup(group(1, members));
    let mut of_classes = group(1, &[]);
    of_classes.action_profile_id = CLASSES;
    let mut foreign = p4::ActionProfileMember {
        action_profile_id: PATHS,
        member_id: 3,
        action: None,
    };
    let no_action = Entity::ActionProfileMember(foreign.clone());
    let Some(ActionType::Action(a)) = action(SET_CLASS, &[&[1]]).unwrap().r#type else {
        panic!()
    };
    foreign.action = Some(a);
    for (e, code) in [
        (watched(WatchKind::Watch(3)), Code::Unimplemented),
        (watched(WatchKind::WatchPort(vec![3])), Code::Unimplemented),
        (sized(9), Code::InvalidArgument),
        (sized(-1), Code::InvalidArgument),
        (sized(1), Code::ResourceExhausted),
        (g(&[(1, 0)]), Code::InvalidArgument),
        (g(&[(1, 9)]), Code::ResourceExhausted),
        (g(&[(1, i32::MAX)]), Code::ResourceExhausted),
        (g(&[(2, 1)]), Code::NotFound),
        (g(&[(1, 1), (1, 1)]), Code::InvalidArgument),
        (
            Entity::ActionProfileGroup(of_classes),
            Code::InvalidArgument,
        ),
        (member(0, 1), Code::InvalidArgument),
        (no_action, Code::InvalidArgument),
        (Entity::ActionProfileMember(foreign), Code::InvalidArgument),
        (l2(1, ActionType::Action(forward(1))), Code::InvalidArgument),
        (l2(1, ActionType::ActionProfileMemberId(5)), Code::NotFound),
        (l2(1, ActionType::ActionProfileGroupId(5)), Code::NotFound),
        // Not allowed together with members.
        (l2(1, set(&[(1, 1)])), Code::InvalidArgument),
    ] {
        assert_eq!(p.write(Type::Insert, e.clone()).await, Err(code), "{e:?}");
    }
    // Zero and empty mean "not watched".
    p.write(Type::Insert, watched(WatchKind::WatchPort(Vec::new())))
        .await
        .unwrap();
    p.write(Type::Modify, watched(WatchKind::Watch(0)))
        .await
        .unwrap();
    assert_eq!(
        p.write(Type::Modify, sized(4)).await,
        Err(Code::InvalidArgument),
        "it cannot be changed"
    );
    // The action profile holds 8.
    for id in 1..=9 {
        let e = Entity::ActionProfileMember(p4::ActionProfileMember {
            action_profile_id: CLASSES,
            member_id: id,
            action: match action(SET_CLASS, &[&[1]]).unwrap().r#type {
                Some(ActionType::Action(a)) => Some(a),
                _ => None,
            },
        });
        let result = p.write(Type::Insert, e).await;
        assert_eq!(result.is_ok(), id <= 8);
    }
    let no_match = p4::TableEntry {
        table_id: CLASSIFY,
        priority: 1,
        action: Some(p4::TableAction {
            r#type: Some(ActionType::ActionProfileGroupId(1)),
        }),
        ..Default::default()
    };
    assert_eq!(
        p.write(Type::Insert, Entity::TableEntry(no_match)).await,
        Err(Code::NotFound)
    );
    assert!(target.state().entries.is_empty());
}

#[tokio::test]
async fn action_sets() {
    let (target, client) = server().await;
    let mut p = Peer::primary_of(client, entities()).await;
    let e = l2(1, set(&[(1, 2), (2, 1)]));
    p.write(Type::Insert, e.clone()).await.unwrap();
    {
        let s = target.state();
        assert_eq!(s.members.len(), 3, "one for each weight");
        let (_, members) = s.selector_groups.iter().next().unwrap();
        let ports: Vec<_> = members
            .iter()
            .map(|WeightedMember { member, weight }| {
                assert_eq!(*weight, 1);
                s.members[&("Switch.paths".to_owned(), *member)].params[0][1]
            })
            .collect();
        assert_eq!(ports, [1, 1, 2]);
    }
    // It is read back as written; the server's own members do not show.
    let all = p4::TableEntry {
        table_id: L2,
        ..Default::default()
    };
    let found = p.read(Entity::TableEntry(all)).await.unwrap();
    let Entity::TableEntry(found) = &found[0] else {
        panic!()
    };
    let Some(ActionType::ActionProfileActionSet(s)) = found.action.clone().and_then(|a| a.r#type)
    else {
        panic!("{found:?}")
    };
    assert_eq!(s.action_profile_actions[0].weight, 2);
    let all = Entity::ActionProfileMember(p4::ActionProfileMember::default());
    assert!(p.read(all).await.unwrap().is_empty());
    // Not allowed together with action sets.
    assert_eq!(
        p.write(Type::Insert, member(1, 1)).await,
        Err(Code::InvalidArgument)
    );
    p.write(Type::Modify, l2(1, set(&[(3, 1)]))).await.unwrap();
    assert_eq!(target.state().members.len(), 1);
    assert_eq!(target.state().selector_groups.len(), 1);
    for (e, code) in [
        (l2(2, set(&[(1, 9)])), Code::InvalidArgument),
        (l2(2, set(&[(1, 0)])), Code::InvalidArgument),
    ] {
        assert_eq!(p.write(Type::Insert, e).await, Err(code));
    }
    // A write that the target refuses leaves nothing behind.
    target.state().refuse = Some(TargetErrorKind::Internal);
    assert!(p.write(Type::Modify, e.clone()).await.is_err());
    target.state().refuse = None;
    assert_eq!(target.state().members.len(), 1);
    p.write(Type::Delete, e).await.unwrap();
    {
        let s = target.state();
        assert!(s.members.is_empty() && s.selector_groups.is_empty());
    }
    p.write(Type::Insert, member(1, 1)).await.unwrap();
}
