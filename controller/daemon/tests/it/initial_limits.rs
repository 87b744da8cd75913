// SPDX-License-Identifier: Apache-2.0
//! Limits of `[switches.provision.limits]`: recorded before and after they are
//! written, as every other limit.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::common;

use common::{Lab, PORT};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::Ordering;
use tidemark_controller::config::{Config, Mode};
use tidemark_controller::core::switches;
use tidemark_southbound::{Limit, Provision};

const INITIAL: Limit = Limit::DropTail {
    limit_bytes: 200_000,
};

fn lab(change: impl FnOnce(&mut Config)) -> Lab {
    let plan = Provision {
        limits: [(PORT.to_string(), INITIAL)].into(),
        ..Provision::default()
    };
    let lab = Lab::with_plan(plan, change);
    lose_everything(&lab);
    lab
}

fn lose_everything(lab: &Lab) {
    lab.switch.empty.store(true, Ordering::Relaxed);
    lab.switch.limits.lock().unwrap().clear();
}

async fn look(lab: &Lab) {
    switches::poll(&lab.core, &lab.core.switches[&10]).await;
}

fn in_force(lab: &Lab) -> Option<Limit> {
    lab.switch.limits.lock().unwrap().get(&PORT).copied()
}

/// Origin and outcome of each record of the file.
fn records(log: &Path) -> Vec<(String, String)> {
    let text = |v: &Value| v.as_str().unwrap().to_string();
    let lines = std::fs::read_to_string(log).unwrap();
    let records = lines.lines().map(|l| serde_json::from_str(l).unwrap());
    records
        .map(|r: Value| (text(&r["origin"]), text(&r["outcome"])))
        .collect()
}

fn provisioned(outcomes: &[&str]) -> Vec<(String, String)> {
    let pair = |o: &&str| ("provision".to_string(), (*o).to_string());
    outcomes.iter().map(pair).collect()
}

#[tokio::test]
async fn each_has_its_intent_and_its_outcome() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let lab = lab(|c| c.control.audit_log = Some(log.clone()));
    look(&lab).await;
    assert_eq!(in_force(&lab), Some(INITIAL));
    assert_eq!(records(&log), provisioned(&["intended", "set"]));
    let (_, all) = lab.get("/changes").await;
    assert_eq!(all["changes"][0]["limit"]["limit_bytes"], 200_000);
    // A limit that is already there is not written, and not recorded.
    lab.switch.empty.store(true, Ordering::Relaxed);
    look(&lab).await;
    assert_eq!(records(&log).len(), 2);
}

#[tokio::test]
async fn without_an_answer_the_intent_stays_open() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let first = lab(|c| c.control.audit_log = Some(log.clone()));
    first.switch.hushed.store(true, Ordering::Relaxed);
    look(&first).await;
    assert_eq!(records(&log), provisioned(&["intended"]));
    look(&first).await;
    assert_eq!(records(&log), provisioned(&["intended", "set"]));

    // Now the controller ends before the answer.
    lose_everything(&first);
    first.switch.hushed.store(true, Ordering::Relaxed);
    look(&first).await;
    drop(first);
    let second = lab(|c| c.control.audit_log = Some(log.clone()));
    let other = Limit::DropTail { limit_bytes: 7_000 };
    second.switch.limits.lock().unwrap().insert(PORT, other);
    look(&second).await;
    let all = ["intended", "set", "intended", "failed"];
    assert_eq!(records(&log), provisioned(&all));
    let (_, all) = second.get("/changes").await;
    let told = &all["changes"][1];
    assert_eq!(told["error"], "the switch holds drop_tail 7000 bytes");
}

/// A limit that an earlier run provisioned is not a limit to restore.
#[tokio::test]
async fn a_restarted_controller_takes_the_limit_of_its_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    look(&lab(|c| c.control.audit_log = Some(log.clone()))).await;
    let plan = Provision {
        limits: [(PORT.to_string(), Limit::DropTail { limit_bytes: 9_000 })].into(),
        ..Provision::default()
    };
    let second = Lab::with_plan(plan, |c| c.control.audit_log = Some(log.clone()));
    lose_everything(&second);
    look(&second).await;
    let limit_bytes = in_force(&second).and_then(|l| l.bytes());
    assert_eq!(limit_bytes, Some(9_000));
    let all = ["intended", "set", "intended", "set"];
    assert_eq!(records(&log), provisioned(&all));
}

/// The switch forwards again, and its limit waits for room in the log.
#[tokio::test]
async fn none_is_written_without_its_record_where_that_is_required() {
    let lab = lab(|c| {
        c.control.mode = Mode::Auto;
        c.control.audit_log = Some("/dev/full".into());
    });
    look(&lab).await;
    assert!(!lab.switch.empty.load(Ordering::Relaxed));
    assert_eq!(in_force(&lab), None);
    let (_, s) = lab.get("/status").await;
    let told = s["switches"][0]["provision_problem"].as_str().unwrap();
    assert!(
        told.contains("port 5 has no limit") && told.contains("No space left"),
        "{told}"
    );
}

#[tokio::test]
async fn one_is_written_all_the_same_where_a_record_may_be_missing() {
    let lab = lab(|c| c.control.audit_log = Some("/dev/full".into()));
    look(&lab).await;
    assert_eq!(in_force(&lab), Some(INITIAL));
    let (_, s) = lab.get("/status").await;
    assert_eq!(s["audit"]["not_written"], 2);
}
