// SPDX-License-Identifier: Apache-2.0
//! What commands say: errors, rows, and how far they are.
#![allow(clippy::unwrap_used)]

use std::net::UdpSocket;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tidemark-collector");
const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../capture/tests/fixtures/capture-63e1e1a"
);

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_wrong_call_and_a_failure_look_alike_and_have_their_own_status() {
    for (arguments, status, words) in [
        (&["export", CAPTURE][..], 2, "--csv"),
        (
            &["export", CAPTURE, "--csv", "--from-s=-1"],
            2,
            "--from-s: ",
        ),
        (
            &["replay", "--capture", CAPTURE, "--speed=-1"],
            2,
            "--speed: ",
        ),
        (&["export", "/nowhere", "--csv"], 1, "/nowhere"),
    ] {
        let out = run(arguments);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(status), "{said}");
        assert!(
            said.starts_with("error: ") && said.contains(words),
            "{said}"
        );
    }
}

#[test]
fn a_cause_is_told_once() {
    // Nobody listens there.
    let dir = tempfile::tempdir().unwrap();
    let spool = dir.path().to_str().unwrap();
    let server = ["--clickhouse", "http://127.0.0.1:1", "--spool-dir", spool];
    let out = run(&[&["load", CAPTURE][..], &server].concat());
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("no server answers").count(), 1, "{said}");
    assert_eq!(said.matches("refused").count(), 1, "{said}");
}

#[test]
fn a_span_and_a_flow_choose_rows() {
    let rows = |more: &[&str]| -> Vec<serde_json::Value> {
        let out = run(&[&["export", CAPTURE, "--jsonl"], more].concat());
        assert!(out.status.success(), "{}", text(&out.stderr));
        let lines = text(&out.stdout);
        lines
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect()
    };
    for (table, time) in [("postcards", "ingress_ns"), ("tcp_probe", "time_ns")] {
        let table = ["--table", table];
        let all = rows(&table);
        let time_ns = |r: &serde_json::Value| r[time].as_u64().unwrap();
        let flow = all[all.len() / 2]["flow_id"].as_u64().unwrap();
        let mut times: Vec<u64> = all.iter().map(time_ns).collect();
        times.sort_unstable();
        let (from, to) = (times[times.len() / 4], times[times.len() / 2]);
        let (id, from_ns, to_ns) = (flow.to_string(), from.to_string(), to.to_string());
        let chosen = ["--flow", &id, "--from-ns", &from_ns, "--to-ns", &to_ns];
        let expected = all
            .iter()
            .filter(|r| r["flow_id"].as_u64() == Some(flow) && (from..to).contains(&time_ns(r)));
        let expected: Vec<_> = expected.cloned().collect();
        assert!(!expected.is_empty() && expected.len() < all.len());
        assert_eq!(rows(&[&table[..], &chosen].concat()), expected);
    }
}

#[test]
fn how_far_a_replay_is_stands_in_a_terminal() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    let arguments = ["replay", "--capture", CAPTURE, "--to", &to, "--speed", "10"];
    daemon_kit::cli::testing::progress(PROGRAM, &arguments).unwrap();
}
