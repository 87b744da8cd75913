// SPDX-License-Identifier: Apache-2.0
//! Tests an end that takes too long. The program is this test binary, started again.
#![allow(clippy::unwrap_used)]

use daemon_kit::notify::Deadline;
use std::process::Command;
use std::time::Duration;

/// Waits forever, with a deadline; run by the other test.
#[test]
#[ignore = "never ends by itself: the test below starts it as a program of its own"]
fn program() {
    let _deadline = Deadline::start(Duration::from_millis(10), "nothing").unwrap();
    loop {
        std::thread::park();
    }
}

#[test]
fn a_program_that_hangs_is_ended_and_one_that_ends_is_not() {
    let out = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "deadline::program", "--ignored"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(1));
    let past = Duration::from_millis(10);
    drop(Deadline::start(past, "nothing").unwrap());
    std::thread::sleep(10 * past);
}
