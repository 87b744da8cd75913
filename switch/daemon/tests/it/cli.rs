// SPDX-License-Identifier: Apache-2.0
//! Tests the binary from outside.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

const BIN: &str = env!("CARGO_BIN_EXE_tidemark-switch");
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../p4src/build/tidemark.json"
);

fn run(args: &[&str]) -> Output {
    Command::new(BIN).args(args).output().unwrap()
}

/// Asserts that the command fails with one line that contains `text`.
fn refuses(args: &[&str], text: &str) {
    let o = run(args);
    assert!(!o.status.success(), "{args:?}");
    let e = String::from_utf8(o.stderr).unwrap();
    assert!(e.contains(text), "{e}");
    assert_eq!(e.trim_end().lines().count(), 1, "{e}");
}

#[test]
fn errors_are_one_line_with_the_remedy() {
    refuses(
        &[
            "run",
            "--grpc",
            "127.0.0.1:0",
            "--program",
            "/nonexistent.json",
        ],
        "/nonexistent.json: cannot read",
    );
    refuses(&["check", "/dev/null"], "program is not JSON");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    std::fs::write(&path, "{}").unwrap();
    refuses(
        &["check", path.to_str().unwrap()],
        "compile with p4c-bm2-ss",
    );
    refuses(
        &[
            "run",
            "--grpc",
            "127.0.0.1:0",
            "--port",
            "1=eth0@tidemark-no-such-ns",
        ],
        "create it first",
    );
    refuses(
        &["run", "--grpc", "127.0.0.1:0", "--aqm", "7=codel"],
        "--port 7=IFACE",
    );
    refuses(
        &["port", "list", "--grpc", "127.0.0.1:1"],
        "no switch answers",
    );
}

#[test]
fn address_in_use_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refuses(&["run", "--grpc", &address], "choose another with --grpc");
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serves_until_sigterm() {
    let mut child = Running(
        Command::new(BIN)
            .args(["run", "--program", PROGRAM, "--grpc", "127.0.0.1:0"])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    BufReader::new(child.0.stderr.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.starts_with("ready: "), "{line}");
    let address = line
        .split_whitespace()
        .find(|w| w.starts_with("127.0.0.1:"))
        .unwrap()
        .trim_end_matches(',')
        .to_owned();
    let o = run(&["port", "list", "--json", "--grpc", &address]);
    assert!(o.status.success());
    assert_eq!(String::from_utf8(o.stdout).unwrap().trim(), "[]");
    refuses(
        &["port", "set", "7", "rate=1mbit", "--grpc", &address],
        "no port 7",
    );
    // SAFETY: a signal to a child that has not been waited for.
    unsafe { libc::kill(child.0.id() as i32, libc::SIGTERM) };
    assert!(child.0.wait().unwrap().success());
}

#[test]
fn checks_a_program() {
    let o = run(&["check", PROGRAM]);
    assert!(o.status.success());
    assert!(String::from_utf8(o.stdout).unwrap().contains("tables"));
}
