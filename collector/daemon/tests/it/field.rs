// SPDX-License-Identifier: Apache-2.0
//! Inputs from the field: reports with metadata of several hops, exporters without sequence
//! numbers, other protocols, truncated frames. All counts of what is read add up.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common::BINARY;
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Output};
use tidemark_capture::{PostcardRow, Replay, Rows};
use tidemark_pcap::{RAW, Writer};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|b| !b.is_ascii_whitespace())
        .map(|b| (b as char).to_digit(16).unwrap() as u8)
        .collect();
    digits.chunks(2).map(|p| p[0] << 4 | p[1]).collect()
}

/// Writes a capture file of UDP datagrams, a millisecond apart.
fn pcap(dir: &Path, payloads: &[Vec<u8>]) -> std::path::PathBuf {
    let path = dir.join("reports.pcap");
    let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), RAW).unwrap();
    for (i, payload) in (0..).zip(payloads) {
        let udp = payload.len() as u16 + 8;
        let mut p = vec![0x45, 0];
        p.extend((udp + 20).to_be_bytes());
        p.extend([
            0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 9, 192, 0, 2, 1, 0x80, 0, 0x7f, 0xfe,
        ]);
        p.extend(udp.to_be_bytes());
        p.extend([0, 0]);
        p.extend(payload);
        writer.write(1_000_000_000 + i * 1_000_000, &p).unwrap();
    }
    writer.finish().unwrap();
    path
}

fn import(pcap: &Path, nodes: &Path, out: &Path) -> Output {
    Command::new(BINARY)
        .args(["import", "--json", "--pcap"])
        .arg(pcap)
        .arg("--nodes")
        .arg(nodes)
        .arg("--out")
        .arg(out)
        .output()
        .unwrap()
}

fn answer(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rows(out: &Path) -> Vec<PostcardRow> {
    let mut rows = Rows::<PostcardRow>::open(out).unwrap();
    let mut all = Vec::new();
    while rows.peek().unwrap().is_some() {
        all.extend(rows.take());
    }
    all
}

/// Runs `import` without configuration; returns its output, the rows and their directory.
fn imported(payloads: &[Vec<u8>]) -> (Output, Vec<PostcardRow>, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let file = pcap(dir.path(), payloads);
    let nodes = dir.path().join("nodes.toml");
    std::fs::write(&nodes, "[nodes.8]\n").unwrap();
    let out = dir.path().join("capture");
    let output = import(&file, &nodes, &out);
    let rows = rows(&out);
    (output, rows, dir)
}

/// A report of version 1.0 about a packet with a stack of two hops; the second hop has neither
/// ports nor queue nor latency.
pub(crate) fn with_stack(sequence: u8) -> Vec<u8> {
    hex(&format!(
        "14000040 00000008 000000{sequence:02x} 3a6e9c{sequence:02x}
        020000000002 020000000001 0800
        455c05dc 00010000 40110000 0a010009 0a010008 c350c351 05c80000
        01000f00 10000609 fc000000
        00000008 0017000b 00000005 02000007 3a6e94{sequence:02x} 3a6e9a{sequence:02x}
        00000007 ffffffff ffffffff ffffffff 3a6e90{sequence:02x} ffffffff"
    ))
}

#[test]
fn each_hop_is_a_row_and_unknown_is_null() {
    let (output, rows, dir) = imported(&[with_stack(1), with_stack(2)]);
    assert!(output.status.success(), "{output:?}");
    let said = answer(&output);
    assert_eq!(
        said["frames"],
        serde_json::json!({"frames": 2, "reports": 2, "hops": 4, "without_report": {}})
    );
    assert_eq!(
        (&said["packets"]["records"], &said["packets"]["rows"]),
        (&4.into(), &4.into())
    );
    let nodes: Vec<u32> = rows.iter().map(|r| r.node_id).collect();
    assert_eq!(nodes, [8, 7, 8, 7]);
    assert!(rows.iter().all(|r| r.from_stack));
    assert_eq!(
        (rows[0].port, rows[0].occupancy_bytes, rows[0].payload_bytes),
        (11, 7, 1412)
    );
    assert_eq!(rows[0].delay_ns(), Some(0x600));
    assert_eq!(rows[1].delay_ns(), None);
    // As text, an absent value is empty.
    let csv = Command::new(BINARY)
        .args(["export", "--csv"])
        .arg(dir.path().join("capture"))
        .output()
        .unwrap();
    let csv = String::from_utf8(csv.stdout).unwrap();
    let mut lines = csv.lines().map(|l| l.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let second = lines.nth(1).unwrap();
    for name in [
        "ingress_port",
        "egress_port",
        "queue",
        "egress_ns",
        "occupancy_bytes",
        "limit_bytes",
    ] {
        let place = names.iter().position(|n| *n == name).unwrap();
        assert_eq!(second[place], "", "{name}");
    }
}

#[test]
fn who_does_not_number_keeps_its_rows() {
    let report = |ms: u8| {
        let mut report = with_stack(ms);
        report[8..12].fill(0);
        report
    };
    let payloads: Vec<_> = (1..=20).map(report).collect();
    let (output, rows, _dir) = imported(&payloads);
    assert_eq!(rows.len(), 40);
    let said = answer(&output);
    assert_eq!(
        (&said["reports"]["lost"], &said["reports"]["unnumbered"]),
        (&0.into(), &19.into())
    );
}

#[test]
fn nothing_read_is_a_status_of_its_own() {
    // NetFlow 9, DNS, and a truncated report.
    let payloads = [
        hex("00090001 000003e8 5f5e1000 0000002a 00000000 00000048 01000010"),
        hex("24230100 00010000 00000000 03777777 07657861 6d706c65 03636f6d 00000100 01"),
        hex("20000001 00000008 14ff0020"),
    ];
    let (output, rows, dir) = imported(&payloads);
    let warning = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), rows.len()),
        (Some(3), 0),
        "{warning}"
    );
    let words = "3 frames: 0 reports (1 malformed, 2 of other protocols)";
    assert!(
        warning.contains(&format!("warning: nothing was read: {words}")),
        "{warning}"
    );
    assert_eq!(answer(&output)["join"]["matched_fraction"], Value::Null);
    let printed = Command::new(BINARY)
        .args(["print", "--pcap"])
        .arg(dir.path().join("reports.pcap"))
        .output()
        .unwrap();
    assert_eq!(printed.status.code(), Some(3));
    // The printed lines say why.
    assert_eq!(printed.stdout.iter().filter(|b| **b == b'\n').count(), 3);
}

test_support::shared_data_test! {
    /// Inputs made by other programs, with the right answers.
    fn inputs_of_the_field() {
        let field = test_support::golden::shared("field").unwrap();
        let dir = tempfile::tempdir().unwrap();
        let read = |name: &str, nodes: &str| {
            let out = dir.path().join(format!("{nodes}-{name}"));
            let output = import(&field.join(name), &field.join(nodes), &out);
            (answer(&output), rows(&out), output.status.code())
        };
        for (name, frames, expected) in [
            ("A00-v05-reference.pcap", 51, 51),
            ("A01-intmd-v2-report-length-0.pcap", 120, 360),
            ("A04-intmd-v1-vlan-2hops.pcap", 60, 120),
            ("A05-v1-sequence-constant.pcap", 60, 60),
            ("A08-v05-mpls-inner.pcap", 60, 60),
            ("A10-v2-hop-latency-no-egress-time.pcap", 60, 60),
            ("A13-linux-cooked-v2.pcap", 51, 51),
            ("A17-zstd.pcap.zst", 51, 51),
        ] {
            let (said, rows, status) = read(name, "nodes-us.toml");
            assert_eq!((said["frames"]["frames"].as_u64(), rows.len(), status), (Some(frames), expected, Some(0)), "{name}");
        }
        let (said, _, status) = read("A12-sflow-netflow9-ipfix-dns.pcap", "nodes.toml");
        assert_eq!((&said["frames"]["without_report"]["other_protocol"], status), (&80.into(), Some(3)));

        let out = dir.path().join("perf");
        let perf = Command::new(BINARY)
            .args(["import", "--json", "--pcap"])
            .arg(field.join("A00-v05-reference.pcap"))
            .arg("--tcp-probe")
            .arg(field.join("B02-perf-script.txt"))
            .arg("--out")
            .arg(&out)
            .output()
            .unwrap();
        assert_eq!(answer(&perf)["tcp_probe"]["samples"], 40, "{perf:?}");

        assert_eq!(rows(&field.join("F02-rewritten-by-pyarrow")).len(), 51);

        // Hop by hop, in the units of the switches.
        let hops = std::fs::read_to_string(field.join("A01-expected-hops.csv")).unwrap();
        let rows_of = |name: &str| rows(&dir.path().join(format!("nodes-us.toml-{name}")));
        for (line, row) in hops.lines().skip(1).zip(rows_of("A01-intmd-v2-report-length-0.pcap")) {
            let n: Vec<u64> = line.split(',').map(|n| n.parse().unwrap()).collect();
            // Node 2 is not configured: it counts ns and bytes.
            let (us, packet) = if n[2] == 2 { (1, 1) } else { (1000, 1500) };
            let expected = [n[2], n[3], n[4], n[5] * us, n[6], n[7] * packet, n[8] * us, n[9] * us];
            let delay_ns = row.delay_ns().unwrap();
            let found = [row.node_id.into(), row.ingress_port.into(), row.port.into(), delay_ns, row.queue.into(), row.occupancy_bytes, row.ingress_ns, row.egress_ns];
            assert_eq!(found, expected, "{line}");
        }
        let hop_latency = rows_of("A10-v2-hop-latency-no-egress-time.pcap");
        assert!(hop_latency.iter().all(|r| r.delay_ns() == Some(51_200)));
        let (_, paused, _) = read("A06-v05-32bit-ns-pauses.pcap", "nodes.toml");
        let steps: Vec<u64> = paused.windows(2).map(|w| (w[1].ingress_ns - w[0].ingress_ns) / 1_000_000).collect();
        assert_eq!(steps, [200, 3000, 200, 5000, 200, 200, 10_000, 200, 200, 60_000, 200]);
        assert!(paused.iter().all(|r| r.delay_ns() == Some(20_000)));
    }
}

/// IPv4 and TCP without options, 1212 bytes.
fn tcp_packet(src_port: u16, number: u32) -> Vec<u8> {
    let mut p = hex("450004bc 00004000 40060000 0a000001 0a000002");
    p.extend(src_port.to_be_bytes());
    p.extend(5001u16.to_be_bytes());
    p.extend((1 + number * 1172).to_be_bytes());
    p.extend(hex("00000001 50100100 00000000"));
    p.resize(128, 0);
    p
}

/// One report per millisecond: two of queue 0, then one of queue 3 of the same port. The capture
/// that `import` writes has both queues, as has the run read from it.
#[test]
fn queues_of_a_port_are_imported_apart() {
    let mut payloads = Vec::new();
    for n in 0..3000u32 {
        let second = n % 3 == 2;
        let packet = tcp_packet(if second { 40_003 } else { 40_000 }, n / 3);
        let left_ns = 1_000_000_000 + u64::from(n) * 1_000_000;
        let report = int_report::Report {
            queue_id: Some(if second { 3 } else { 0 }),
            queue_occupancy: Some(if second { 9_000 } else { 30_000 }),
            ingress_ts: Some(left_ns - 2_000_000),
            egress_ts: Some(left_ns),
            ..int_report::encode::postcard(10, n, (1, 2), &packet)
        };
        payloads.push(int_report::encode::encode(&[report]).unwrap());
    }
    let dir = tempfile::tempdir().unwrap();
    let file = pcap(dir.path(), &payloads);
    let nodes = dir.path().join("nodes.toml");
    std::fs::write(&nodes, "[nodes.10.ports.2]\ncapacity_bps = 10_000_000\n").unwrap();
    let out = dir.path().join("capture");
    let output = import(&file, &nodes, &out);
    assert!(output.status.success(), "{output:?}");
    let of_queue = |queue| rows(&out).iter().filter(|r| r.queue == queue).count();
    assert_eq!([0, 1, 3].map(of_queue), [2000, 0, 1000]);
    let (mut links, mut flows) = ([0; 2], [0; 2]);
    for update in Replay::open(&out).unwrap() {
        let update = update.unwrap();
        let place = |queue| usize::from(queue == 3);
        for i in &update.link_intervals {
            assert!([0, 3].contains(&i.queue) && i.port == 2, "{i:?}");
            let met = if i.queue == 3 { 9_000 } else { 30_000 };
            assert_eq!(i.occupancy_sum_bytes, met * u64::from(i.arrivals));
            links[place(i.queue)] += i.packets;
        }
        for i in &update.flow_intervals {
            flows[place(i.queue)] += i.packets;
        }
    }
    assert_eq!((links, flows), ([2000, 1000], [2000, 1000]));
}

/// A hop of a stack shows no drops; as a report of its node it would say that there were none.
#[test]
fn rows_of_stacks_are_not_replayed_as_reports_of_their_nodes() {
    let (_, _, dir) = imported(&[with_stack(1), with_stack(2)]);
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap().to_string();
    let capture = dir.path().join("capture");
    let output = Command::new(BINARY)
        .args(["replay", "--speed", "0", "--json", "--to", &to, "--capture"])
        .arg(capture)
        .output()
        .unwrap();
    let said = answer(&output);
    assert_eq!(
        (
            &said["datagrams"],
            &said["skipped"],
            &said["skipped_from_stacks"]
        ),
        (&0.into(), &0.into(), &4.into())
    );
    assert!(!output.status.success(), "{output:?}");
}
