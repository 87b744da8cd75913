// SPDX-License-Identifier: Apache-2.0
//! Limits: by operators, by confirmed advice, by auto mode, and back again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::common;

use common::{Lab, PORT};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use tidemark_controller::config::{Config, Mode};
use tidemark_controller::core::State;
use tidemark_estimators::LinkId;
use tidemark_rules::Goal;
use tidemark_southbound::Limit;

const LINK: LinkId = LinkId {
    node_id: 10,
    port: PORT,
    queue: 0,
};

fn in_force(lab: &Lab) -> u64 {
    lab.switch.limits.lock().unwrap()[&PORT].bytes().unwrap()
}

/// The limit in force meets the default targets; these ask for 160 kB.
fn asks_for_less(c: &mut Config) {
    c.targets.delay_ms = Some(12.8);
}

async fn outcomes(lab: &Lab) -> Vec<(String, String)> {
    let (_, all) = lab.get("/changes").await;
    let text = |v: &Value| v.as_str().unwrap().to_string();
    let changes = all["changes"].as_array().unwrap().iter();
    changes
        .map(|c| (text(&c["origin"]), text(&c["outcome"])))
        .collect()
}

/// Asserts that nothing happened except that confirmed advice was rolled back.
async fn assert_rolled_back(lab: &Lab) {
    let seen = outcomes(lab).await;
    let seen: Vec<_> = seen.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    let expected = [
        ("confirmed", "set"),
        ("trial", "worse"),
        ("rollback", "set"),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn an_operator_sets_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("audit.jsonl");
    let mut lab = Lab::new(|c| c.control.audit_log = Some(log.clone()));
    lab.pass(2).await;
    let mut events = lab.core.events.subscribe();
    let body = json!({"bytes": 90_000, "reason": "trying"});
    let (status, a) = lab.post("/links/10/5/limit", body).await;
    assert_eq!(status, 200, "{a}");
    assert_eq!(
        a["before"],
        json!({"action": "drop_tail", "limit_bytes": 250_000})
    );
    assert_eq!(
        a["limit"],
        json!({"action": "drop_tail", "limit_bytes": 90_000})
    );
    assert_eq!(in_force(&lab), 90_000);
    assert!(matches!(
        events.recv().await.unwrap(),
        tidemark_controller::core::Event::Changed(_)
    ));
    let (_, link) = lab.get("/links/10/5").await;
    assert_eq!(link["limit"]["limit_bytes"], 90_000);

    let body = json!({"threshold_bytes": 80_000, "bytes": 160_000, "action": "mark_ce"});
    let (_, a) = lab.post("/links/10/5/limit", body).await;
    let marked = Limit::MarkCe {
        threshold_bytes: 80_000,
        limit_bytes: Some(160_000),
    };
    assert_eq!(a["limit"], json!(marked));
    assert_eq!(lab.switch.limits.lock().unwrap()[&PORT], marked);
    lab.post("/links/10/5/limit", json!({"action": "unlimited"}))
        .await;
    assert_eq!(lab.switch.limits.lock().unwrap()[&PORT], Limit::Unlimited);

    let text = std::fs::read_to_string(&log).unwrap();
    // Every write is announced before it is made.
    let lines: Vec<Value> = text
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    assert_eq!(lines[0]["reason"], "trying");
    let outcomes: Vec<_> = lines
        .iter()
        .map(|l| l["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(outcomes, ["intended", "set"].repeat(3));

    // The last thousand records stay in memory, with their reasons.
    for (characters, wanted) in [(1001, 400), (1000, 200)] {
        let body = json!({"bytes": 90_000, "reason": "ä".repeat(characters)});
        let (status, a) = lab.post("/links/10/5/limit", body).await;
        assert_eq!(status, wanted, "{a}");
        let bytes = lab.switch.limits.lock().unwrap()[&PORT].bytes();
        assert_eq!(bytes, (wanted == 200).then_some(90_000));
    }
    assert_eq!(a["recorded"], true);

    let (_, r) = lab.post("/links/10/5/reports", json!({"on": false})).await;
    assert_eq!(r["on"], false);
    assert!(!lab.switch.reports.lock().unwrap()[&PORT]);
}

#[tokio::test]
async fn threshold_and_limit_are_told_apart() {
    let mut lab = Lab::new(|_| {});
    lab.pass(2).await;
    let body = json!({"threshold_bytes": 80_000, "action": "mark_ce"});
    let (status, a) = lab.post("/links/10/5/limit", body).await;
    assert_eq!(status, 200, "{a}");
    assert_eq!(a["recorded"], false, "there is no audit log");
    assert_eq!(
        a["limit"],
        json!({"action": "mark_ce", "threshold_bytes": 80_000, "limit_bytes": null})
    );
    for (body, field, says) in [
        // A client that knows only one value: its value is not taken for the other one.
        (
            json!({"bytes": 80_000, "action": "mark_ce"}),
            "threshold_bytes",
            "marks from it on",
        ),
        (
            json!({"threshold_bytes": 80_000, "bytes": 80_000, "action": "mark_ce"}),
            "bytes",
            "not above the threshold",
        ),
        (
            json!({"threshold_bytes": 80_000, "bytes": 90_000}),
            "threshold_bytes",
            "only action",
        ),
        (
            json!({"threshold_bytes": 80_000, "bytes": 99_000_000_000_u64, "action": "mark_ce"}),
            "bytes",
            "max_limit_bytes",
        ),
    ] {
        let (status, a) = lab.post("/links/10/5/limit", body).await;
        assert_eq!(status, 400, "{a}");
        assert_eq!(a["error"]["field"], field, "{a}");
        let message = a["error"]["message"].as_str().unwrap();
        assert!(message.contains(says), "{message}");
    }
}

#[tokio::test]
async fn a_switch_that_fails_is_a_502() {
    let mut lab = Lab::new(|_| {});
    lab.pass(2).await;
    lab.switch.broken.store(true, Ordering::Relaxed);
    let (status, a) = lab
        .post("/links/10/5/limit", json!({"bytes": 90_000}))
        .await;
    assert_eq!(status, 502);
    assert!(
        a["error"]["message"]
            .as_str()
            .unwrap()
            .contains("unplugged")
    );
    lab.switch.broken.store(false, Ordering::Relaxed);
    lab.switch.liar.store(true, Ordering::Relaxed);
    let (status, a) = lab
        .post("/links/10/5/limit", json!({"bytes": 90_000}))
        .await;
    assert_eq!(status, 502);
    assert!(
        a["error"]["message"]
            .as_str()
            .unwrap()
            .contains("holds unlimited")
    );
    assert_eq!(outcomes(&lab).await.len(), 2);
    assert!(outcomes(&lab).await.iter().all(|o| o.1 == "failed"));
}

#[tokio::test]
async fn advice_is_applied_watched_and_kept() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Confirm;
        asks_for_less(c);
    });
    lab.pass(16).await;
    let (_, a) = lab.get("/advice").await;
    let advised = a["advice"]["limit_bytes"].as_u64().unwrap();
    let stale = json!({"bytes": advised * 2});
    assert_eq!(lab.post("/advice/apply", stale).await.0, 409);
    let (status, a) = lab.post("/advice/apply", json!({"bytes": advised})).await;
    assert_eq!(status, 200, "{a}");
    assert_eq!(a["limit"]["limit_bytes"], advised);
    assert_eq!(in_force(&lab), advised);
    let (_, link) = lab.get("/links/10/5").await;
    assert_eq!(link["watching"]["limit"]["limit_bytes"], advised);
    // Too soon after the last.
    let (status, a) = lab.post("/advice/apply", json!({})).await;
    assert_eq!((status, &a["error"]["field"]), (409, &json!("interval")));

    lab.obey();
    lab.pass(5).await;
    assert_eq!(in_force(&lab), advised);
    let seen = outcomes(&lab).await;
    assert_eq!(seen[0], ("confirmed".into(), "set".into()));
    assert_eq!(seen.last().unwrap(), &("trial".into(), "kept".into()));
    assert!(lab.get("/links/10/5").await.1["watching"].is_null());
}

#[tokio::test]
async fn worse_than_bound_and_before_is_rolled_back() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Confirm;
        asks_for_less(c);
    });
    lab.pass(16).await;
    let (status, _) = lab.post("/advice/apply", json!({})).await;
    assert_eq!(status, 200);
    assert_ne!(in_force(&lab), 250_000);
    lab.obey();
    // Heavy loss from now on.
    lab.traffic.drops_per_flow = 300;
    lab.pass(5).await;
    assert_eq!(in_force(&lab), 250_000);
    assert_rolled_back(&lab).await;
}

#[tokio::test]
async fn recommend_only_recommends() {
    let mut lab = Lab::new(|_| {});
    lab.pass(12).await;
    let (status, a) = lab.post("/advice/apply", json!({})).await;
    assert_eq!((status, &a["error"]["field"]), (409, &json!("mode")));
    let (_, a) = lab.get("/advice").await;
    assert_eq!(a["can_apply"], false);
    assert!(a["why_not"].as_str().unwrap().contains("recommend"));
    assert_eq!(in_force(&lab), 250_000);
}

#[tokio::test]
async fn a_step_that_is_too_wide_is_refused_when_confirmed_and_cut_when_auto() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Confirm;
        c.control.max_step_factor = 1.02;
        asks_for_less(c);
    });
    lab.pass(16).await;
    let (status, a) = lab.post("/advice/apply", json!({})).await;
    assert_eq!(
        (status, &a["error"]["field"]),
        (409, &json!("bytes")),
        "{a}"
    );
    assert_eq!(in_force(&lab), 250_000);

    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Auto;
        c.control.max_step_factor = 1.25;
        c.control.deadband = 0.05;
        asks_for_less(c);
    });
    lab.pass(16).await;
    assert_eq!(in_force(&lab), 200_000);
}

#[tokio::test]
async fn auto_halves_a_limit_at_most() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Auto;
        c.control.max_decrease_factor = 1.1;
        c.control.deadband = 0.05;
        c.targets.delay_ms = Some(5.0);
        c.targets.priority = vec![Goal::Delay];
    });
    lab.pass(12).await;
    assert_eq!(in_force(&lab), 227_273);
    let (_, all) = lab.get("/changes").await;
    let reason = all["changes"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("not further than 227273 bytes"), "{reason}");
}

/// A switch that is away does not fill the audit log.
#[tokio::test]
async fn auto_rests_after_a_failure() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Auto;
        c.control.min_change_interval_s = 600.0;
    });
    lab.switch.broken.store(true, Ordering::Relaxed);
    lab.pass(16).await;
    assert_eq!(outcomes(&lab).await, [("auto".into(), "failed".into())]);
}

/// A smaller limit that gains little is no reason to leave a limit that serves; a missed target is.
#[tokio::test]
async fn auto_leaves_a_limit_that_serves() {
    // About half of the limit would serve.
    const DEADBAND: f64 = 1.1;
    for (delay_ms, left) in [(30.0, false), (10.0, true)] {
        let mut lab = Lab::new(|c| {
            c.control.mode = Mode::Auto;
            c.control.deadband = DEADBAND;
            c.targets.delay_ms = Some(delay_ms);
            c.targets.priority = vec![Goal::Delay];
        });
        lab.pass(24).await;
        let (_, a) = lab.get("/advice").await;
        let advised = a["advice"]["limit_bytes"].as_u64().unwrap();
        assert!((125_000..=150_000).contains(&advised), "{a}");
        assert_eq!(in_force(&lab), if left { advised } else { 250_000 });
    }
}

#[tokio::test]
async fn auto_does_not_go_back_to_a_limit_that_failed() {
    let hold_s = 600_u32;
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Auto;
        c.control.deadband = 0.02;
        c.control.min_change_interval_s = 0.0;
        c.control.rollback_hold_s = f64::from(hold_s);
        // The host's clock leaps, but the switch's does not.
        c.control.max_telemetry_age_s = 2.0 * f64::from(hold_s);
        asks_for_less(c);
    });
    lab.traffic.drops_per_flow = 1;
    while in_force(&lab) == 250_000 && lab.traffic.now_ns() < 20_000_000_000 {
        lab.pass(1).await;
    }
    let failed = in_force(&lab);
    assert!((125_000..=160_000).contains(&failed), "{failed}");
    lab.obey();
    lab.traffic.drops_per_flow = 300;
    let mut passed = 0;
    while in_force(&lab) == failed && passed < 12 {
        lab.pass(1).await;
        passed += 1;
    }
    assert_eq!(in_force(&lab), 250_000, "{:?}", outcomes(&lab).await);
    lab.obey();
    lab.traffic.drops_per_flow = 1;
    lab.pass(6).await;
    assert_eq!(in_force(&lab), 250_000, "rests");
    lab.skip(u64::from(hold_s));
    lab.pass(6).await;
    let between = ((failed * 250_000) as f64).sqrt() as u64;
    assert_eq!(in_force(&lab), between, "{failed}");
}

/// Reports arrive, but late: the connection is as good as ever.
#[tokio::test]
async fn a_backlog_is_stale() {
    let mut lab = Lab::new(|c| c.control.mode = Mode::Confirm);
    lab.pass(16).await;
    assert_eq!(lab.get("/links/10/5").await.1["stale"], false);
    lab.skip(30);
    lab.pass(2).await;
    let (_, link) = lab.get("/links/10/5").await;
    assert_eq!(link["stale"], true);
    for age in ["age_s", "node_age_s", "lag_s"] {
        assert!(link[age].as_f64().unwrap() > 20.0, "{age}: {}", link[age]);
    }
    let (_, s) = lab.get("/status").await;
    assert!(s["collectors"][0]["age_s"].as_f64().unwrap() < 20.0);
    let (status, a) = lab.post("/advice/apply", json!({})).await;
    assert_eq!((status, &a["error"]["field"]), (409, &json!("telemetry")));
    // It catches up.
    lab.pass(30).await;
    assert_eq!(lab.get("/links/10/5").await.1["stale"], false);
}

#[tokio::test]
async fn auto_follows_once_and_then_rests() {
    let mut lab = Lab::new(|c| c.control.mode = Mode::Auto);
    lab.pass(20).await;
    let first = in_force(&lab);
    assert_ne!(first, 250_000);
    lab.obey();
    lab.pass(15).await;
    let sets = outcomes(&lab).await;
    let sets = sets.iter().filter(|o| o.1 == "set").count();
    // The second would come at the earliest min_change_interval_s later.
    assert_eq!(sets, 1);
}

#[tokio::test]
async fn dry_run_writes_nothing() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Auto;
        c.control.dry_run = true;
    });
    lab.pass(20).await;
    assert_eq!(in_force(&lab), 250_000);
    assert_eq!(outcomes(&lab).await[0], ("auto".into(), "dry_run".into()));
}

/// Writes neither the plan, nor a limit, nor report settings, nor what a switch lost.
#[tokio::test]
async fn a_dry_run_cannot_write_in_any_way() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state.json");
    let mut lab = Lab::new(|c| c.state_file = Some(file.clone()));
    lab.pass(2).await;
    let body = json!({"bytes": 90_000});
    assert_eq!(
        lab.post("/links/10/5/limit", body).await.1["dry_run"],
        false
    );
    drop(lab);

    let mut lab = Lab::new(|c| {
        c.state_file = Some(file);
        c.control.dry_run = true;
    });
    lab.pass(2).await;
    // A switch that lost program, entries and limits.
    lab.switch.empty.store(true, Ordering::Relaxed);
    lab.switch.limits.lock().unwrap().clear();
    tidemark_controller::core::switches::poll(&lab.core, &lab.core.switches[&10]).await;
    tidemark_controller::core::switches::poll(&lab.core, &lab.core.switches[&10]).await;
    assert_eq!(outcomes(&lab).await, [("restore".into(), "dry_run".into())]);
    let (status, a) = lab
        .post("/links/10/5/limit", json!({"bytes": 80_000}))
        .await;
    assert_eq!((status, &a["dry_run"]), (200, &json!(true)), "{a}");
    let (status, a) = lab.post("/links/10/5/reports", json!({"on": false})).await;
    assert_eq!((status, &a["dry_run"]), (200, &json!(true)), "{a}");
    let (_, s) = lab.get("/status").await;
    let told = s["switches"][0]["provision_problem"].as_str().unwrap();
    assert!(told.contains("nothing was written"), "{told}");
    assert_eq!(s["switches"][0]["ready"], false);
    assert_eq!(lab.switch.writes.load(Ordering::Relaxed), 0);
    assert!(outcomes(&lab).await.iter().all(|o| o.1 == "dry_run"));
}

/// The answer to the first attempt was lost; the second found the program there, and the
/// limit that came with it counted as one of somebody else.
#[tokio::test]
async fn a_limit_is_restored_where_provisioning_was_not_answered() {
    let mut lab = Lab::new(|_| {});
    lab.pass(2).await;
    lab.post("/links/10/5/limit", json!({"bytes": 90_000}))
        .await;
    lab.switch.empty.store(true, Ordering::Relaxed);
    lab.switch.hushed.store(true, Ordering::Relaxed);
    let limit_bytes = 250_000;
    let of_start = Limit::DropTail { limit_bytes };
    lab.switch.limits.lock().unwrap().insert(PORT, of_start);
    for _ in 0..3 {
        tidemark_controller::core::switches::poll(&lab.core, &lab.core.switches[&10]).await;
    }
    assert_eq!(in_force(&lab), 90_000);
    let told = outcomes(&lab).await;
    let expected = [("operator", "set"), ("restore", "set")];
    let told: Vec<_> = told.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(told, expected);
}

/// The disk of the audit log is full.
#[tokio::test]
async fn no_change_without_its_record() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Auto;
        c.control.audit_log = Some("/dev/full".into());
    });
    lab.pass(16).await;
    assert_eq!(outcomes(&lab).await[0], ("auto".into(), "failed".into()));
    let (status, a) = lab
        .post("/links/10/5/limit", json!({"bytes": 90_000}))
        .await;
    assert_eq!(status, 503, "{a}");
    let says = a["error"]["message"].as_str().unwrap();
    assert!(
        says.contains("nothing was written") && says.contains("No space left"),
        "{says}"
    );
    assert_eq!(in_force(&lab), 250_000);
    assert_eq!(lab.switch.writes.load(Ordering::Relaxed), 0);
    let (_, s) = lab.get("/status").await;
    assert_eq!(s["audit"]["policy"], "required");
    assert!(
        s["audit"]["not_written"].as_u64().unwrap() >= 4,
        "{}",
        s["audit"]
    );
}

#[tokio::test]
async fn a_missing_record_is_told() {
    let mut lab = Lab::new(|c| c.control.audit_log = Some("/dev/full".into()));
    lab.pass(2).await;
    let (status, a) = lab
        .post("/links/10/5/limit", json!({"bytes": 90_000}))
        .await;
    assert_eq!((status, &a["recorded"]), (200, &json!(false)), "{a}");
    assert_eq!(in_force(&lab), 90_000);
    let (_, s) = lab.get("/status").await;
    assert_eq!(s["audit"]["policy"], "best_effort");
    assert_eq!(s["audit"]["not_written"], 2);
    assert!(
        s["audit"]["problem"]
            .as_str()
            .unwrap()
            .contains("No space left")
    );
}

async fn look(lab: &Lab) {
    tidemark_controller::core::switches::poll(&lab.core, &lab.core.switches[&10]).await;
}

/// The controller was killed between the records of its intent and of the outcome; the switch tells
/// what became of the write.
#[tokio::test]
async fn a_write_that_was_cut_short_is_resolved() {
    for (held, outcome, ours) in [(80_000, "set", 80_000), (90_000, "failed", 90_000)] {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("audit.jsonl");
        let configure = |c: &mut Config| {
            c.state_file = Some(dir.path().join("state.json"));
            c.control.audit_log = Some(log.clone());
        };
        let mut lab = Lab::new(configure);
        lab.pass(2).await;
        lab.post("/links/10/5/limit", json!({"bytes": 90_000}))
            .await;
        drop(lab);
        let text = std::fs::read_to_string(&log).unwrap();
        let intent = text.lines().next().unwrap().replace("90000", "80000");
        assert!(intent.contains("intended"), "{intent}");
        std::fs::write(&log, format!("{text}{intent}\n")).unwrap();

        let lab = Lab::new(configure);
        let limit_bytes = held;
        let limit = Limit::DropTail { limit_bytes };
        lab.switch.limits.lock().unwrap().insert(PORT, limit);
        look(&lab).await;
        look(&lab).await;
        let seen = outcomes(&lab).await;
        assert_eq!(seen[1..], [("operator".into(), outcome.into())]);
        let set = lab.core.read(|s| s.links[&LINK].set_limit());
        assert_eq!(set, Some(Limit::DropTail { limit_bytes: ours }));
        drop(lab);
        // And only once.
        let lab = Lab::new(configure);
        lab.switch.limits.lock().unwrap().insert(PORT, limit);
        look(&lab).await;
        assert_eq!(outcomes(&lab).await.len(), 2);
    }
}

/// Killed after the record of the outcome, before the state file: the log holds.
#[tokio::test]
async fn the_log_is_ahead_of_the_state_file() {
    let dir = tempfile::tempdir().unwrap();
    let (log, state) = (
        dir.path().join("audit.jsonl"),
        dir.path().join("state.json"),
    );
    let configure = |c: &mut Config| {
        c.state_file = Some(state.clone());
        c.control.audit_log = Some(log.clone());
    };
    let mut lab = Lab::new(configure);
    lab.pass(2).await;
    lab.post("/links/10/5/limit", json!({"bytes": 90_000}))
        .await;
    let before = std::fs::read(&state).unwrap();
    lab.post("/links/10/5/limit", json!({"bytes": 70_000}))
        .await;
    drop(lab);
    std::fs::write(&state, before).unwrap();
    let lab = Lab::new(configure);
    let limit = Limit::DropTail {
        limit_bytes: 70_000,
    };
    lab.switch.limits.lock().unwrap().insert(PORT, limit);
    look(&lab).await;
    assert_eq!(outcomes(&lab).await.len(), 2, "no drift");
    assert_eq!(lab.core.read(|s| s.links[&LINK].set_limit()), Some(limit));
}

#[tokio::test]
async fn a_limit_that_someone_else_wrote_is_told_and_answered() {
    use tidemark_control::OnDrift;
    for (on_drift, in_the_end) in [(OnDrift::Keep, 60_000_000), (OnDrift::Restore, 90_000)] {
        let mut lab = Lab::new(|c| c.control.on_drift = on_drift);
        lab.pass(2).await;
        lab.post("/links/10/5/limit", json!({"bytes": 90_000}))
            .await;
        look(&lab).await;
        assert_eq!(lab.get("/status").await.1["drift"], json!([]));
        let limit_bytes = 60_000_000;
        let foreign = Limit::DropTail { limit_bytes };
        lab.switch.limits.lock().unwrap().insert(PORT, foreign);
        let mut events = lab.core.events.subscribe();
        look(&lab).await;
        assert!(matches!(
            events.try_recv(),
            Ok(tidemark_controller::core::Event::Changed(_))
        ));
        let (_, s) = lab.get("/status").await;
        let drift = &s["drift"][0];
        assert_eq!(drift["found"]["limit_bytes"], 60_000_000);
        assert_eq!(drift["expected"]["limit_bytes"], 90_000);
        assert_eq!(drift["answer"], json!(on_drift));
        assert_eq!(outcomes(&lab).await[1], ("foreign".into(), "found".into()));
        look(&lab).await;
        assert_eq!(in_force(&lab), in_the_end);
        let restored = usize::from(on_drift == OnDrift::Restore);
        assert_eq!(outcomes(&lab).await.len(), 2 + restored, "told once");
        // A limit of ours ends it.
        lab.post("/links/10/5/limit", json!({"bytes": 80_000}))
            .await;
        look(&lab).await;
        assert_eq!(lab.get("/status").await.1["drift"], json!([]));
    }
}

#[tokio::test]
async fn targets_change_the_advice() {
    let mut lab = Lab::new(|_| {});
    lab.pass(16).await;
    let advised = |a: Value| a["advice"]["limit_bytes"].as_u64().unwrap();
    let before = advised(lab.get("/advice").await.1);
    let body = json!({"node": 10, "port": 5, "loss_rate": 1e-4});
    let (status, t) = lab.post("/targets", body).await;
    assert_eq!(status, 200, "{t}");
    assert_eq!(t["targets"]["utilisation"], 0.98);
    let after = advised(lab.get("/advice").await.1);
    // More is lost at 250 kB already.
    assert!(before < 250_000 && 250_000 <= after, "{before} {after}");
    let (_, t) = lab.post("/targets", json!({"delay_ms": null})).await;
    assert!(t["targets"]["delay_ms"].is_null());
    let (_, t) = lab.get("/targets").await;
    assert_eq!(t["links"][0]["targets"]["loss_rate"], 1e-4);
}

#[tokio::test]
async fn a_restarted_switch_clock_starts_everything_anew() {
    let mut lab = Lab::new(|c| c.control.mode = Mode::Confirm);
    lab.pass(16).await;
    let (status, _) = lab.post("/advice/apply", json!({})).await;
    assert_eq!(status, 200);
    lab.post("/phases", json!({"name": "cut", "action": "start"}))
        .await;
    lab.pass(1).await;
    let (_, link) = lab.get("/links/10/5").await;
    assert!(link["watching"].is_object());

    // Up again, its clock at 0; half the traffic than before.
    lab.traffic.step = 0;
    lab.traffic.load = 0.5;
    lab.pass(1).await;
    let (_, link) = lab.get("/links/10/5").await;
    assert_eq!(link["now_ns"], 1_000_000_000);
    assert_eq!(link["capture_start_ns"], 0);
    assert!(link["watching"].is_null());
    let estimate = &link["estimate"];
    assert!(estimate["to_ns"].as_u64().unwrap() <= 1_000_000_000);
    let utilisation = estimate["utilisation"]["mean"].as_f64().unwrap();
    assert!((0.45..0.55).contains(&utilisation), "{utilisation}");
    assert_eq!(
        outcomes(&lab).await.last().unwrap(),
        &("trial".into(), "unclear".into())
    );
    // Its phase can no longer be estimated, and says so.
    lab.post("/phases", json!({"name": "cut", "action": "end"}))
        .await;
    lab.pass(2).await;
    let (_, phase) = lab.get("/phases/cut").await;
    assert_eq!(phase["state"], "complete");
    let why = phase["links"][0]["incomplete"].as_str().unwrap();
    assert!(why.contains("node 10 restarted"), "{why}");

    lab.traffic.load = 1.0;
    lab.pass(12).await;
    let (_, link) = lab.get("/links/10/5").await;
    assert_eq!(link["estimate"]["estimates"]["n_b"]["value"], 6.0);
    let mean = link["estimate"]["utilisation"]["mean"].as_f64().unwrap();
    assert!((0.9..=1.0).contains(&mean), "{mean}");
}

#[tokio::test]
async fn the_advice_shown_stands_and_is_applied_as_shown() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Confirm;
        // Six seconds: two or three swings, so that N_b and loss of a window jump.
        c.window_s = 4.0;
        asks_for_less(c);
    });
    lab.traffic.drops_per_flow = 2;
    lab.pass(14).await;
    let (mut shown, mut drops) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        lab.pass(1).await;
        let (_, link) = lab.get("/links/10/5").await;
        shown.push(link["advice"]["limit_bytes"].as_u64().unwrap());
        drops.push(link["estimate"]["drops"].as_u64().unwrap());
    }
    let changes = |v: &[u64]| v.windows(2).filter(|w| w[0] != w[1]).count();
    assert!(changes(&drops) > 4, "{drops:?}");
    assert_eq!(changes(&shown), 0, "{shown:?}");
    let seen = *shown.last().unwrap();
    assert_ne!(seen, 250_000);
    let (status, a) = lab.post("/advice/apply", json!({"bytes": seen})).await;
    assert_eq!(status, 200, "{a}");
    assert_eq!(a["limit"]["limit_bytes"], seen);
    assert_eq!(a["advice"]["limit_bytes"], seen);
    assert_eq!(in_force(&lab), seen);
}

#[tokio::test]
async fn windows_do_not_mix_two_limits() {
    let mut lab = Lab::new(|_| {});
    lab.pass(14).await;
    lab.post("/links/10/5/limit", json!({"bytes": 120_000}))
        .await;
    lab.obey();
    lab.pass(7).await;
    let (_, link) = lab.get("/links/10/5").await;
    let from = link["estimate"]["from_ns"].as_u64().unwrap();
    // Set at 14 s and settled for half a second.
    assert!((14_500_000_000..16_000_000_000).contains(&from), "{from}");
    let most = link["estimate"]["occupancy_bytes"]["max"].as_f64().unwrap();
    assert!(most <= 120_000.0, "{most}");
}

#[tokio::test]
async fn what_was_set_survives_the_controller() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("state.json");
    let log = dir.path().join("audit.jsonl");
    let configure = |c: &mut Config| {
        c.state_file = Some(file.clone());
        c.control.audit_log = Some(log.clone());
    };
    let mut lab = Lab::new(configure);
    lab.pass(14).await;
    assert_eq!(lab.get("/status").await.1["mode"], "recommend");
    let (status, m) = lab.post("/mode", json!({"mode": "confirm"})).await;
    assert_eq!((status, &m["mode"]), (200, &json!("confirm")));
    let targets = json!({"node": 10, "port": 5, "delay_ms": 12.5});
    lab.post("/targets", targets).await;
    lab.post("/targets", json!({"loss_rate": 0.02})).await;
    lab.post("/links/10/5/limit", json!({"bytes": 90_000}))
        .await;
    lab.pass(1).await;
    let held = lab.get("/advice").await.1["advice"]["limit_bytes"].clone();
    drop(lab);

    let lab = Lab::new(configure);
    assert_eq!(lab.get("/status").await.1["mode"], "confirm");
    let (_, t) = lab.get("/targets").await;
    assert_eq!(t["default"]["loss_rate"], 0.02);
    assert_eq!(t["links"][0]["targets"]["delay_ms"], 12.5);
    assert_eq!(outcomes(&lab).await, [("operator".into(), "set".into())]);
    let ours = lab.core.read(|s| s.links[&LINK].set_limit());
    assert_eq!(ours.and_then(|l| l.bytes()), Some(90_000));
    let saved = std::fs::read_to_string(&file).unwrap();
    assert!(saved.contains(&held.to_string()), "{held} {saved}");

    // A configuration that was edited wins over what was set before it.
    let lab = Lab::new(|c| {
        configure(c);
        c.control.mode = Mode::Auto;
    });
    assert_eq!(lab.get("/status").await.1["mode"], "auto");
    let (status, e) = lab.post("/mode", json!({"mode": "manual"})).await;
    assert_eq!((status, &e["error"]["field"]), (400, &json!("mode")));
}

#[tokio::test]
async fn a_change_is_judged_after_a_restart_of_the_controller() {
    let dir = tempfile::tempdir().unwrap();
    let configure = |c: &mut Config| {
        c.state_file = Some(dir.path().join("state.json"));
        c.control.audit_log = Some(dir.path().join("audit.jsonl"));
        c.control.mode = Mode::Confirm;
        asks_for_less(c);
    };
    let mut lab = Lab::new(configure);
    lab.pass(16).await;
    assert_eq!(lab.post("/advice/apply", json!({})).await.0, 200);
    let applied = in_force(&lab);
    drop(lab);

    let mut lab = Lab::new(configure);
    let limit_bytes = applied;
    let limit = Limit::DropTail { limit_bytes };
    lab.switch.limits.lock().unwrap().insert(PORT, limit);
    lab.obey();
    lab.traffic.drops_per_flow = 300;
    // Its telemetry has yet to arrive.
    tidemark_controller::core::tick::once(&lab.core).await;
    lab.pass(1).await;
    let (_, link) = lab.get("/links/10/5").await;
    assert_eq!(link["watching"]["limit"]["limit_bytes"], applied);
    lab.pass(5).await;
    assert_eq!(in_force(&lab), 250_000);
    assert_rolled_back(&lab).await;
    // And once judged, it is done with.
    drop(lab);
    let lab = Lab::new(configure);
    let none_on_trial = |s: &State| s.links.values().all(|l| l.trial().is_none());
    assert!(lab.core.read(none_on_trial));
}

#[tokio::test]
async fn a_change_is_not_judged_by_another_traffic() {
    let mut lab = Lab::new(|c| {
        c.control.mode = Mode::Confirm;
        c.control.observe_s = 8.0;
    });
    lab.pass(16).await;
    lab.post("/advice/apply", json!({})).await;
    let applied = in_force(&lab);
    lab.obey();
    // Five of six flows leave, and what is left loses heavily.
    lab.traffic.flows = 1;
    lab.traffic.drops_per_flow = 300;
    lab.pass(14).await;
    assert_eq!(in_force(&lab), applied);
    let last = outcomes(&lab).await;
    assert_eq!(last.last().unwrap(), &("trial".into(), "unclear".into()));
}
