// SPDX-License-Identifier: Apache-2.0
//! Tests of the commands' output: errors, rows and progress.
#![allow(clippy::unwrap_used)]

use crate::common::Collector;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tidemark-collector");
const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../capture/tests/fixtures/capture-63e1e1a"
);

const REPORTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/fixtures/import/reports.pcap.gz"
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
    test_support::terminal::progress(PROGRAM, &arguments).unwrap();
}

/// Returns the examples of the help that pipe into jq: words of the command, and the field.
fn examples_with_jq() -> Vec<(Vec<String>, String)> {
    let program = tidemark_collector::cli::command();
    let helps = program.get_subcommands().filter_map(|c| c.get_after_help());
    let helps: Vec<String> = helps.map(ToString::to_string).collect();
    let lines = helps.iter().flat_map(|h| h.lines());
    let piped = lines.filter_map(|l| l.split_once(" | jq "));
    let words = |line: &str| line.split_whitespace().skip(1).map(str::to_owned).collect();
    piped
        .map(|(line, field)| (words(line), field.trim().to_owned()))
        .collect()
}

#[test]
fn every_field_that_an_example_takes_is_in_the_output() {
    let examples = examples_with_jq();
    assert!(examples.len() >= 2, "{examples:?}");
    let dir = tempfile::tempdir().unwrap();
    let _collector = Collector::start(dir.path());
    let config = dir.path().join("collector.toml");
    for (mut words, field) in examples {
        for word in &mut words {
            if word.ends_with(".pcap.gz") {
                REPORTS.clone_into(word);
            }
        }
        if words[0] == "status" {
            words.extend(["--config".to_owned(), config.display().to_string()]);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let out = run(&words);
        assert!(out.status.success(), "{words:?}: {}", text(&out.stderr));
        let pointer = field.replace('.', "/");
        let values = serde_json::Deserializer::from_slice(&out.stdout).into_iter();
        let mut seen = 0;
        for value in values {
            let value: serde_json::Value = value.unwrap();
            let found = value.pointer(&pointer);
            assert!(
                found.is_some_and(|v| !v.is_null()),
                "{words:?} | jq {field}: {value}"
            );
            seen += 1;
        }
        assert!(seen > 0, "{words:?}");
    }
}

/// Makes the directory of a run, with a capture in it.
fn run_dir(at: &Path) {
    let capture = at.join("capture");
    std::fs::create_dir_all(&capture).unwrap();
    for entry in std::fs::read_dir(CAPTURE).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, capture.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_run_is_named_by_its_directory_or_its_capture() {
    let dir = tempfile::tempdir().unwrap();
    let run_path = dir.path().join("now");
    run_dir(&run_path);
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    let said = |path: &Path| {
        let path = path.to_str().unwrap();
        let export = run(&["export", path, "--csv"]);
        let replay = run(&[
            "replay",
            "--capture",
            path,
            "--to",
            &to,
            "--speed",
            "0",
            "--json",
        ]);
        for out in [&export, &replay] {
            assert!(out.status.success(), "{}", text(&out.stderr));
        }
        let replay: serde_json::Value = serde_json::from_slice(&replay.stdout).unwrap();
        (text(&export.stdout), replay["datagrams"].as_u64().unwrap())
    };
    let of_run = said(&run_path);
    assert!(of_run.0.lines().count() > 100 && of_run.1 > 100);
    assert_eq!(of_run, said(&run_path.join("capture")));
    // A directory above names the run, before anything is made.
    let above = dir.path().to_str().unwrap();
    let out_file = dir.path().join("out.csv");
    for arguments in [
        &[
            "export",
            above,
            "--csv",
            "--out",
            out_file.to_str().unwrap(),
        ][..],
        &["replay", "--capture", above],
        &["load", above],
    ] {
        let out = run(arguments);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{said}");
        assert!(said.contains("is no capture and no run"), "{said}");
        assert!(said.contains(&format!("name a run: {above}/now")), "{said}");
    }
    assert!(!out_file.exists());
}

#[test]
fn a_pcap_is_read_from_standard_input_as_from_a_file() {
    let piped = |arguments: &[&str]| {
        let file = std::fs::File::open(REPORTS).unwrap();
        let child = Command::new(PROGRAM)
            .args(arguments)
            .stdin(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        child.unwrap().wait_with_output().unwrap()
    };
    let file = run(&["print", "--pcap", REPORTS]);
    let stdin = piped(&["print", "--pcap", "-"]);
    assert!(stdin.status.success(), "{}", text(&stdin.stderr));
    assert_eq!(text(&stdin.stdout), text(&file.stdout));
    assert_eq!(text(&stdin.stdout).lines().count(), 2520);
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("capture");
    let out = out.to_str().unwrap();
    let imported = piped(&["import", "--pcap", "-", "--out", out]);
    assert!(imported.status.success(), "{}", text(&imported.stderr));
    assert!(text(&imported.stdout).contains("2520 received"));
    let twice = piped(&["import", "--pcap", "-", "--tcp-probe", "x", "--out", out]);
    assert_eq!(twice.status.code(), Some(2), "{}", text(&twice.stderr));
}

#[test]
fn a_file_that_is_no_pcap_is_said_to_be_none() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.txt");
    let capture = dir.path().join("capture");
    for content in [
        "",
        "short",
        "a text that is longer than the header of a pcap",
    ] {
        std::fs::write(&file, content).unwrap();
        let (path, out) = (file.to_str().unwrap(), capture.to_str().unwrap());
        for arguments in [
            &["import", "--pcap", path, "--out", out][..],
            &["print", "--pcap", path],
        ] {
            let said = run(arguments);
            assert_eq!(said.status.code(), Some(1));
            let said = text(&said.stderr);
            assert!(said.contains("a.txt: is not a pcap"), "{content:?}: {said}");
        }
        assert!(!capture.exists());
    }
}
