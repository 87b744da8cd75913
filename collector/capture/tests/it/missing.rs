// SPDX-License-Identifier: Apache-2.0
//! Tests that time with missing rows is unknown, not idle.

use std::path::Path;
use tidemark_capture::{CaptureMeta, CaptureWriter, FORMAT, Replay, WriterOptions};
use tidemark_pipeline::{Config, NodeConfig, PortConfig, PostcardRow};

const MS: u64 = 1_000_000;

/// Writes a packet each millisecond for three seconds, except in the second one, whose packets
/// were never sent or are `missing`.
fn capture(dir: &Path, missing: bool) {
    let port = PortConfig {
        name: String::new(),
        capacity_bps: 1_000_000_000,
        wire_overhead_bytes: 38,
        queue_overhead_bytes: 14,
    };
    let node = NodeConfig {
        ports: [(2, port)].into(),
        ..NodeConfig::default()
    };
    let meta = CaptureMeta {
        format: FORMAT,
        config: Config {
            nodes: [(1, node)].into(),
            ..Config::default()
        },
        ..CaptureMeta::default()
    };
    let options = WriterOptions {
        wait_when_full: true,
        ..WriterOptions::default()
    };
    let mut writer = CaptureWriter::create(dir, meta, options).unwrap();
    for ms in (0..1000).chain(2000..3000) {
        writer.postcard(&PostcardRow {
            order: if missing || ms < 1000 { ms } else { ms - 1000 },
            node_id: 1,
            port: 2,
            ingress_ns: 10_000 * MS + ms * MS,
            egress_ns: 10_000 * MS + ms * MS + 5,
            ..PostcardRow::default()
        });
    }
    writer.finish(1).unwrap();
}

/// Returns the missing rows, the intervals without an arrival, and all intervals.
fn replayed(missing: bool) -> (Option<u64>, usize, usize) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("capture");
    capture(&path, missing);
    let mut replay = Replay::open(&path).unwrap();
    let (mut idle, mut all) = (0, 0);
    for update in &mut replay {
        for interval in update.unwrap().link_intervals {
            all += 1;
            idle += usize::from(interval.arrivals == 0);
        }
    }
    (replay.rows_missing(), idle, all)
}

#[test]
fn no_interval_is_told_of_the_time_of_missing_rows() {
    let (rows, idle, all) = replayed(true);
    assert_eq!((rows, idle), (Some(1000), 0));
    let (rows, idle, with_idle) = replayed(false);
    assert_eq!((rows, idle), (Some(0), 100));
    assert_eq!(with_idle, all + idle);
}
