// SPDX-License-Identifier: Apache-2.0
//! The program under a service manager, and its version.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};
use std::time::Duration;
use tidemark_service::testing::ServiceManager;

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tidemark-controller"))
}

#[test]
fn it_says_that_it_serves_works_on_and_stops() {
    let manager = ServiceManager::new().unwrap();
    let mut command = program();
    command
        .args([
            "run",
            "--listen",
            "127.0.0.1:0",
            "--collector",
            "127.0.0.1:1",
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    manager.environment(&mut command, Duration::from_secs(2));
    let mut child = command.spawn().unwrap();
    let ready = manager.wait_for("READY=1").unwrap();
    assert!(ready.iter().any(|l| l.starts_with("STATUS=")), "{ready:?}");
    for _ in 0..3 {
        manager.wait_for("WATCHDOG=1").unwrap();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    manager.wait_for("STOPPING=1").unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_version_has_the_commit() {
    let out = program().arg("--version").output().unwrap();
    let said = String::from_utf8(out.stdout).unwrap();
    let start = format!("tidemark-controller {} (", env!("CARGO_PKG_VERSION"));
    let commit = said
        .trim()
        .strip_prefix(&start)
        .unwrap()
        .strip_suffix(')')
        .unwrap();
    let is_commit = commit.len() >= 7 && commit.bytes().all(|b| b.is_ascii_hexdigit());
    assert!(is_commit || commit == "unknown commit", "{said}");
}
