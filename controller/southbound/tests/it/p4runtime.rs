// SPDX-License-Identifier: Apache-2.0
//! Tests the P4Runtime driver against our P4Runtime server and the committed program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::common;

use common::{Running, artifact, serve};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tidemark_southbound::p4rt::P4Runtime;
use tidemark_southbound::{
    DryRun, Error, Forward, Limit, Provision, PushMode, QueueUse, Queues, ReportDestination,
    Southbound, SwitchAddress, SwitchReader, Watch,
};

fn driver(running: &Running, election_id: u64, unit: u32) -> P4Runtime {
    P4Runtime::new(SwitchAddress {
        address: running.address.to_string(),
        election_id,
        limit_unit_bytes: unit,
        timeout: Duration::from_secs(20),
        ..SwitchAddress::default()
    })
    .unwrap()
}

async fn start() -> Running {
    serve("127.0.0.1:0".parse().unwrap()).await
}

fn plan() -> Provision {
    Provision {
        p4info: Some(artifact("tidemark.p4info.txtpb")),
        program: Some(artifact("tidemark.json")),
        forward: vec![Forward {
            mac: "02:00:00:00:00:01".into(),
            port: 1,
        }],
        flood_ports: vec![1, 2, 5],
        watch: vec![
            Watch {
                src: Some("10.0.0.0/8".into()),
                protocol: Some(6),
                egress_port: Some(5),
                report: true,
                ..Watch::default()
            },
            Watch {
                protocol: Some(17),
                report: false,
                ..Watch::default()
            },
        ],
        reports: Some(ReportDestination {
            port: 6,
            node_id: 10,
            src_mac: "02:00:00:00:00:fe".into(),
            dst_mac: "02:00:00:00:00:ff".into(),
            src_ip: "10.0.6.1".parse().unwrap(),
            dst_ip: "10.0.6.2".parse().unwrap(),
            udp_port: 32766,
            source_port_bits: 2,
        }),
        limits: [(
            "5".to_string(),
            Limit::DropTail {
                limit_bytes: 312_500,
            },
        )]
        .into(),
        ..Provision::default()
    }
}

#[tokio::test]
async fn provision_writes_everything_once() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    let done = d.provision(&plan(), &|_, _| true).await.unwrap();
    assert!(done.pushed);
    // forward, group, session, report_to, limit, two watches, the one without
    // addresses for both families
    assert_eq!(done.entries, 8);
    {
        let seen = running.switch.seen.lock().unwrap();
        assert_eq!(seen.loads, 1);
        assert_eq!(seen.groups[0].0, 1);
        assert_eq!(seen.groups[0].1.len(), 3);
        assert_eq!(seen.sessions[0].0, 1);
        assert_eq!(seen.sessions[0].1.replicas[0].port, 6);
        assert_eq!(seen.sessions[0].1.packet_length_bytes, None);
        let (table, action) = &seen.defaults[0];
        assert_eq!(table, "Egress.report_to");
        let action = action.as_ref().unwrap();
        assert_eq!(action.params[3], [10, 0, 6, 2]);
        assert_eq!(action.params[4], 32766u16.to_be_bytes());
        assert_eq!(action.params[5], [0, 3]);
    }
    // Again with another limit: the program stays, and so does the limit.
    let mut again = plan();
    again.limits.insert("5".into(), Limit::Unlimited);
    let done = d.provision(&again, &|_, _| true).await.unwrap();
    assert!(!done.pushed);
    assert_eq!(
        done.limits[&5],
        Limit::DropTail {
            limit_bytes: 312_500
        }
    );
    assert_eq!(running.switch.seen.lock().unwrap().loads, 1);
    // A watch that is no longer in the plan is removed from the switch.
    assert!(running.switch.seen.lock().unwrap().removed.is_empty());
    again.watch.remove(1);
    again.watch[0].priority = Some(2);
    assert_eq!(d.provision(&again, &|_, _| true).await.unwrap().entries, 5);
    assert_eq!(
        running.switch.seen.lock().unwrap().removed,
        ["Ingress.watch", "Ingress.watch6"]
    );
}

/// A controller that may not write a limit yet writes the rest, and the limit follows with the next
/// provisioning.
#[tokio::test]
async fn a_limit_waits_until_it_may_be_written() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    let done = d.provision(&plan(), &|_, _| false).await.unwrap();
    assert_eq!((done.pushed, done.entries), (true, 7));
    assert_eq!(done.limits[&5], Limit::Unlimited);
    assert!(done.written_ports.is_empty());
    assert_eq!(d.read_limit(5).await.unwrap(), Limit::Unlimited);

    let asked = std::sync::Mutex::new(Vec::new());
    let may_write = |port, limit| {
        asked.lock().unwrap().push((port, limit));
        true
    };
    let done = d.provision(&plan(), &may_write).await.unwrap();
    let limit_bytes = 312_500;
    let limit = Limit::DropTail { limit_bytes };
    assert_eq!(*asked.lock().unwrap(), [(5, limit)]);
    assert_eq!(done.written_ports, [5].into());
    assert_eq!(d.read_limit(5).await.unwrap(), limit);
    // The limit exists: `may_write` is not asked.
    let done = d.provision(&plan(), &|_, _| false).await.unwrap();
    assert_eq!(done.limits[&5], limit);
}

#[tokio::test]
async fn watches_go_to_the_table_of_their_family() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    let watch = |src: Option<&str>, dst: Option<&str>| Watch {
        src: src.map(Into::into),
        dst: dst.map(Into::into),
        report: true,
        ..Watch::default()
    };
    let mut plan = plan();
    plan.watch = vec![
        watch(Some("2001:db8::/32"), Some("2001:db8::2")),
        watch(Some("::/0"), None),
        watch(None, Some("10.0.0.2")),
        watch(None, None),
    ];
    // The last watch twice.
    assert_eq!(
        d.provision(&plan, &|_, _| true).await.unwrap().entries,
        5 + 5
    );
    plan.watch.truncate(2);
    d.provision(&plan, &|_, _| true).await.unwrap();
    let mut removed = running.switch.seen.lock().unwrap().removed.clone();
    removed.sort();
    // Priorities depend on the number of entries, so the entries that stay are new.
    removed.dedup();
    assert_eq!(removed, ["Ingress.watch", "Ingress.watch6"]);

    plan.watch = vec![watch(Some("10.0.0.1"), Some("2001:db8::2"))];
    let e = d
        .provision(&plan, &|_, _| true)
        .await
        .unwrap_err()
        .to_string();
    assert!(e.contains("watch[0].dst") && e.contains("families"), "{e}");
}

#[tokio::test]
async fn limits_are_set_read_back_and_rounded() {
    let running = start().await;
    let d = driver(&running, 1, 80);
    d.provision(&plan(), &|_, _| true).await.unwrap();
    assert_eq!(d.read_limit(7).await.unwrap(), Limit::Unlimited);
    let wanted = Limit::DropTail { limit_bytes: 1_000 };
    let found = d.set_limit(7, wanted).await.unwrap();
    assert_eq!(found, Limit::DropTail { limit_bytes: 960 });
    assert_eq!(d.read_limit(7).await.unwrap(), found);
    let mark = |threshold_bytes, limit_bytes| Limit::MarkCe {
        threshold_bytes,
        limit_bytes,
    };
    for limit in [
        mark(8_000, Some(16_000)),
        mark(8_000, None),
        Limit::Unlimited,
    ] {
        assert_eq!(d.set_limit(7, limit).await.unwrap(), limit);
        assert_eq!(d.read_limit(7).await.unwrap(), limit);
    }
    let found = d.set_limit(7, mark(8_007, Some(16_007))).await.unwrap();
    assert_eq!(found, mark(8_000, Some(16_000)));
    // Both values in one unit of the target.
    let e = d.set_limit(7, mark(8_001, Some(8_007))).await.unwrap_err();
    assert!(e.to_string().contains("not above the threshold"), "{e}");
    d.report_port(7, false).await.unwrap();
    d.report_port(7, true).await.unwrap();
}

/// Returns P4Info and program of a release whose `mark_ce` had one value; the rest is as today.
fn one_value_program() -> [std::path::PathBuf; 2] {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let text = std::fs::read_to_string(artifact("tidemark.p4info.txtpb")).unwrap();
    let second = text.find("name: \"threshold_bytes\"").unwrap();
    let (head, tail) = text.split_at(second);
    let from = head.rfind("  params {").unwrap();
    let to = second + tail.find("  }\n").unwrap() + 4;
    let p4info = directory.join("one-value.p4info.txtpb");
    std::fs::write(&p4info, format!("{}{}", &text[..from], &text[to..])).unwrap();

    let text = std::fs::read_to_string(artifact("tidemark.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let actions = json["actions"].as_array_mut().unwrap().iter_mut();
    // The compiler emitted one `mark_ce` per table.
    for mark_ce in actions.filter(|a| a["name"] == "Ingress.mark_ce") {
        mark_ce["runtime_data"].as_array_mut().unwrap().remove(1);
        // It compared with the second value, and now compares with the first.
        let body = mark_ce["primitives"].to_string();
        let body = body.replace(r#""type":"local","value":1"#, r#""type":"local","value":0"#);
        mark_ce["primitives"] = serde_json::from_str(&body).unwrap();
    }
    let program = directory.join("one-value.json");
    std::fs::write(&program, json.to_string()).unwrap();
    [p4info, program]
}

#[tokio::test]
async fn a_program_with_one_value_marks_without_a_limit() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    let mut plan = plan();
    let [p4info, program] = one_value_program();
    plan.p4info = Some(p4info);
    plan.program = Some(program);
    d.provision(&plan, &|_, _| true).await.unwrap();
    let mark = |limit_bytes| Limit::MarkCe {
        threshold_bytes: 8_000,
        limit_bytes,
    };
    assert_eq!(d.set_limit(7, mark(None)).await.unwrap(), mark(None));
    let e = d.set_limit(7, mark(Some(9_000))).await.unwrap_err();
    assert!(e.to_string().contains("mark_ce has one parameter"), "{e}");
    assert_eq!(d.read_limit(7).await.unwrap(), mark(None));
}

/// Writes the committed P4Info without one table.
fn p4info_without(table: &str) -> PathBuf {
    let text = std::fs::read_to_string(artifact("tidemark.p4info.txtpb")).unwrap();
    let tables: Vec<&str> = text.split("\ntables {").collect();
    let kept = tables
        .iter()
        .filter(|t| !t.contains(&format!("name: \"{table}\"")));
    let kept: Vec<&str> = kept.copied().collect();
    assert_eq!(kept.len() + 1, tables.len());
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("no-{table}.txtpb"));
    std::fs::write(&path, kept.join("\ntables {")).unwrap();
    path
}

#[tokio::test]
async fn a_queue_above_0_has_a_limit_of_its_own() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    let mut plan = plan();
    let uses = |queue, dscp| QueueUse {
        queue,
        dscp: Some(dscp),
        egress_port: None,
    };
    plan.queues = Some(Queues {
        count: 4,
        uses: vec![uses(1, 46), uses(3, 48)],
    });
    let done = d.provision(&plan, &|_, _| true).await.unwrap();
    // As without queues, plus the count and two entries.
    assert_eq!(done.entries, 8 + 3);
    {
        let seen = running.switch.seen.lock().unwrap();
        let count = seen.defaults.iter().find(|d| d.0 == "Ingress.queue_count");
        assert_eq!(count.unwrap().1.as_ref().unwrap().params, [[4]]);
    }
    let limit = |limit_bytes| Limit::DropTail { limit_bytes };
    assert_eq!(d.read_queue_limit(5, 1).await.unwrap(), Limit::Unlimited);
    for (queue, bytes) in [(1, 10_000), (3, 30_000), (0, 20_000)] {
        let set = d.set_queue_limit(5, queue, limit(bytes)).await.unwrap();
        assert_eq!(set, limit(bytes));
    }
    for (queue, bytes) in [(0, 20_000), (1, 10_000), (3, 30_000)] {
        let read = d.read_queue_limit(5, queue).await.unwrap();
        assert_eq!(read, limit(bytes));
    }
    assert_eq!(d.read_limit(5).await.unwrap(), limit(20_000));
    assert_eq!(d.read_queue_limit(6, 1).await.unwrap(), Limit::Unlimited);
    let e = d.set_queue_limit(5, 8, limit(9_000)).await.unwrap_err();
    assert!(e.to_string().contains("8 does not fit 3 bits"), "{e}");

    // A removed entry leaves the switch, and the other one gets a new priority.
    plan.queues.as_mut().unwrap().uses.pop();
    d.provision(&plan, &|_, _| true).await.unwrap();
    let removed = running.switch.seen.lock().unwrap().removed.clone();
    assert_eq!(removed, ["Ingress.queue_of"; 2]);
}

#[tokio::test]
async fn a_program_of_one_queue_has_no_limit_of_another() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    let mut plan = plan();
    plan.p4info = Some(p4info_without("Ingress.priority_queue_limit"));
    d.provision(&plan, &|_, _| true).await.unwrap();
    let e = d.set_queue_limit(5, 1, Limit::Unlimited).await.unwrap_err();
    assert!(matches!(e, Error::QueueLimit { port: 5, queue: 1 }), "{e}");
    assert!(e.to_string().contains("priority_queue_limit"), "{e}");
    d.set_limit(5, Limit::Unlimited).await.unwrap();
}

#[tokio::test]
async fn errors_name_the_failing_update_and_the_remedy() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    let e = d.set_limit(5, Limit::Unlimited).await.unwrap_err();
    assert!(matches!(e, Error::NoProgram { .. }), "{e}");
    d.provision(&plan(), &|_, _| true).await.unwrap();

    let e = d.set_limit(512, Limit::Unlimited).await.unwrap_err();
    assert!(e.to_string().contains("512 does not fit 9 bits"), "{e}");
    let big = Limit::DropTail {
        limit_bytes: 1 << 32,
    };
    let e = d.set_limit(5, big).await.unwrap_err();
    assert!(e.to_string().contains("limit_bytes: 4294967296"), "{e}");

    running.switch.refuse.store(true, Ordering::Relaxed);
    let e = d
        .set_limit(9, Limit::DropTail { limit_bytes: 9_000 })
        .await
        .unwrap_err();
    let text = e.to_string();
    assert!(
        text.contains("Ingress.queue_limit[port 9] = drop_tail 9000 bytes")
            && text.contains("ResourceExhausted")
            && text.contains("no cell left"),
        "{text}"
    );

    let mut bad = plan();
    bad.forward[0].mac = "02:00".into();
    let e = d.provision(&bad, &|_, _| true).await.unwrap_err();
    assert!(e.to_string().starts_with("forward[0].mac"), "{e}");
    let mut bad = plan();
    bad.program = Some("/nowhere.json".into());
    let e = d.provision(&bad, &|_, _| true).await.unwrap_err();
    assert!(e.to_string().contains("/nowhere.json"), "{e}");
}

#[tokio::test]
async fn the_highest_election_id_writes() {
    let running = start().await;
    let first = driver(&running, 1, 1);
    first.provision(&plan(), &|_, _| true).await.unwrap();
    let second = driver(&running, 2, 1);
    let limit = Limit::DropTail { limit_bytes: 5_000 };
    assert_eq!(second.set_limit(5, limit).await.unwrap(), limit);
    // The server notifies the first controller asynchronously.
    let mut refused = None;
    for _ in 0..100 {
        if let Err(e) = first.set_limit(5, Limit::Unlimited).await {
            refused = Some(e);
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let e = refused.expect("a lower election id must not write");
    assert!(matches!(e, Error::NotPrimary { .. }), "{e}");
    // Reading does not require being primary.
    assert!(first.read_limit(5).await.is_ok());
    assert!(!first.health().await.primary);
    // Two controllers with the same id: the later one is refused.
    let e = driver(&running, 2, 1)
        .provision(&plan(), &|_, _| true)
        .await
        .unwrap_err();
    assert!(matches!(e, Error::NotPrimary { .. }), "{e}");
}

/// A dry run does not request the primary role, which would lock out a controller that writes.
#[tokio::test]
async fn a_dry_run_leaves_a_switch_as_it_found_it() {
    let running = start().await;
    let dry = DryRun::new(Arc::new(driver(&running, 9, 1)));
    let health = dry.health().await;
    assert!(health.connected && !health.program_loaded && !health.primary);
    let limit_bytes = 250_000;
    let limit = Limit::DropTail { limit_bytes };
    assert!(dry.provision(&plan(), &|_, _| true).await.is_err());
    assert!(dry.set_limit(5, limit).await.is_err());
    assert!(dry.report_port(5, true).await.is_err());
    assert!(!dry.health().await.program_loaded);
    let writes = driver(&running, 1, 1);
    assert!(
        writes
            .provision(&plan(), &|_, _| true)
            .await
            .unwrap()
            .pushed
    );
    assert!(dry.set_limit(5, limit).await.is_err());
    let found = Limit::DropTail {
        limit_bytes: 312_500,
    };
    assert_eq!(dry.read_limit(5).await.unwrap(), found);
    assert_eq!(running.switch.seen.lock().unwrap().loads, 1);
}

#[tokio::test]
async fn a_restarted_switch_is_found_again() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    d.provision(&plan(), &|_, _| true).await.unwrap();
    assert!(d.health().await.ready());
    let address = running.stop();
    let mut health = d.health().await;
    for _ in 0..200 {
        if !health.connected {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        health = d.health().await;
    }
    assert!(!health.connected && health.problem.is_some(), "{health:?}");
    let e = d.read_limit(5).await.unwrap_err();
    assert!(e.to_string().contains("cannot connect"), "{e}");

    let running = serve(address).await;
    let mut health = d.health().await;
    for _ in 0..200 {
        if health.connected && health.primary {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        health = d.health().await;
    }
    assert!(
        health.connected && health.primary && !health.program_loaded,
        "{health:?}"
    );
    let done = d.provision(&plan(), &|_, _| true).await.unwrap();
    assert!(done.pushed);
    assert_eq!(running.switch.seen.lock().unwrap().loads, 1);
    assert!(d.health().await.ready());
    assert_eq!(
        d.read_limit(5).await.unwrap(),
        Limit::DropTail {
            limit_bytes: 312_500
        }
    );
}

/// If the program was pushed but its entries were not, the next provisioning must report that all
/// earlier state of the switch is gone.
#[tokio::test]
async fn a_push_is_told_by_the_first_provisioning_that_succeeds() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    running.switch.refuse.store(true, Ordering::Relaxed);
    d.provision(&plan(), &|_, _| true).await.unwrap_err();
    assert_eq!(running.switch.seen.lock().unwrap().loads, 1);
    // The next provisioning finds the program loaded.
    running.switch.refuse.store(false, Ordering::Relaxed);
    assert!(d.provision(&plan(), &|_, _| true).await.unwrap().pushed);
    assert_eq!(running.switch.seen.lock().unwrap().loads, 1);
    assert!(!d.provision(&plan(), &|_, _| true).await.unwrap().pushed);
}

#[tokio::test]
async fn push_modes() {
    let running = start().await;
    let d = driver(&running, 1, 1);
    let never = Provision {
        push: PushMode::Never,
        ..plan()
    };
    let e = d.provision(&never, &|_, _| true).await.unwrap_err();
    assert!(matches!(e, Error::NoProgram { .. }), "{e}");
    let always = Provision {
        push: PushMode::Always,
        ..plan()
    };
    assert!(d.provision(&always, &|_, _| true).await.unwrap().pushed);
    assert!(d.provision(&always, &|_, _| true).await.unwrap().pushed);
    assert_eq!(running.switch.seen.lock().unwrap().loads, 2);
    assert!(!d.provision(&never, &|_, _| true).await.unwrap().pushed);
    let half = Provision {
        program: None,
        ..plan()
    };
    assert!(d.provision(&half, &|_, _| true).await.is_err());
}
