// SPDX-License-Identifier: Apache-2.0
//! `analyze` on a capture gives the results that a phase of the live run gave.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use crate::common;

use common::Lab;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use tidemark_capture::{CaptureMeta, CaptureWriter, FORMAT, WriterOptions};
use tidemark_pipeline::{
    AggregateConfig, Aggregator, Config, Event, EventRow, NodeConfig, PortConfig, PostcardRow,
    proto_nodes,
};

fn config() -> Config {
    let port = PortConfig {
        name: "bottleneck".into(),
        capacity_bps: common::CAPACITY_BPS,
        wire_overhead_bytes: 38,
        queue_overhead_bytes: 14,
    };
    let node = NodeConfig {
        ports: [(common::PORT, port)].into(),
        ..NodeConfig::default()
    };
    Config {
        nodes: [(common::NODE, node)].into(),
        ..Config::default()
    }
}

/// A packet every 125 us, every 1000th dropped, over a queue that swings.
fn packet(n: u64) -> PostcardRow {
    let occupancy_bytes = 1514 * (n % 100);
    let dropped = n % 1000 == 999;
    let ingress_ns = 1_000_000_000 + n * 125_000;
    PostcardRow {
        node_id: common::NODE,
        port: common::PORT,
        sequence: n as u32,
        flow_id: 1 + n % 3,
        ingress_ns,
        egress_ns: if dropped {
            0
        } else {
            ingress_ns + occupancy_bytes * 80
        },
        occupancy_bytes,
        limit_bytes: 151_400,
        ip_bytes: 1500,
        wire_overhead_bytes: 38,
        payload_bytes: 1448,
        tcp_seq: (n / 3) as u32 * 1448,
        dropped,
        drop_reason: if dropped { 71 } else { 0 },
        ..PostcardRow::default()
    }
}

fn analyze(capture: &Path, args: &[String]) -> Value {
    let out = Command::new(env!("CARGO_BIN_EXE_tidemark-controller"))
        .args(["analyze", capture.to_str().unwrap(), "--json"])
        .args(args)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{error}");
    serde_json::from_slice(&out.stdout).unwrap()
}

#[tokio::test]
async fn a_phase_and_its_capture_agree() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("capture");
    let meta = CaptureMeta {
        format: FORMAT,
        config: config(),
        ..CaptureMeta::default()
    };
    let options = WriterOptions {
        wait_when_full: true,
        ..WriterOptions::default()
    };
    let mut writer = CaptureWriter::create(&dir, meta, options).unwrap();
    let mut aggregator = Aggregator::new(AggregateConfig::from(&config()));

    let lab = Lab::new(|_| {});
    {
        let mut info = common::info("first");
        info.interval_ms = config().interval_ms;
        info.nodes = proto_nodes(&config().nodes);
        lab.core.connected(0, info);
    }
    let mut push = |update| {
        lab.core.take(0, &update);
    };
    let mut order = 0;
    let phase = |action: &str| json!({"name": "p", "action": action});
    for n in 0..80_000u64 {
        match n {
            24_000 => assert_eq!(lab.post("/phases", phase("start")).await.0, 201),
            64_000 => assert_eq!(lab.post("/phases", phase("end")).await.0, 200),
            _ => {}
        }
        let row = PostcardRow { order, ..packet(n) };
        order += 1;
        writer.postcard(&row);
        aggregator.postcard(&row, &mut push);
        if n % 100 == 0 {
            let event = Event::Watermark {
                node_id: common::NODE,
                time_ns: row.ingress_ns.saturating_sub(50_000_000),
            };
            let event = EventRow { order, event };
            order += 1;
            writer.event(&event);
            aggregator.event(&event, &mut push);
        }
    }
    aggregator.finish(&mut push);
    writer.finish(1).unwrap();
    tidemark_controller::core::tick::once(&lab.core).await;

    let (_, p) = lab.get("/phases/p").await;
    assert_eq!(p["state"], "complete", "{p}");
    let live = &p["links"][0];
    let (start, end) = (&live["start_ns"], &live["end_ns"]);
    // The telemetry was fed faster than time passes; the clock never runs
    // behind what has arrived, so the phase lies where it was marked.
    assert!(start.as_u64().unwrap() >= 3_900_000_000, "{start}");
    assert!(
        end.as_u64().unwrap() > start.as_u64().unwrap() + 4_000_000_000,
        "{end}"
    );

    let ns = [
        "--from-ns".into(),
        start.to_string(),
        "--to-ns".into(),
        end.to_string(),
    ];
    let s = [
        "--from-s".into(),
        live["start_s"].to_string(),
        "--to-s".into(),
        live["end_s"].to_string(),
    ];
    for args in [ns, s] {
        let all = analyze(&dir, &args);
        let offline = &all["links"][0];
        let estimate = &live["estimate"];
        assert!(estimate["drops"].as_u64().unwrap() > 10);
        assert_eq!(offline["utilisation"], estimate["utilisation"]["mean"]);
        for key in [
            "from_ns",
            "to_ns",
            "loss_rate",
            "drops",
            "arrivals",
            "delay_ms",
            "occupancy_bytes",
            "limit_bytes",
            "estimates",
            "classes",
            "flows",
        ] {
            assert_eq!(offline[key], estimate[key], "{key}");
        }
        assert_eq!(offline["capture_start_ns"], live["capture_start_ns"]);
    }
    let whole = analyze(&dir, &[]);
    assert_eq!(whole["links"][0]["drops"], 80);
    assert_eq!(whole["links"][0]["arrivals"], 80_000);
    assert_eq!(
        whole["links"][0]["delay_ms"]["max"],
        99.0 * 1514.0 * 80.0 / 1e6
    );
}

#[test]
fn a_damaged_capture_ends_both_with_file_and_page() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("capture");
    let meta = CaptureMeta {
        format: FORMAT,
        config: config(),
        ..CaptureMeta::default()
    };
    let options = WriterOptions {
        wait_when_full: true,
        ..WriterOptions::default()
    };
    let mut writer = CaptureWriter::create(&dir, meta, options).unwrap();
    for order in 0..20_000 {
        writer.postcard(&PostcardRow {
            order,
            ..packet(order)
        });
    }
    writer.finish(1).unwrap();
    let file = dir.join("postcards-0000.parquet");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    for command in ["analyze", "view"] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_tidemark-controller"));
        program.args([command, dir.to_str().unwrap()]);
        if command == "view" {
            program.args(["--listen", "127.0.0.1:0"]);
        }
        let out = program.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{command}: {said}");
        for part in [file.to_str().unwrap(), "row group 0, column ", ": page "] {
            assert!(said.contains(part), "{command}: {said}");
        }
        let given = String::from_utf8_lossy(&out.stdout);
        let given = given.lines().filter(|l| !l.starts_with("console: "));
        assert_eq!(given.count(), 0, "{command}");
    }
}
