// SPDX-License-Identifier: Apache-2.0
//! The program under a service manager, its version, and its log.
#![allow(clippy::unwrap_used)]

use std::io::Read as _;
use std::net::TcpListener;
use test_support::service::{Service, commit_of};
use test_support::terminal::log_colours;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tidemark-controller");
const ARGUMENTS: &[&str] = &[
    "run",
    "--listen",
    "127.0.0.1:0",
    "--collector",
    "127.0.0.1:1",
];

#[test]
fn it_says_that_it_serves_works_on_and_stops() {
    let mut service = Service::start(PROGRAM, ARGUMENTS).unwrap();
    service.works_on().unwrap();
    service.send("TERM").unwrap();
    assert!(service.stops().unwrap().success());
}

#[test]
fn a_database_that_never_answers_holds_up_no_end() {
    let database = TcpListener::bind("127.0.0.1:0").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("audit.jsonl");
    std::fs::write(&log, "{}\n").unwrap();
    let config = directory.path().join("controller.toml");
    let text = format!(
        "[control]\naudit_log = {log:?}\n[clickhouse]\nurl = \"http://{}\"\n\
         timeout_s = 3600\ncreate_schema = true\n",
        database.local_addr().unwrap()
    );
    std::fs::write(&config, text).unwrap();
    let config = config.to_str().unwrap();
    let arguments = [ARGUMENTS, &["--config", config]].concat();
    let mut service = Service::start(PROGRAM, &arguments).unwrap();
    // It has asked, and waits for an hour.
    let (mut asked, _) = database.accept().unwrap();
    assert!(asked.read(&mut [0]).unwrap() > 0);
    service.send("TERM").unwrap();
    assert!(service.stops().unwrap().success());
}

#[test]
fn the_version_has_the_commit() {
    commit_of(PROGRAM, "tidemark-controller", env!("CARGO_PKG_VERSION")).unwrap();
}

#[test]
fn its_log_has_colours_in_a_terminal_without_no_color() {
    log_colours(PROGRAM, ARGUMENTS, ["TIDEMARK_LOG", "info"], "goes on").unwrap();
}
