// SPDX-License-Identifier: Apache-2.0
//! `import` of runs with known truth: the golden set and, if they are next to the repository, the
//! whole runs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::BINARY;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use test_support::golden::{Run, shared};
use tidemark_capture::Replay;
use tidemark_collector::import::{ImportOptions, import};
use tidemark_pcap::{Datagrams, Frames, RAW, Writer};

/// The files of a golden run, as the simulator would write them.
fn golden(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    Run::golden(name).unwrap().write(folder.path()).unwrap();
    folder
}

/// Imports with the program and compares with the truth; the files are unpacked before, unless
/// `compressed`.
fn check(data: &Path, name: &str, compressed: bool) {
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
    let [pcap, trace] = ["reports.pcap", "tcp_probe.txt"].map(|file| {
        let packed = data.join(format!("{file}.gz"));
        if compressed {
            return packed;
        }
        let unpacked = dir.path().join(file);
        let mut from = flate2::read::GzDecoder::new(std::fs::File::open(packed).unwrap());
        let mut to = std::fs::File::create(&unpacked).unwrap();
        std::io::copy(&mut from, &mut to).unwrap();
        unpacked
    });
    let output = Command::new(BINARY)
        .arg("import")
        .arg("--pcap")
        .arg(&pcap)
        .arg("--tcp-probe")
        .arg(&trace)
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
    // Small files consist mostly of their footers.
    assert!(arrivals < 50_000 || per_row < 14.0, "{per_row}");
}

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import")
}

/// Converts frames to the form in which Wireshark saves them: one interface, times in nanoseconds.
fn pcapng_of(pcap: &Path) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = (12 + body.len() + padding) as u32;
        let (kind, length) = (kind.to_le_bytes(), length.to_le_bytes());
        [&kind[..], &length, body, &[0; 3][..padding], &length].concat()
    };
    let words = |words: &[u32]| {
        words
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let mut file = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    // Ethernet; the option 9 of one byte: 10 to the power of -9.
    file.extend(block(1, &words(&[1, 0, 9 | 1 << 16, 9, 0])));
    let mut frames = Frames::open(pcap).unwrap();
    while let Some(f) = frames.next_frame().unwrap() {
        let bytes = f.data.len() as u32;
        let (high, low) = ((f.time_ns >> 32) as u32, f.time_ns as u32);
        let mut body = words(&[0, high, low, bytes, bytes]);
        body.extend(f.data);
        file.extend(block(6, &body));
    }
    file
}

#[test]
fn pcapng_is_imported_as_pcap_is() {
    let run = golden("reno_n16_sqrt");
    let pcap = run.path().join("reports.pcap.gz");
    std::fs::write(&pcap, pcapng_of(&pcap)).unwrap();
    check(run.path(), "reno_n16_sqrt", true);
}

#[test]
fn a_recording_that_was_cut_short_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let packed = std::fs::File::open(fixture().join("reports.pcap.gz")).unwrap();
    let mut pcap = Vec::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut pcap)
        .unwrap();
    let said = |name: &str, bytes: &[u8]| {
        let file = dir.path().join(name);
        std::fs::write(&file, bytes).unwrap();
        let output = Command::new(BINARY)
            .args(["import", "--pcap"])
            .arg(&file)
            .arg("--out")
            .arg(file.with_extension("capture"))
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!said("whole", &pcap).contains("cut short"));
    let said = said("cut", &pcap[..pcap.len() - 5]);
    assert!(said.contains("cut short"), "{said}");
}

#[test]
fn the_fixture() {
    check(&fixture(), "fixture", true);
}

#[test]
fn plain_files() {
    check(&fixture(), "fixture, unpacked", false);
}

/// The table of postcards as text has every row, with units in its names.
#[test]
fn a_capture_is_exported() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("capture");
    let run = |args: &[&str]| {
        let o = Command::new(BINARY).args(args).output().unwrap();
        assert!(
            o.status.success(),
            "{args:?}: {}",
            String::from_utf8_lossy(&o.stderr)
        );
        String::from_utf8(o.stdout).unwrap()
    };
    let data = fixture();
    let path = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let capture = out.to_str().unwrap();
    let report: serde_json::Value = serde_json::from_str(&run(&[
        "import",
        "--pcap",
        &path("reports.pcap.gz"),
        "--tcp-probe",
        &path("tcp_probe.txt.gz"),
        "--nodes",
        &path("nodes.toml"),
        "--out",
        capture,
        "--json",
    ]))
    .unwrap();
    let rows = report["pipeline"]["postcard_rows"].as_u64().unwrap() as usize;
    let csv = run(&["export", capture, "--csv"]);
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert!(names.contains(&"occupancy_bytes") && names.contains(&"cwnd_segments"));
    assert_eq!(lines.clone().count(), rows);
    let at = |name: &str| names.iter().position(|n| *n == name).unwrap();
    let wire: u64 = lines
        .map(|l| {
            let cells: Vec<&str> = l.split(',').collect();
            assert_eq!(cells.len(), names.len());
            cells[at("ip_bytes")].parse::<u64>().unwrap()
        })
        .sum();
    let jsonl = run(&["export", capture, "--jsonl", "--table", "postcards"]);
    let sum: u64 = jsonl
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap())
        .map(|v| v["ip_bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, wire);
    let samples = run(&["export", capture, "--jsonl", "--table", "tcp_probe"]);
    let first: serde_json::Value = serde_json::from_str(samples.lines().next().unwrap()).unwrap();
    assert_eq!(first["host"], "trace");
    let events = run(&["export", capture, "--csv", "--table", "events"]);
    assert!(events.lines().any(|l| l.contains(",flow,")));
}

#[test]
fn what_tofinos_model_sent_is_imported() {
    // 1250 cells.
    what_a_model_sent_is_imported("tofino", 100_000);
}

#[test]
fn what_the_model_of_tofino_2_sent_is_imported() {
    what_a_model_sent_is_imported("tofino2", 220_000);
}

/// Reports of Tofino's model (ptf-tests/fixtures): the node's profile converts cells to bytes, and
/// no number is missing in the one series of forwarded and dropped packets.
fn what_a_model_sent_is_imported(chip: &str, limit_bytes: u64) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(
        path("nodes.toml"),
        format!("[nodes.2712847316]\nprofile = \"{chip}\"\n"),
    )
    .unwrap();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ptf-tests/fixtures");
    let pcap = fixtures.join(format!("{chip}-reports.pcap"));
    let run = |args: &[&str]| {
        let o = Command::new(BINARY).args(args).output().unwrap();
        assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
        String::from_utf8(o.stdout).unwrap()
    };
    let told = run(&[
        "import",
        "--pcap",
        pcap.to_str().unwrap(),
        "--nodes",
        &path("nodes.toml"),
        "--out",
        &path("capture"),
    ]);
    assert!(told.contains("77 received, 0 lost"), "{told}");
    let rows = run(&[
        "export",
        &path("capture"),
        "--jsonl",
        "--table",
        "postcards",
    ]);
    let rows: Vec<serde_json::Value> = rows
        .lines()
        .map(|l| serde_json::from_str(l).unwrap())
        .collect();
    let count = |name: &str| rows.iter().filter(|r| r[name] == true).count();
    let marked = count("ce_marked");
    assert_eq!((rows.len(), count("dropped"), marked), (77, 12, 6));
    assert!(rows.iter().any(|r| r["limit_bytes"] == limit_bytes));
    let took_ns = |r: &serde_json::Value| {
        let time = |name: &str| r[name].as_u64();
        Some(time("egress_ns")? - time("ingress_ns")?)
    };
    assert!(rows.iter().filter_map(took_ns).all(|ns| ns < 1_000_000_000));
}

/// A pcap of datagrams, each with its time and destination port.
fn pcap_of(datagrams: impl IntoIterator<Item = (u64, u16, Vec<u8>)>) -> Vec<u8> {
    let mut pcap = Writer::new(Vec::new(), RAW).unwrap();
    for (time_ns, port, udp) in datagrams {
        let length = (udp.len() + 8) as u16;
        let mut ip = vec![0x45, 0];
        ip.extend((length + 20).to_be_bytes());
        ip.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 0, 1]);
        ip.extend([0x11, 0x5c]);
        ip.extend(port.to_be_bytes());
        ip.extend(length.to_be_bytes());
        ip.extend([0, 0]);
        ip.extend(udp);
        pcap.write(time_ns, &ip).unwrap();
    }
    pcap.finish().unwrap()
}

/// Datagrams of equal length that an offload of the recording host has coalesced.
#[test]
fn what_an_offload_put_together_is_all_imported() {
    let run = golden("bscl_n20_bdp");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("together.pcap");
    let mut reader = Datagrams::open(&run.path().join("reports.pcap.gz")).unwrap();
    let mut together: Vec<(u64, u16, Vec<u8>)> = Vec::new();
    let (mut datagrams, mut part, mut next) = (0, 0, 0);
    while let Some(packet) = reader.next_datagram().unwrap() {
        datagrams += 1;
        let sequence = int_report::peek_header(packet.payload).unwrap().sequence;
        let length = packet.payload.len();
        match together.last_mut() {
            Some((_, _, bytes))
                if length == part && sequence == next && bytes.len() + length < 60_000 =>
            {
                bytes.extend(packet.payload);
            }
            _ => together.push((packet.time_ns, packet.dst_port, packet.payload.to_vec())),
        }
        (part, next) = (length, (sequence + 1) & 0x3f_ffff);
    }
    assert!(
        together.len() * 10 < datagrams,
        "{} {datagrams}",
        together.len()
    );
    std::fs::write(&file, pcap_of(together)).unwrap();
    let output = Command::new(BINARY)
        .args(["import", "--json", "--pcap"])
        .arg(&file)
        .arg("--out")
        .arg(dir.path().join("capture"))
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let capture = &serde_json::from_str::<serde_json::Value>(
        &std::fs::read_to_string(run.path().join("truth.json")).unwrap(),
    )
    .unwrap()["capture"];
    let lost = capture["reports_lost"].as_u64().unwrap();
    let received = capture["reports_sent"].as_u64().unwrap() - lost;
    assert_eq!(report["reports"]["malformed"], 0);
    assert_eq!(report["reports"]["lost"], lost);
    assert_eq!(report["reports"]["received"], received);
}

/// Cards of the predecessor's programs in a pcap.
#[test]
fn cards_are_imported() {
    let dir = tempfile::tempdir().unwrap();
    let cards = (0..100u32).map(|n| {
        let mut udp = vec![0x80 | u8::from(n % 50 == 49) << 4, 0b0110_1010, 0b1011_1101];
        udp.extend([10, 0, 0, 1, 10, 0, 0, 2, 0x9c, 0x40, 0x13, 0x89]);
        udp.extend((1 + n * 8960).to_be_bytes());
        udp.extend([0, 0, 0, 1]);
        udp.extend((n * 10).to_be_bytes());
        udp.extend([0; 16]);
        (100_000_000_000 + u64::from(n) * 1_000_000, 4444, udp)
    });
    let pcap = pcap_of(cards);
    let file = dir.path().join("cards.pcap");
    std::fs::write(&file, pcap).unwrap();
    let out = dir.path().join("capture");
    let output = Command::new(BINARY)
        .arg("import")
        .arg("--pcap")
        .arg(&file)
        .args(["--cards", "4444", "--cards-node", "3"])
        .args(["--cards-packet-bytes", "9000", "--json", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(report["reports"]["received"], 100);
    assert_eq!(report["reports"]["malformed"], 0);
    let links: Vec<_> = Replay::open(&out)
        .unwrap()
        .flat_map(|u| u.unwrap().link_intervals)
        .collect();
    let sum = |f: fn(&tidemark_proto::telemetry::LinkInterval) -> u64| -> u64 {
        links.iter().map(f).sum()
    };
    assert_eq!((links[0].node_id, links[0].port), (3, 53));
    assert_eq!(sum(|l| l.drops.into()), 2);
    assert_eq!(sum(|l| l.arrival_ip_bytes), 900_000);
    assert_eq!(
        links.iter().map(|l| l.occupancy_max_bytes).max(),
        Some(990 * 80)
    );
}

macro_rules! runs {
    ($($test:ident: $name:literal),+ $(,)?) => {
        $( #[test] fn $test() { check(golden($name).path(), $name, true); } )+

        mod whole_runs {
            use super::*;
            test_support::shared_data_test! {
                $( fn $test() { check(&shared("ns3").unwrap().join($name), $name, true); } )+
            }
        }
    };
}
runs!(
    one_newreno: "one_newreno_1bdp",
    one_cubic: "one_cubic_half_bdp",
    one_bbr: "one_bbr_1bdp",
    reno_n16: "reno_n16_sqrt",
    elastic: "elastic_n2_b100",
    bscl_n20: "bscl_n20_bdp",
    bscl_n60: "bscl_n60_bdp",
);

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
    std::fs::write(&pcap, b"012345678901234567890123").unwrap();
    assert!(run().contains("is not a pcap or pcapng"));
    std::fs::write(&pcap, b"\x0a\x0d\x0d\x0a0123456789012345678901").unwrap();
    assert!(run().contains("a section without a byte order"));
    assert!(!out.exists());
}

/// A trace on another clock than the pcap's: uptime against Unix time.
fn clocks_of_pcap_and_trace_may_differ(data: &Path, candidates: u64) {
    use std::io::{BufRead, BufReader, Write};
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
    assert!(report["join"]["candidates"].as_u64().unwrap() > candidates);
    let offset_s = report["clocks"][0]["node_minus_host_s"].as_f64().unwrap();
    // Half the difference of the paths' delays remains: see the pipeline's test.
    assert!((offset_s - (5.0 - 500_000.0)).abs() < 2e-3, "{offset_s}");
}

#[test]
fn clocks_of_a_golden_pcap_and_trace_may_differ() {
    clocks_of_pcap_and_trace_may_differ(golden("one_newreno_1bdp").path(), 80_000);
}

test_support::shared_data_test! {
    fn clocks_of_a_whole_pcap_and_trace_may_differ() {
        let run = shared("ns3").unwrap().join("one_newreno_1bdp");
        clocks_of_pcap_and_trace_may_differ(&run, 120_000);
    }
}

/// Senders on two hosts, each with its own clock: one trace as `perf script` prints it, and
/// one of `trace-cmd report` whose second half stands first.
#[test]
fn traces_of_several_hosts_tools_and_orders_join_as_one_trace_does() {
    use std::fmt::Write as _;
    let data = golden("reno_n16_sqrt");
    let dir = tempfile::tempdir().unwrap();
    let mut text = String::new();
    let trace = std::fs::File::open(data.path().join("tcp_probe.txt.gz")).unwrap();
    let mut trace = flate2::read::GzDecoder::new(trace);
    std::io::Read::read_to_string(&mut trace, &mut text).unwrap();
    let mut hosts = [String::new(), String::new()];
    let mut ports = Vec::new();
    for line in text.lines() {
        let Some((head, fields)) = line.split_once(": tcp_probe: ") else {
            continue;
        };
        let (s, fraction) = head.rsplit(' ').next().unwrap().split_once('.').unwrap();
        let source = fields.split_once(" dest=").unwrap().0.to_owned();
        if !ports.contains(&source) {
            ports.push(source.clone());
        }
        let s: u64 = s.parse().unwrap();
        if ports.iter().position(|p| *p == source).unwrap() % 2 == 0 {
            writeln!(
                hosts[0],
                "   iperf3  3829 [003] {}.{fraction}:          tcp:tcp_probe: {fields}",
                s + 500_000
            )
            .unwrap();
        } else {
            writeln!(
                hosts[1],
                "  iperf3-3829  [003]  {}.{fraction}: tcp_probe:            {fields}",
                s + 7000
            )
            .unwrap();
        }
    }
    assert!(ports.len() >= 2, "{ports:?}");
    let lines: Vec<&str> = hosts[1].lines().collect();
    let (first, second) = lines.split_at(lines.len() / 2);
    let swapped = [second, first].concat().join("\n");
    let files = ["a.txt", "b.txt"].map(|name| dir.path().join(name));
    std::fs::write(&files[0], &hosts[0]).unwrap();
    std::fs::write(&files[1], swapped).unwrap();
    let import = |traces: &[std::path::PathBuf], out: &str| -> serde_json::Value {
        let mut command = Command::new(BINARY);
        command.args(["import", "--json", "--pcap"]);
        command.arg(data.path().join("reports.pcap.gz"));
        for trace in traces {
            command.arg("--tcp-probe").arg(trace);
        }
        let output = command.arg("--out").arg(dir.path().join(out)).output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap()
    };
    let one = import(&[data.path().join("tcp_probe.txt.gz")], "one");
    let two = import(&files, "two");
    assert_eq!(one["tcp_probe"]["samples"], two["tcp_probe"]["samples"]);
    let late = second.len().min(first.len()) as u64 / 2;
    assert!(
        two["tcp_probe"]["out_of_order"].as_u64().unwrap() > late,
        "{two}"
    );
    assert_eq!(two["pipeline"]["samples_late"], 0);
    assert!(
        two["join"]["matched_fraction"].as_f64().unwrap() >= 0.99,
        "{}",
        two["join"]
    );
    let candidates = |r: &serde_json::Value| r["join"]["candidates"].as_u64().unwrap();
    assert!(candidates(&two) * 100 >= candidates(&one) * 99);
    let hosts = two["tcp_probe"]["hosts"].as_array().unwrap();
    let ahead: Vec<_> = hosts
        .iter()
        .map(|h| {
            (
                h["host"].as_str().unwrap(),
                h["ahead_s"].as_f64().unwrap().round(),
            )
        })
        .collect();
    let base = one["tcp_probe"]["hosts"][0]["ahead_s"]
        .as_f64()
        .unwrap()
        .round();
    assert_eq!(ahead, [("a", base + 500_000.0), ("b", base + 7000.0)]);
}

#[test]
fn a_damaged_capture_ends_an_export_with_file_and_page() {
    let data = golden("one_newreno_1bdp");
    let out = data.path().join("capture");
    import(&ImportOptions {
        pcap: data.path().join("reports.pcap.gz"),
        out: out.clone(),
        ..ImportOptions::default()
    })
    .unwrap();
    let file = out.join("postcards-0000.parquet");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x80;
    std::fs::write(&file, bytes).unwrap();
    let output = Command::new(BINARY)
        .args(["export", out.to_str().unwrap(), "--csv"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [file.to_str().unwrap(), "row group 0, column ", ": page "] {
        assert!(said.contains(part), "{said}");
    }
}
