// SPDX-License-Identifier: Apache-2.0
//! Findings of `doctor` at a P4Runtime switch: our server with the committed program.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

#[allow(dead_code)] // each test file uses a part of it
use crate::common;

use common::{Running, artifact, serve};
use daemon_kit::doctor::{Finding, Verdict};
use std::time::Duration;
use tidemark_southbound::p4rt::P4Runtime;
use tidemark_southbound::{
    Expected, Provision, PushMode, ReportDestination, Southbound, SwitchAddress, SwitchReader,
    Watch,
};

fn driver(running: &Running) -> P4Runtime {
    P4Runtime::new(SwitchAddress {
        address: running.address.to_string(),
        election_id: 1,
        timeout: Duration::from_secs(20),
        ..SwitchAddress::default()
    })
    .unwrap()
}

fn plan() -> Provision {
    Provision {
        p4info: Some(artifact("tidemark.p4info.txtpb")),
        program: Some(artifact("tidemark.json")),
        watch: vec![Watch {
            dst: Some("10.0.0.0/8".into()),
            egress_port: Some(5),
            report: true,
            ..Watch::default()
        }],
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
        ..Provision::default()
    }
}

async fn found(driver: &P4Runtime, plan: Option<&Provision>) -> Vec<Finding> {
    let expected = Expected {
        plan,
        ..Expected::default()
    };
    driver.inspect(&expected).await.findings
}

/// Returns the verdicts on session, destination and watch entries.
fn verdicts(found: &[Finding]) -> [Verdict; 3] {
    let all: Vec<_> = found.iter().map(|f| f.verdict).collect();
    all.try_into().unwrap()
}

const OK: Verdict = Verdict::Ok;
const PROBLEM: Verdict = Verdict::Problem;

#[tokio::test]
async fn what_was_provisioned_is_well() {
    let running = serve("127.0.0.1:0".parse().unwrap()).await;
    let d = driver(&running);
    assert!(
        found(&d, Some(&plan())).await.is_empty(),
        "no program: said elsewhere"
    );
    d.provision(&plan(), &|_, _| true).await.unwrap();
    for expected in [Some(&plan()), None] {
        let found = found(&d, expected).await;
        assert_eq!(verdicts(&found), [OK; 3], "{found:?}");
        assert_eq!(found[0].found, "goes to port 6");
        assert_eq!(found[1].found, "10.0.6.2:32766, as node 10");
        assert_eq!(found[2].found, "1 are there");
    }
}

#[tokio::test]
async fn a_program_alone_reports_nothing_and_says_why() {
    let running = serve("127.0.0.1:0".parse().unwrap()).await;
    let d = driver(&running);
    let bare = Provision {
        watch: Vec::new(),
        reports: None,
        ..plan()
    };
    d.provision(&bare, &|_, _| true).await.unwrap();
    let found = found(&d, None).await;
    assert_eq!(verdicts(&found), [PROBLEM; 3], "{found:?}");
    assert!(found[0].found.contains("is not there"), "{found:?}");
    assert!(found[1].found.contains("none is set"), "{found:?}");
    assert!(
        found[2].found.contains("no traffic is reported"),
        "{found:?}"
    );
    assert!(found.iter().all(|f| f.remedy.is_some()));
}

#[tokio::test]
async fn what_differs_from_the_plan_is_named() {
    let running = serve("127.0.0.1:0".parse().unwrap()).await;
    let d = driver(&running);
    d.provision(&plan(), &|_, _| true).await.unwrap();
    let mut other = plan();
    other.push = PushMode::Never;
    let reports = other.reports.as_mut().unwrap();
    reports.port = 7;
    reports.dst_ip = "10.0.6.3".parse().unwrap();
    reports.dst_mac = "02:00:00:00:00:0a".into();
    other.watch[0].sampling_shift = 3;
    let found = found(&d, Some(&other)).await;
    assert_eq!(verdicts(&found), [PROBLEM; 3], "{found:?}");
    assert_eq!(found[0].found, "goes to port 6, not to port 7");
    assert_eq!(
        found[1].found,
        "10.0.6.2:32766, as node 10; dst_mac is 02:00:00:00:00:ff, not 02:00:00:00:00:0a; \
         dst_ip is 10.0.6.2, not 10.0.6.3"
    );
    assert!(found[2].found.contains("watch[watch[0]]"), "{found:?}");
}
