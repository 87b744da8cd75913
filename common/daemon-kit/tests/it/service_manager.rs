// SPDX-License-Identifier: Apache-2.0
//! Tests the messages that arrive at the service manager's socket. The program is this test
//! binary, started again with the environment that a service manager sets.
#![allow(clippy::unwrap_used)]

use std::process::Command;
use std::time::Duration;
use test_support::service::ServiceManager;

/// Sends the messages of a program's life; run by the other tests.
#[test]
#[ignore = "started by the other tests with a service manager's environment"]
fn program() {
    daemon_kit::notify::ready("4 ports");
    let period = daemon_kit::notify::watchdog_period();
    println!("period {period:?}");
    daemon_kit::notify::alive();
    daemon_kit::notify::stopping();
}

fn itself() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "service_manager::program",
            "--ignored",
            "--nocapture",
        ])
        .env_remove("NOTIFY_SOCKET")
        .env_remove("WATCHDOG_USEC")
        .env_remove("WATCHDOG_PID");
    command
}

fn said(mut command: Command) -> String {
    let out = command.output().unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn states_arrive_in_order_and_the_watchdog_is_told_twice_as_often_as_asked() {
    let manager = ServiceManager::new().unwrap();
    let mut command = itself();
    manager.environment(&mut command, Duration::from_secs(20));
    let said = said(command);
    assert!(said.contains("period Some(10s)"), "{said}");
    assert_eq!(manager.next().unwrap(), ["READY=1", "STATUS=4 ports"]);
    assert_eq!(manager.next().unwrap(), ["WATCHDOG=1"]);
    assert_eq!(manager.next().unwrap(), ["STOPPING=1"]);
}

#[test]
fn without_a_service_manager_nothing_happens() {
    let said = said(itself());
    assert!(said.contains("period None"), "{said}");
}

#[test]
fn one_that_is_gone_does_not_end_the_program() {
    let mut command = itself();
    command.env("NOTIFY_SOCKET", "/nonexistent/notify");
    said(command);
}
