// SPDX-License-Identifier: Apache-2.0
//! The program under a service manager, and its version.
#![allow(clippy::unwrap_used)]

use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tidemark_service::testing::ServiceManager;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tidemark-collector"))
}

/// The program as the manager's service, once it serves; `ignoring` a signal from the start.
fn start(manager: &ServiceManager, ignoring: Option<&str>) -> Child {
    let mut command = Command::new("env");
    // Whoever runs the tests may ignore it.
    command.arg("--default-signal=HUP");
    if let Some(signal) = ignoring {
        command.arg(format!("--ignore-signal={signal}"));
    }
    command
        .arg(env!("CARGO_BIN_EXE_tidemark-collector"))
        .args(["run", "--tcp-probe", "false"])
        .args(["--listen", "127.0.0.1:0"])
        .args(["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    manager.environment(&mut command, Duration::from_secs(2));
    let child = command.spawn().unwrap();
    let ready = manager.wait_for("READY=1").unwrap();
    assert!(ready.iter().any(|l| l.starts_with("STATUS=")), "{ready:?}");
    child
}

fn send(signal: &str, child: &Child) {
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &pid]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn it_says_that_it_serves_works_on_and_stops() {
    // A closed terminal is told by HUP.
    for signal in ["TERM", "INT", "HUP"] {
        let manager = ServiceManager::new().unwrap();
        let mut child = start(&manager, None);
        for _ in 0..3 {
            manager.wait_for("WATCHDOG=1").unwrap();
        }
        send(signal, &child);
        manager.wait_for("STOPPING=1").unwrap();
        assert!(child.wait().unwrap().success(), "{signal}");
    }
}

/// As `nohup` starts it.
#[test]
fn it_outlives_its_terminal_where_that_was_wished() {
    let manager = ServiceManager::new().unwrap();
    let mut child = start(&manager, Some("HUP"));
    send("HUP", &child);
    for _ in 0..3 {
        manager.wait_for("WATCHDOG=1").unwrap();
    }
    assert!(child.try_wait().unwrap().is_none());
    send("TERM", &child);
    manager.wait_for("STOPPING=1").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_version_has_the_commit() {
    let out = program().arg("--version").output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let start = format!("tidemark-collector {} (", env!("CARGO_PKG_VERSION"));
    let commit = said
        .trim()
        .strip_prefix(&start)
        .unwrap()
        .strip_suffix(')')
        .unwrap();
    let is_commit = commit.len() >= 7 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(is_commit || commit == "unknown commit", "{said}");
}
