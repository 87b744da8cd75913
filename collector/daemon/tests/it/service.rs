// SPDX-License-Identifier: Apache-2.0
//! The program under a service manager, its version, and its log.
#![allow(clippy::unwrap_used)]

use test_support::service::{Service, commit_of};
use test_support::terminal::log_colours;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tidemark-collector");
const ARGUMENTS: &[&str] = &[
    "run",
    "--tcp-probe",
    "false",
    "--listen",
    "127.0.0.1:0",
    "--grpc",
    "127.0.0.1:0",
    "--http",
    "127.0.0.1:0",
];

#[test]
fn it_says_that_it_serves_works_on_and_stops() {
    // HUP tells that the terminal was closed.
    for signal in ["TERM", "INT", "HUP"] {
        let mut service = Service::start(PROGRAM, ARGUMENTS).unwrap();
        service.works_on().unwrap();
        service.send(signal).unwrap();
        assert!(service.stops().unwrap().success(), "{signal}");
    }
}

/// Started as by `nohup`.
#[test]
fn it_outlives_its_terminal_where_that_was_wished() {
    let mut service = Service::start_with(PROGRAM, ARGUMENTS, &["--ignore-signal=HUP"]).unwrap();
    service.send("HUP").unwrap();
    service.works_on().unwrap();
    service.send("TERM").unwrap();
    assert!(service.stops().unwrap().success());
}

#[test]
fn the_version_has_the_commit() {
    commit_of(PROGRAM, "tidemark-collector", env!("CARGO_PKG_VERSION")).unwrap();
}

#[test]
fn its_log_has_colours_in_a_terminal_without_no_color() {
    log_colours(PROGRAM, ARGUMENTS, ["TIDEMARK_LOG", "info"], "goes on").unwrap();
}
