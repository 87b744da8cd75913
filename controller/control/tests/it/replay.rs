// SPDX-License-Identifier: Apache-2.0
//! Replay of an audit log: the same inputs give the same log, and every verdict can be derived
//! again from its record.
//!
//! `UPDATE_FIXTURES=1 cargo test -p tidemark-control --test replay` rewrites the log after an
//! intended change of decisions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::sim;

use sim::World;
use tidemark_control::{Change, Input, Limit, Mode, Origin, Outcome, guard, judge};
use tidemark_rules::Targets;

const LOG: &str = include_str!("../fixtures/simulated-audit.jsonl");

fn settings(s: &mut tidemark_control::Settings) {
    s.min_change_interval_s = 5.0;
    s.rollback_hold_s = 30.0;
}

/// Auto mode, a rollback, its memory, an operator, other traffic, a switch that refuses.
fn simulated() -> World {
    let mut world = World::new(Mode::Auto, |s, _| settings(s));
    world.pass(8);
    world.link.loss_factor = 100.0;
    world.pass(20);
    world.link.loss_factor = 1.0;
    world.pass(120);
    world.set(Limit::MarkCe {
        threshold_bytes: 300_000,
        limit_bytes: Some(900_000),
    });
    world.pass(5);
    world.link.flows = 40.0;
    world.pass(12);
    world.set(Limit::MarkCe {
        threshold_bytes: 310_000,
        limit_bytes: Some(900_000),
    });
    world.pass(28);
    world.broken = true;
    world.drive(Input::Targets(Targets {
        delay_ms: Some(4.0),
        ..Targets::default()
    }));
    world.pass(20);
    world.confirm();
    world.broken = false;
    world.pass(60);
    world.drive(Input::Mode(Mode::Recommend));
    world.confirm();
    world
}

fn lines(log: &[Change]) -> Vec<String> {
    log.iter()
        .map(|c| serde_json::to_string(c).unwrap())
        .collect()
}

#[test]
fn the_same_inputs_give_the_same_log() {
    let log = lines(&simulated().log);
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/simulated-audit.jsonl"
        );
        std::fs::write(path, log.join("\n") + "\n").unwrap();
        return;
    }
    let stored: Vec<&str> = LOG.lines().collect();
    assert_eq!(log, stored);
}

/// A log of a release whose `mark_ce` had one value, the threshold.
#[test]
fn a_log_of_one_value_is_read() {
    let log = include_str!("../fixtures/one-value-audit.jsonl");
    let records: Vec<Change> = log
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let mark = |threshold_bytes| {
        Some(Limit::MarkCe {
            threshold_bytes,
            limit_bytes: None,
        })
    };
    let limits: Vec<_> = records.iter().map(|r| (r.before, r.limit)).collect();
    let tail = |limit_bytes| Some(Limit::DropTail { limit_bytes });
    assert_eq!(
        limits,
        [
            (tail(148_650), mark(300_000)),
            (mark(300_000), mark(535_260)),
            (mark(300_000), mark(535_260)),
            (mark(535_260), tail(483_228)),
        ]
    );
}

#[test]
fn every_verdict_follows_from_its_record() {
    let mut world = World::new(Mode::Auto, |s, _| settings(s));
    let records: Vec<Change> = LOG
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let targets = world.control.targets().clone();
    let mut judged = 0;
    for (i, r) in records.iter().enumerate() {
        if matches!(r.outcome, Outcome::Kept | Outcome::Worse) {
            let (before, after) = (r.measured_before.unwrap(), r.measured_after.unwrap());
            let worse = judge::worse(&targets, &[], &before, &after, judge::SLACK);
            let bad = judge::requires_rollback(&targets, &worse, &before, &after);
            assert_eq!(bad, r.outcome == Outcome::Worse, "{r:?}");
            judged += 1;
            if bad {
                let back = &records[i + 1];
                assert_eq!((back.origin, back.limit), (Origin::Rollback, r.before));
            }
        }
        if let (Origin::Auto, Some(from), Some(to)) = (r.origin, r.before, r.limit) {
            let s = &world.settings;
            let range = sim::range(s);
            range.limit(&to).unwrap();
            guard::limit_step(s, &range, &from, &to).unwrap();
        }
    }
    assert!(judged >= 3, "{judged}");
    for outcome in [
        Outcome::Set,
        Outcome::Refused,
        Outcome::Failed,
        Outcome::Kept,
        Outcome::Worse,
        Outcome::Unclear,
    ] {
        assert!(
            records.iter().any(|r| r.outcome == outcome),
            "the log shows no {}",
            outcome.label()
        );
    }
    world.pass(1);
}
