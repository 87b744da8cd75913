// SPDX-License-Identifier: Apache-2.0
//! `import` of the runs with known truth (`<repo>/../shared/data/ns3`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::BINARY;
use std::path::{Path, PathBuf};
use std::process::Command;
use tidemark_capture::Replay;

fn data() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/ns3");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("SKIPPED: no ../shared/data/ns3 beside the repository");
    None
}

fn import(name: &str) {
    let Some(data) = data() else { return };
    let data = data.join(name);
    let truth: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(data.join("truth.json")).unwrap()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let nodes = dir.path().join("nodes.toml");
    std::fs::write(
        &nodes,
        format!(
            "[nodes.10]\ntime_unit = \"ns\"\ndepth_unit = \"packets\"\n\
             [nodes.10.ports.1]\ncapacity_bps = {}\n",
            truth["C_bps"]
        ),
    )
    .unwrap();
    let out = dir.path().join("capture");
    let output = Command::new(BINARY)
        .arg("import")
        .arg("--pcap")
        .arg(data.join("reports.pcap.gz"))
        .arg("--tcp-probe")
        .arg(data.join("tcp_probe.txt.gz"))
        .arg("--nodes")
        .arg(&nodes)
        .arg("--out")
        .arg(&out)
        .arg("--json")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let capture = &truth["capture"];
    let lost = capture["reports_lost"].as_u64().unwrap();
    let sent = capture["reports_sent"].as_u64().unwrap();
    assert_eq!(report["reports"]["malformed"], 0);
    assert_eq!(report["reports"]["lost"], lost);
    assert_eq!(report["reports"]["received"], sent - lost);
    assert_eq!(report["tcp_probe"]["malformed"], 0);
    assert_eq!(report["tcp_probe"]["samples"], capture["tcp_probe_samples"]);
    assert!(report["join"]["matched_fraction"].as_f64().unwrap() >= 0.99);
    let clock = &report["clocks"][0];
    let offset_s = clock["node_minus_host_s"].as_f64().unwrap();
    let drift_ppm = clock["node_drift_ppm"].as_f64().unwrap();
    let true_offset_s = capture["switch_clock_minus_host_clock_s"].as_f64().unwrap();
    let true_drift_ppm = capture["switch_drift_ppm"].as_f64().unwrap();
    assert!((offset_s - true_offset_s).abs() < 1e-3, "{offset_s}");
    assert!((drift_ppm - true_drift_ppm).abs() < 1.0, "{drift_ppm}");

    let (mut arrivals, mut lost_seen, mut joined) = (0u64, 0u64, 0u64);
    for update in Replay::open(&out).unwrap() {
        let update = update.unwrap();
        for l in &update.link_intervals {
            arrivals += u64::from(l.arrivals);
            lost_seen += u64::from(l.reports_lost);
        }
        for f in &update.flow_intervals {
            joined += u64::from(f.joined);
        }
    }
    assert_eq!(arrivals, sent - lost);
    assert_eq!(lost_seen, lost);
    assert_eq!(joined, report["join"]["matched"].as_u64().unwrap());
    let bytes: u64 = std::fs::read_dir(&out)
        .unwrap()
        .map(|e| e.unwrap())
        .filter(|e| e.file_name().to_string_lossy().starts_with("postcards-"))
        .map(|e| e.metadata().unwrap().len())
        .sum();
    let per_row = bytes as f64 / arrivals as f64;
    println!("{name}: {per_row:.2} bytes per joined postcard");
    assert!(per_row < 14.0, "{per_row}");
}

#[test]
fn one_newreno() {
    import("one_newreno_1bdp");
}
#[test]
fn one_cubic() {
    import("one_cubic_half_bdp");
}
#[test]
fn one_bbr() {
    import("one_bbr_1bdp");
}
#[test]
fn reno_n16() {
    import("reno_n16_sqrt");
}
#[test]
fn elastic() {
    import("elastic_n2_b100");
}
#[test]
fn bscl_n20() {
    import("bscl_n20_bdp");
}
#[test]
fn bscl_n60() {
    import("bscl_n60_bdp");
}

#[test]
fn broken_inputs_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let pcap = dir.path().join("x.pcap");
    let out = dir.path().join("out");
    let run = || {
        let o = Command::new(BINARY)
            .arg("import")
            .arg("--pcap")
            .arg(&pcap)
            .arg("--out")
            .arg(&out)
            .output()
            .unwrap();
        assert!(!o.status.success());
        let text = String::from_utf8(o.stderr).unwrap();
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
        text
    };
    assert!(run().contains("x.pcap"));
    std::fs::write(&pcap, b"\x0a\x0d\x0d\x0a0123456789012345678901").unwrap();
    assert!(run().contains("pcapng"));
    assert!(!out.exists());
}

/// A trace by another clock than the pcap's: uptime beside Unix time.
#[test]
fn clocks_of_pcap_and_trace_may_differ() {
    use std::io::{BufRead, BufReader, Write};
    let Some(data) = data() else { return };
    let data = data.join("one_newreno_1bdp");
    let dir = tempfile::tempdir().unwrap();
    let shifted = dir.path().join("trace.txt");
    let file = std::fs::File::open(data.join("tcp_probe.txt.gz")).unwrap();
    let lines = BufReader::new(flate2::read::GzDecoder::new(file)).lines();
    let mut out = std::io::BufWriter::new(std::fs::File::create(&shifted).unwrap());
    for line in lines {
        let line = line.unwrap();
        let line = match line.split_once(": tcp_probe:") {
            Some((head, rest)) => {
                let (head, time) = head.rsplit_once(' ').unwrap();
                let (s, us) = time.split_once('.').unwrap();
                let s: u64 = s.parse().unwrap();
                format!("{head} {}.{us}: tcp_probe:{rest}", s + 500_000)
            }
            None => line,
        };
        writeln!(out, "{line}").unwrap();
    }
    drop(out);
    let output = Command::new(BINARY)
        .arg("import")
        .arg("--pcap")
        .arg(data.join("reports.pcap.gz"))
        .arg("--tcp-probe")
        .arg(&shifted)
        .arg("--out")
        .arg(dir.path().join("capture"))
        .arg("--json")
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["join"]["matched_fraction"].as_f64().unwrap() >= 0.99);
    assert!(report["join"]["candidates"].as_u64().unwrap() > 120_000);
    let offset_s = report["clocks"][0]["node_minus_host_s"].as_f64().unwrap();
    // Half the difference of the paths' delays remains: see the pipeline's test.
    assert!((offset_s - (5.0 - 500_000.0)).abs() < 2e-3, "{offset_s}");
}
