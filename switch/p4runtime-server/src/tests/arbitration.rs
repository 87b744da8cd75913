// SPDX-License-Identifier: Apache-2.0
use super::*;

const A: StreamId = StreamId(1);
const B: StreamId = StreamId(2);

fn request(id: Option<(u64, u64)>) -> p4::MasterArbitrationUpdate {
    p4::MasterArbitrationUpdate {
        device_id: 7,
        election_id: id.map(|(high, low)| p4::Uint128 { high, low }),
        ..Default::default()
    }
}

fn in_role(name: &str, low: u64) -> p4::MasterArbitrationUpdate {
    p4::MasterArbitrationUpdate {
        role: Some(p4::Role {
            name: name.into(),
            ..Default::default()
        }),
        ..request(Some((0, low)))
    }
}

fn codes(notices: &[Notice]) -> Vec<(u64, i32)> {
    notices
        .iter()
        .map(|n| (n.to.0, n.update.status.as_ref().unwrap().code))
        .collect()
}

const OK: i32 = Code::Ok as i32;
const BACKUP: i32 = Code::AlreadyExists as i32;
const NONE: i32 = Code::NotFound as i32;

#[test]
fn higher_id_takes_over_and_all_are_told() {
    let mut a = Arbitration::new(7);
    assert_eq!(
        codes(&a.update(A, &request(Some((0, 1)))).unwrap()),
        [(1, OK)]
    );
    // 128 bits: the high half decides.
    let notices = a.update(B, &request(Some((1, 0)))).unwrap();
    assert_eq!(codes(&notices), [(1, BACKUP), (2, OK)]);
    assert_eq!(
        notices[0].update.election_id,
        Some(p4::Uint128 { high: 1, low: 0 })
    );
    assert!(
        a.check_primary("", Some(&p4::Uint128 { high: 1, low: 0 }))
            .is_ok()
    );
    let e = a
        .check_primary("", Some(&p4::Uint128 { high: 0, low: 1 }))
        .unwrap_err();
    assert_eq!(e.code, Code::PermissionDenied);
    assert_eq!(
        a.check_primary("", None).unwrap_err().code,
        Code::PermissionDenied
    );
}

#[test]
fn lower_id_is_a_backup_and_only_it_is_told() {
    let mut a = Arbitration::new(7);
    a.update(A, &request(Some((0, 5)))).unwrap();
    assert_eq!(
        codes(&a.update(B, &request(Some((0, 4)))).unwrap()),
        [(2, BACKUP)]
    );
    assert!(a.is_primary(A) && !a.is_primary(B));
}

#[test]
fn leaving_primary_is_not_replaced_by_a_lower_id() {
    let mut a = Arbitration::new(7);
    a.update(A, &request(Some((0, 5)))).unwrap();
    a.update(B, &request(Some((0, 4)))).unwrap();
    assert_eq!(codes(&a.leave(A)), [(2, NONE)]);
    let five = p4::Uint128 { high: 0, low: 5 };
    assert!(
        a.check_primary("", Some(&five)).is_err(),
        "nobody is primary"
    );
    assert_eq!(
        codes(&a.update(B, &request(Some((0, 4)))).unwrap()),
        [(2, NONE)]
    );
    assert_eq!(
        codes(&a.update(B, &request(Some((0, 5)))).unwrap()),
        [(2, OK)]
    );
}

#[test]
fn primary_can_step_down() {
    let mut a = Arbitration::new(7);
    a.update(A, &request(Some((0, 5)))).unwrap();
    a.update(B, &request(None)).unwrap();
    let notices = a.update(A, &request(Some((0, 2)))).unwrap();
    assert_eq!(codes(&notices), [(1, NONE), (2, NONE)]);
    assert_eq!(a.primaries().count(), 0);
}

#[test]
fn no_election_id_is_never_primary() {
    let mut a = Arbitration::new(7);
    let notices = a.update(A, &request(None)).unwrap();
    assert_eq!(codes(&notices), [(1, NONE)]);
    assert_eq!(notices[0].update.election_id, None);
}

#[test]
fn refusals() {
    let mut a = Arbitration::new(7);
    let other = p4::MasterArbitrationUpdate {
        device_id: 8,
        ..Default::default()
    };
    assert_eq!(a.update(A, &other).unwrap_err().code, Code::NotFound);
    a.update(A, &request(Some((0, 1)))).unwrap();
    assert_eq!(
        a.update(A, &other).unwrap_err().code,
        Code::FailedPrecondition
    );
    assert_eq!(
        a.update(A, &in_role("r", 3)).unwrap_err().code,
        Code::FailedPrecondition
    );
    assert_eq!(
        a.update(B, &request(Some((0, 1)))).unwrap_err().code,
        Code::InvalidArgument,
        "id in use"
    );
    a.update(B, &request(Some((0, 2)))).unwrap();
    for id in 3..=MAX_STREAMS as u64 {
        a.update(StreamId(id), &request(None)).unwrap();
    }
    let newcomer = StreamId(100);
    let full = a.update(newcomer, &request(None)).unwrap_err();
    assert_eq!(full.code, Code::ResourceExhausted);
    // The oldest client without an election id; B is primary, A has an id.
    assert_eq!(a.gives_way(newcomer), Some(StreamId(3)));
    assert_eq!(a.gives_way(A), None, "it has a place");
    a.leave(StreamId(3));
    assert_eq!(a.gives_way(newcomer), None);
    a.update(newcomer, &request(None)).unwrap();
}

#[test]
fn roles_are_independent() {
    let mut a = Arbitration::new(7);
    a.update(A, &request(Some((0, 9)))).unwrap();
    let notices = a.update(B, &in_role("metrics", 1)).unwrap();
    assert_eq!(codes(&notices), [(2, OK)]);
    assert_eq!(notices[0].update.role.as_ref().unwrap().name, "metrics");
    let one = p4::Uint128 { high: 0, low: 1 };
    assert!(a.check_primary("metrics", Some(&one)).is_ok());
    assert!(a.check_primary("", Some(&one)).is_err());
    assert!(a.check_primary("unknown", Some(&one)).is_err());
}

#[test]
fn as_bmv2_the_next_backup_is_promoted_and_told() {
    let mut a = Arbitration::new(7);
    a.promotes = true;
    let c = StreamId(3);
    a.update(A, &request(Some((0, 5)))).unwrap();
    a.update(B, &request(Some((0, 3)))).unwrap();
    a.update(c, &request(None)).unwrap();
    let notices = a.leave(A);
    assert_eq!(codes(&notices), [(2, OK), (3, BACKUP)]);
    let three = p4::Uint128 { high: 0, low: 3 };
    assert_eq!(notices[0].update.election_id, Some(three));
    assert!(a.check_primary("", Some(&three)).is_ok());
    assert_eq!(codes(&a.leave(B)), [(3, NONE)]);
    // There is no need to exceed the id of a client that is gone.
    let low = a.update(A, &request(Some((0, 1)))).unwrap();
    assert_eq!(codes(&low), [(1, OK), (3, BACKUP)]);
}

#[test]
fn roles_that_nobody_has_make_room() {
    let mut a = Arbitration::new(7);
    a.update(A, &request(Some((0, 9)))).unwrap();
    for i in 0..2 * MAX_STREAMS as u64 {
        let stream = StreamId(10 + i);
        a.update(stream, &in_role(&format!("role {i}"), 1)).unwrap();
        a.leave(stream);
    }
    a.leave(A);
    let notices = a.update(B, &request(Some((0, 8)))).unwrap();
    assert_eq!(codes(&notices), [(2, NONE)], "the unnamed role is kept");
}
