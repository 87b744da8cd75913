// SPDX-License-Identifier: Apache-2.0
//! The program's log.
#![allow(clippy::unwrap_used)]

use test_support::terminal::log_colours;

const PROGRAM: &str = env!("CARGO_BIN_EXE_tidemark-traffic");

#[test]
fn it_has_colours_in_a_terminal_without_no_color() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (spec, truth) = (path("spec.json"), path("truth.json"));
    // Nobody listens there: the run ends with an error in the log.
    let text = r#"{"version": 1, "seed": 5, "flows": [{"name": "alone", "kind": "lbp",
        "destination": "127.0.0.1:1", "congestion_control": "cubic", "base_rtt_ms": 0.1}]}"#;
    std::fs::write(&spec, text).unwrap();
    let arguments = ["send", "--spec", &spec, "--truth", &truth];
    log_colours(PROGRAM, &arguments, ["RUST_LOG", "info"], "the run ends").unwrap();
}
