// SPDX-License-Identifier: Apache-2.0
//! How the program fails.
#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn a_wrong_call_and_a_failure_look_alike_and_have_their_own_status() {
    for (arguments, status, words) in [
        (&["send"][..], 2, "--spec"),
        (&["serve", "--listen", "nowhere"], 2, "ADDRESS:PORT"),
        (
            &[
                "serve",
                "--listen",
                "127.0.0.1:0,rcvbuf=1",
                "--listen",
                "127.0.0.1:0",
            ],
            2,
            "listeners",
        ),
        (
            &["validate", "--spec", "/nowhere/spec.json"],
            1,
            "/nowhere/spec.json",
        ),
    ] {
        let out = Command::new(env!("CARGO_BIN_EXE_tidemark-traffic"))
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(status), "{said}");
        assert!(
            said.starts_with("error: ") && said.contains(words),
            "{said}"
        );
    }
}
