// SPDX-License-Identifier: Apache-2.0
use super::records::last_records;
use super::*;
use std::fs::OpenOptions;
use std::io::Write as _;
use tidemark_control::Limit;

fn change(reason: &str) -> Change {
    Change {
        unix_ms: 1,
        node: 10,
        port: 5,
        queue: 0,
        origin: Origin::Auto,
        outcome: Outcome::Set,
        before: Some(Limit::Unlimited),
        limit: Some(Limit::DropTail { limit_bytes: 9 }),
        reason: reason.into(),
        error: None,
        expected: None,
        measured_before: None,
        measured_after: None,
    }
}

#[test]
fn records_survive_and_a_torn_line_does_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let first = Audit::open(Some(&path)).unwrap();
    first.record(change("one")).unwrap();
    let mut f = OpenOptions::new().append(true).open(&path).unwrap();
    f.write_all(b"{\"unix_ms\": 2, \"no").unwrap();
    let left = last_records(&std::fs::read(&path).unwrap());
    assert!(left.unended && left.unreadable == 1);
    let again = Audit::open(Some(&path)).unwrap();
    assert_eq!(again.recent(), [change("one")]);
    again.record(change("two")).unwrap();
    let reasons: Vec<String> = Audit::open(Some(&path))
        .unwrap()
        .recent()
        .into_iter()
        .map(|c| c.reason)
        .collect();
    assert_eq!(reasons, ["one", "two"]);
}

#[test]
fn the_program_s_log_has_the_beginning_of_a_reason() {
    assert_eq!(short("the limit serves"), "the limit serves");
    let advice = "advice, rule bscl: elastic regime; loss: 0.4 %; delay: 3 ms";
    assert_eq!(short(advice), "advice, rule bscl: elastic regime …");
    // A reason from an operator, who may write anything.
    let long = short(&"ä".repeat(10_000));
    assert_eq!(long.chars().count(), LOGGED_CHARACTERS + 2);
    assert_eq!(short(""), "");
}

/// A log written before the loop was a crate of its own.
#[test]
fn an_old_log_is_read() {
    let log = include_str!("../../../tests/fixtures/control-63e1e1a/audit.jsonl");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    std::fs::write(&path, log).unwrap();
    let recent = Audit::open(Some(&path)).unwrap().recent();
    let told: Vec<_> = recent.iter().map(|c| (c.origin, c.outcome)).collect();
    let expected = [
        (Origin::Auto, Outcome::Set),
        (Origin::Rollback, Outcome::Worse),
        (Origin::Rollback, Outcome::Set),
        (Origin::Confirmed, Outcome::Set),
    ];
    assert_eq!(told, expected);
    // And written back as it was read.
    for (record, line) in recent.iter().zip(log.lines()) {
        let written = serde_json::to_value(record).unwrap();
        let read: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(written, read);
    }
}

#[test]
fn memory_is_bounded() {
    let audit = Audit::open(None).unwrap();
    (0..KEPT + 5).for_each(|i| audit.record(change(&i.to_string())).unwrap());
    assert_eq!(audit.recent().len(), KEPT);
    assert_eq!(audit.recent()[0].reason, "5");
}

#[test]
fn a_write_without_its_outcome_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("audit.jsonl");
    let of = |port, outcome| Change {
        port,
        outcome,
        ..change("x")
    };
    let audit = Audit::open(Some(&path)).unwrap();
    for c in [
        of(5, Outcome::Intended),
        of(5, Outcome::Set),
        of(6, Outcome::Intended),
        of(6, Outcome::Failed),
        of(7, Outcome::Set),
        of(7, Outcome::Intended),
        of(7, Outcome::Unclear),
    ] {
        audit.record(c).unwrap();
    }
    assert_eq!(audit.recent().len(), 4, "intents are not shown");
    let again = Audit::open(Some(&path)).unwrap();
    assert_eq!(again.recent(), audit.recent());
    let cut_short: Vec<u32> = again
        .logged()
        .iter()
        .filter(|(_, l)| l.cut_short.is_some())
        .map(|(id, _)| id.port)
        .collect();
    assert_eq!(cut_short, [7]);
    let set = again.logged().values().filter(|l| l.last_set.is_some());
    assert_eq!(set.count(), 2);
}

/// A device that is always full.
#[test]
fn a_full_disk_is_told() {
    let audit = Audit::open(Some(Path::new("/dev/full"))).unwrap();
    audit.record(change("one")).unwrap_err();
    let health = audit.health();
    assert_eq!(health.not_written, 1);
    assert!(health.problem.unwrap().contains("No space left"));
    assert_eq!(audit.recent().len(), 1);
}
