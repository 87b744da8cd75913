// SPDX-License-Identifier: Apache-2.0
//! `tidemark-switch conformance`: the repository's own tests, and recordings of BMv2.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/conformance")
}

/// Returns the command's output, and whether it succeeded.
fn conformance(folder: &Path) -> (String, bool) {
    let o = Command::new(env!("CARGO_BIN_EXE_tidemark-switch"))
        .arg("conformance")
        .arg(folder)
        .env("TIDEMARK_LOG", "error")
        .output()
        .unwrap();
    let text = [o.stdout, o.stderr].concat();
    (String::from_utf8(text).unwrap(), o.status.success())
}

#[test]
fn own_programs() {
    let (text, good) = conformance(&own());
    assert!(good, "{text}");
    assert_eq!(
        text,
        "programs BMv2 accepts: 1 of 1 load\npacket tests: 5 of 5 pass\n"
    );
}

fn copy(from: &str, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(own().join(from), to).unwrap();
}

#[test]
fn differences_are_named_and_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    copy("stf/drop.json", &at("stf/drop.json"));
    std::fs::write(at("stf/drop.stf"), "packet 0 0103\nexpect 3 0103 $\n").unwrap();
    std::fs::create_dir(at("must-load")).unwrap();
    std::fs::write(at("must-load/bad.json"), "{}").unwrap();
    copy("must-load/translated.json", &at("programs/t.json"));
    copy(
        "must-load/translated.p4info.txtpb",
        &at("programs/t.p4info.txtpb"),
    );
    std::fs::create_dir(at("frames")).unwrap();
    let frame = "0a0b0c0d0e0f000000010000000000000000";
    // A frame that BMv2 did not send, one that it did, and one that leaves unchanged.
    let recording = format!(
        r#"{{"program": "t", "writes": [], "frames": [
            {{"port": 3, "in": ["{frame}"], "out": {{"2": ["{frame}"]}}}},
            {{"port": 3, "in": ["{frame}"], "out": {{"0": ["{frame}"]}}}}
        ]}}"#
    );
    std::fs::write(at("frames/t.golden.json"), recording).unwrap();
    let (text, good) = conformance(folder.path());
    assert!(!good);
    let lines: Vec<&str> = text.lines().collect();
    let difference = format!(
        "difference: frames: t, frame 0 (port 3): port 0: BMv2 sent nothing, this switch {frame}"
    );
    assert_eq!(lines[0], difference, "{text}");
    assert!(
        lines[1].starts_with("difference: programs BMv2 accepts: bad: "),
        "{text}"
    );
    assert!(
        lines[2].contains("drop: port 3: 1 packets expected"),
        "{text}"
    );
    assert_eq!(lines[3], "recorded programs: 1 of 1 load", "{text}");
    assert_eq!(lines[4], "frames: 1 of 2 leave as BMv2 sent them", "{text}");
    assert_eq!(lines[5], "programs BMv2 accepts: 0 of 1 load", "{text}");
    assert_eq!(lines[6], "packet tests: 0 of 1 pass", "{text}");
    assert_eq!(lines[7], "error: 3 differences from BMv2", "{text}");
}

#[test]
fn nothing_to_replay_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (text, good) = conformance(folder.path());
    assert!(!good && text.contains("nothing to replay"), "{text}");
}

test_support::shared_data_test! {
    /// Replays all recordings of BMv2.
    fn recorded_truth_of_bmv2() {
        let archive = test_support::golden::shared("bmv2").unwrap().join("golden.tar.xz");
        let folder = tempfile::tempdir().unwrap();
        let unpacked = Command::new("tar")
            .arg("-xf")
            .arg(&archive)
            .arg("-C")
            .arg(folder.path())
            .status()
            .expect("tar with xz is needed");
        assert!(unpacked.success(), "{}", archive.display());
        let (text, good) = conformance(folder.path());
        assert!(good, "{text}");
        for counted in ["frames: 3984 of 3984", "load\npacket tests: 135 of 135 pass"] {
            assert!(text.contains(counted), "{text}");
        }
    }
}
