// SPDX-License-Identifier: Apache-2.0
//! Tests that a killed writer loses only its open files.

use super::postcard;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tidemark_capture::{CaptureMeta, CaptureWriter, FORMAT, Replay, Rows, WriterOptions};
use tidemark_pipeline::{PostcardRow, ProbeRow};

const DIR: &str = "TIDEMARK_TEST_CRASH_DIR";

/// Writes until it is killed; runs as a separate process.
#[test]
#[ignore = "started by closed_files_survive_a_kill"]
fn writer_process() {
    let Ok(dir) = std::env::var(DIR) else { return };
    let meta = CaptureMeta {
        format: FORMAT,
        ..CaptureMeta::default()
    };
    let mut w = CaptureWriter::create(
        Path::new(&dir),
        meta,
        WriterOptions {
            rotate_rows: 20_000,
            rotate_after: Duration::from_millis(30),
            wait_when_full: true,
            ..WriterOptions::default()
        },
    )
    .unwrap();
    for order in 0.. {
        w.postcard(&postcard(order * 2));
        w.probe(&ProbeRow {
            order: order * 2 + 1,
            ..ProbeRow::default()
        });
        if order % 1000 == 0 {
            w.flush();
            w.write_meta();
        }
    }
}

#[test]
fn closed_files_survive_a_kill() {
    let mut with_rows = 0;
    for i in 0..8u64 {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("capture");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "crash::kill::writer_process"])
            .env(DIR, &dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(120 + i * 37));
        child.kill().unwrap();
        child.wait().unwrap();
        if !dir.join("capture.json").exists() {
            continue; // Killed before it began.
        }
        let mut rows = Rows::<PostcardRow>::open(&dir).unwrap();
        let mut n = 0;
        while rows.peek().unwrap().is_some() {
            assert_eq!(rows.take().unwrap(), postcard(n * 2));
            n += 1;
        }
        with_rows += u64::from(n > 0);
        let updates: Result<Vec<_>, _> = Replay::open(&dir).unwrap().collect();
        let updates = updates.unwrap();
        let received = updates
            .last()
            .unwrap()
            .status
            .clone()
            .unwrap()
            .reports_received;
        assert_eq!(received, n);
    }
    assert!(with_rows > 0, "no run got as far as a closed file");
}
