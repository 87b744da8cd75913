// SPDX-License-Identifier: Apache-2.0
//! Checks before a first run, against a server of our own in place of the switch daemon. Nothing
//! here was seen on hardware.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

#[allow(dead_code)]
use crate::bfrt_server;

use bfrt_server::{P4_NAME, Server};
use daemon_kit::doctor::{Finding, Verdict};
use std::collections::BTreeMap;
use tidemark_southbound::bfrt::{Bfrt, Queue, Threshold};
use tidemark_southbound::{
    DryRun, Expected, Inspection, Limit, Provision, Southbound, SwitchReader,
};

fn driver(server: &Server, p4_name: &str, queues: BTreeMap<u32, Queue>) -> Bfrt {
    bfrt_server::driver(&server.address, p4_name, queues).unwrap()
}

fn plan() -> Provision {
    Provision {
        reports: Some(bfrt_server::reports_to(140)),
        limits: [(
            "132".into(),
            Limit::DropTail {
                limit_bytes: 80_000,
            },
        )]
        .into(),
        ..Provision::default()
    }
}

const MEASURED: &[(u32, u64)] = &[(132, 25_000_000_000)];

async fn looked(d: &impl SwitchReader, capacities_bps: &[(u32, u64)]) -> Inspection {
    let plan = plan();
    let expected = Expected {
        plan: Some(&plan),
        capacities_bps,
    };
    d.inspect(&expected).await
}

/// Returns the findings that are not OK.
fn faults(i: &Inspection) -> Vec<&Finding> {
    let all = i.findings.iter();
    all.filter(|f| f.verdict != Verdict::Ok).collect()
}

async fn ready() -> (Server, Bfrt) {
    let server = Server::start().await;
    server.put_port(140, "BF_SPEED_10G", true);
    server.put_drops(132, 7);
    let d = driver(&server, P4_NAME, BTreeMap::new());
    d.provision(&plan(), &|_, _| true).await.unwrap();
    (server, d)
}

#[tokio::test]
async fn a_provisioned_switch_is_well() {
    let (server, d) = ready().await;
    let found = looked(&d, MEASURED).await;
    assert_eq!(faults(&found), Vec::<&Finding>::new());
    let text: Vec<&str> = found.findings.iter().map(|f| f.found.as_str()).collect();
    assert_eq!(
        text,
        [
            "has its 5 tables",
            "12 sessions, cut at their lengths",
            "up with 25 Gbit/s",
            "up with 10 Gbit/s"
        ]
    );
    assert_eq!(found.hardware_drops_pkts, [(132, 7)].into());
    assert!(server.problems().is_empty(), "{:?}", server.problems());
    // A dry run inspects as well, and writes nothing.
    let dry = DryRun::new(std::sync::Arc::new(driver(
        &server,
        P4_NAME,
        BTreeMap::new(),
    )));
    assert_eq!(looked(&dry, MEASURED).await, found);
}

#[tokio::test]
async fn mirror_sessions_that_would_lose_reports_are_named() {
    let (server, d) = ready().await;
    server.remove("$mirror.cfg", &[3]);
    let session = |sid, enable, direction, port, length| {
        let entry = format!(
            "$normal($session_enable={enable}, $direction={direction}, $ucast_egress_port={port}, \
             $ucast_egress_port_valid={enable}, $max_pkt_len={length})"
        );
        server.put("$mirror.cfg", &[sid], &entry);
    };
    session(4, true, "EGRESS", 140, 88);
    session(5, false, "INGRESS", 141, 92);
    let found = looked(&d, MEASURED).await;
    let faults: Vec<(&str, &str)> = faults(&found)
        .iter()
        .map(|f| (f.check.as_str(), f.found.as_str()))
        .collect();
    assert_eq!(
        faults,
        [
            (
                "mirror session 3 (IPv4, TCP)",
                "is not there: such packets are not reported"
            ),
            ("mirror session 4 (IPv6, other)", "cuts at 88 bytes, not 84"),
            (
                "mirror session 5 (IPv6, UDP)",
                "is disabled; its direction is INGRESS, not EGRESS; has no port; goes to port 141, not 140"
            ),
        ]
    );
}

#[tokio::test]
async fn ports_that_are_down_slow_or_missing_are_named() {
    let (server, d) = ready().await;
    server.put_port(140, "BF_SPEED_10G", false);
    let found = looked(&d, &[(132, 100_000_000_000), (133, 0), (140, 0)]).await;
    let faults: Vec<(&str, Verdict, &str)> = faults(&found)
        .iter()
        .map(|f| (f.check.as_str(), f.verdict, f.found.as_str()))
        .collect();
    assert_eq!(
        faults,
        [
            (
                "port 132",
                Verdict::Problem,
                "has 25 Gbit/s, and the collector's configuration 100 Gbit/s"
            ),
            ("port 133", Verdict::Problem, "is not set up"),
            ("port 140", Verdict::Problem, "is down"),
            (
                "port 140",
                Verdict::Warning,
                "carries reports and is measured: reports add to the queue under test"
            ),
        ]
    );
}

/// For a link slower than its port, the rate alone has no effect.
#[tokio::test]
async fn a_rate_that_is_not_enabled_is_named() {
    let (server, d) = ready().await;
    let shaper = async || {
        let found = looked(&d, &[(132, 1_000_000_000)]).await;
        let mut all = found.findings.into_iter();
        let finding = all.find(|f| f.check == "shaper of port 132").unwrap();
        (finding.verdict, finding.found)
    };
    let warning = |text: &str| (Verdict::Warning, text.to_owned());
    assert_eq!(shaper().await, warning("is not reported by the switch"));
    server.put_rate("port", &[132], 100_000_000, false);
    let off = "max_rate_enable is off, of the port and of its queue 0";
    assert_eq!(shaper().await, warning(off));
    // Queue 0 of the port is queue 8 of group 2; the chip rounded the rate.
    server.put("tm.port.cfg", &[132], "(pg_id=2, egress_qid_queues=8|9)");
    server.put_rate("queue", &[2, 8], 999_500, false);
    let idle = "its queue 0 has 0.9995 Gbit/s, but max_rate_enable is off: it shapes nothing";
    assert_eq!(shaper().await, warning(idle));
    server.put_rate("queue", &[2, 8], 999_500, true);
    let well = (Verdict::Ok, "its queue 0 has 0.9995 Gbit/s".to_owned());
    assert_eq!(shaper().await, well);
    server.put_rate("queue", &[2, 8], 500_000, true);
    let other = "its queue 0 has 0.5 Gbit/s; the configured link has 1 Gbit/s";
    assert_eq!(shaper().await, warning(other));
    // The port's own rate suffices as well.
    server.put_rate("port", &[132], 1_000_000, true);
    assert_eq!(shaper().await.0, Verdict::Ok);
    // No shaper is needed for a link as fast as its port.
    let found = looked(&d, MEASURED).await;
    assert!(!found.findings.iter().any(|f| f.check.starts_with("shaper")));
}

#[tokio::test]
async fn limits_of_the_traffic_manager_are_read() {
    let server = Server::start().await;
    let queue = |pg_queue| Queue {
        pipe: 1,
        pg_id: 2,
        pg_queue,
        threshold: Threshold::Static,
    };
    // The first queue exists, with a floating limit; the second does not.
    let d = driver(&server, P4_NAME, [(132, queue(8)), (133, queue(9))].into());
    let found = d.inspect(&Expected::default()).await;
    let queues: Vec<&str> = found
        .findings
        .iter()
        .filter(|f| f.check.starts_with("queue"))
        .map(|f| f.found.as_str())
        .collect();
    let floats = "dynamic_baf 80% (alpha 4), of EG_APP_POOL_0 with 30000 cells";
    assert!(queues[0].contains(floats), "{queues:?}");
    assert!(queues[1].contains("is not there"), "{queues:?}");
    d.set_limit(132, Limit::DropTail { limit_bytes: 8_000 })
        .await
        .unwrap();
    let found = d.inspect(&Expected::default()).await;
    let of_queue = |f: &&Finding| f.check == "queue 8 of group 2 in pipe 1 (port 132)";
    let now = found.findings.iter().find(of_queue).unwrap();
    assert_eq!(now.verdict, Verdict::Ok, "{now:?}");
    assert!(now.found.ends_with("8000 bytes, static"), "{now:?}");
}

/// A program is loaded, but one of its tables is malformed.
#[tokio::test]
async fn tables_that_are_not_understood_are_the_finding() {
    let mut tables = bfrt_server::Tables::small();
    let mut all = tables.device["tables"].as_array_mut().unwrap().iter_mut();
    let group = all.find(|t| t["name"] == "$pre.mgid").unwrap();
    group["data"][0] = serde_json::json!({"id": 1, "title": "nodes"});
    let server = Server::of(tables).await;
    let d = driver(&server, P4_NAME, BTreeMap::new());
    let found = looked(&d, MEASURED).await;
    let (found, remedy) = (&found.findings[0].found, &found.findings[0].remedy);
    assert!(
        found.contains("bfruntime_info") && found.contains("$pre.mgid"),
        "{found}"
    );
    assert!(
        remedy
            .as_deref()
            .unwrap_or("")
            .contains("a program is loaded"),
        "{remedy:?}"
    );
    let problem = d.health().await.problem.unwrap();
    assert!(problem.contains("bfruntime_info"), "{problem}");
}

#[tokio::test]
async fn another_program_or_no_switch_is_one_finding() {
    let server = Server::start().await;
    let other = driver(&server, "other", BTreeMap::new());
    let found = looked(&other, MEASURED).await;
    assert_eq!(found.findings.len(), 1);
    assert_eq!(found.findings[0].verdict, Verdict::Problem);
    assert!(found.findings[0].found.contains("no program other"));
    server.stop();
    let found = looked(&other, MEASURED).await;
    assert_eq!(found.findings.len(), 1);
    assert_eq!(found.hardware_drops_pkts, BTreeMap::new());
}
