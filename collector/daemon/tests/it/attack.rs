// SPDX-License-Identifier: Apache-2.0
//! What strangers can do to a collector from the network: nothing to what it
//! tells of the honest switch, and nothing to its memory.
//!
//! Each test is an attack that once worked.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{Collector, report};
use nix::sys::signal::Signal;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// Where the reports of a test come from.
struct Exporter {
    socket: UdpSocket,
    to: (Ipv4Addr, u16),
    sequence: u32,
}

impl Exporter {
    fn new(collector: &Collector, from: Ipv4Addr) -> Self {
        Self {
            socket: UdpSocket::bind((from, 0)).unwrap(),
            to: (Ipv4Addr::LOCALHOST, collector.udp),
            sequence: 0,
        }
    }

    fn send(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.to).unwrap();
    }

    /// A report of node 10 with the next number.
    fn report(&mut self, ingress_ns: u64) {
        self.sequence += 1;
        self.send(&report(
            self.sequence,
            ingress_ns,
            false,
            self.sequence * 1448,
        ));
    }
}

/// A clock of a node.
fn now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}

/// The same report of another node and port.
fn of(mut datagram: Vec<u8>, node_id: u32, port: u16) -> Vec<u8> {
    datagram[4..8].copy_from_slice(&node_id.to_be_bytes());
    datagram[22..24].copy_from_slice(&port.to_be_bytes());
    datagram
}

fn counter(status: &serde_json::Value, name: &str) -> u64 {
    status["pipeline"][name].as_u64().unwrap()
}

fn start(settings: &str) -> (tempfile::TempDir, Collector) {
    let dir = tempfile::tempdir().unwrap();
    let collector = Collector::start_with(dir.path(), settings);
    (dir, collector)
}

const NODE: &str = "[nodes.10]\n[nodes.10.ports.1]\ncapacity_bps = 100000000\n";

#[test]
fn a_spray_of_links_of_an_unknown_node_leaves_no_trace() {
    let (_dir, collector) = start(NODE);
    let mut honest = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let stranger = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    for port in 1..4096u16 {
        stranger.send(&of(report(u32::from(port), now_ns(), false, 0), 99, port));
        if port % 16 == 0 {
            honest.report(now_ns());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let status = collector.wait_numbers(&[
        ("/reports/datagrams", 4095 + 255),
        ("/pipeline/nodes_refused", 4095),
        ("/pipeline/postcard_rows", 255),
        ("/refused_sources/0/node_id", 99),
        ("/refused_sources/0/reports", 4095),
    ]);
    assert_eq!(status["refused_sources"][0]["reason"], "unknown_node");
}

#[test]
fn a_spray_of_links_of_a_known_node_is_bounded() {
    let (_dir, collector) = start(NODE);
    let stranger = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let mut honest = Exporter::new(&collector, Ipv4Addr::new(127, 0, 0, 2));
    for port in 100..4195u16 {
        stranger.send(&of(report(u32::from(port), now_ns(), false, 0), 10, port));
        if port % 16 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    honest.report(now_ns());
    collector.wait("the spray", |s| counter(s, "links_refused") >= 4095 - 256);
    for _ in 0..100 {
        honest.report(now_ns());
        std::thread::sleep(Duration::from_millis(5));
    }
    // The configured port has its place: nothing of it is refused.
    // Nor are single packets of all links kept.
    collector.wait_numbers(&[
        ("/pipeline/postcard_rows", 4095 + 101),
        ("/pipeline/links_refused", 4095 - 256),
        ("/packets_not_kept", 4095 - 256),
        ("/packets_in_memory", 256 + 101),
    ]);
}

#[test]
fn reports_from_an_address_that_is_not_named_are_refused() {
    let (_dir, collector) = start(
        "[nodes.10]\nexporters = [\"127.0.0.2\", \"127.1.0.0/16\"]\n\
         [nodes.10.ports.1]\ncapacity_bps = 100000000\n",
    );
    for (from, count) in [
        ([127, 0, 0, 1], 7),
        ([127, 0, 0, 2], 3),
        ([127, 1, 2, 3], 2),
    ] {
        let mut exporter = Exporter::new(&collector, from.into());
        for _ in 0..count {
            exporter.report(now_ns());
        }
    }
    let status = collector.wait_numbers(&[
        ("/reports/datagrams", 12),
        ("/reports/refused", 7),
        ("/pipeline/reports_refused_exporter", 7),
        ("/pipeline/postcard_rows", 5),
    ]);
    assert_eq!(status["refused_sources"][0]["exporter"], "127.0.0.1");
}

/// The address of the exporter is no secret, and anybody can write it.
#[test]
fn the_address_of_an_exporter_without_its_key_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s1.key");
    std::fs::write(&file, "00112233445566778899aabbccddeeff\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let keys = int_report::keys::ReportKeys::read(&file).unwrap();
    let other = int_report::keys::ReportKeys::new(&[&[7; 16]]).unwrap();
    let settings = format!(
        "[nodes.10]\nexporters = [\"127.0.0.2\"]\nkey_file = {file:?}\n\
         [nodes.10.ports.1]\ncapacity_bps = 100000000\n"
    );
    let collector = Collector::start_with(dir.path(), &settings);
    let address = Ipv4Addr::new(127, 0, 0, 2);
    let honest = Exporter::new(&collector, address);
    let forger = Exporter::new(&collector, address);
    let mut recorded = Vec::new();
    for n in 0..100u32 {
        let mut tagged = report(n, now_ns(), false, n * 1448);
        // Times and numbers that would move the honest ones out of the way.
        forger.send(&report(n + 1000, now_ns() + 50 * MS, false, 0));
        forger.send(&report(n, now_ns(), true, 0));
        let mut wrong = report(n + 1, now_ns(), false, 0);
        other.append_tag(&mut wrong).unwrap();
        forger.send(&wrong);
        keys.append_tag(&mut tagged).unwrap();
        honest.send(&tagged);
        recorded.push(tagged);
        std::thread::sleep(Duration::from_millis(2));
    }
    // Whoever listens has good tags, of reports that were there already.
    for tagged in &recorded {
        forger.send(tagged);
    }
    let status = collector.wait_numbers(&[
        ("/reports/datagrams", 500),
        ("/pipeline/reports_refused_no_tag", 200),
        ("/pipeline/reports_refused_wrong_tag", 100),
        ("/pipeline/postcard_rows", 100),
    ]);
    let again =
        counter(&status, "reports_duplicate") + counter(&status, "reports_refused_replayed");
    assert_eq!(again, 100, "{status}");
    assert_eq!(status["reports"]["lost"], 0);
    let reasons: Vec<_> = status["refused_sources"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| s["reason"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(reasons, ["no_tag", "wrong_tag"]);
}

#[test]
fn forged_times_neither_wipe_a_node_nor_delay_it() {
    let (_dir, collector) = start(NODE);
    let mut honest = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let mut forged = 0;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(2500) {
        honest.report(now_ns());
        std::thread::sleep(Duration::from_millis(5));
        if start.elapsed() > Duration::from_millis(1500) && forged < 72 {
            // Another clock, many reports at a time, and a node from the future.
            let stranger = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
            for k in 0..12 {
                stranger.send(&report(k, now_ns() - 1000 * S, false, 0));
                stranger.send(&report(k, now_ns() + 59 * S, false, 0));
                forged += 2;
            }
        }
    }
    let sent = u64::from(honest.sequence);
    let status = collector.wait_numbers(&[
        ("/reports/received", sent + forged),
        ("/pipeline/reports_implausible_time", forged),
        ("/pipeline/postcard_rows", sent),
    ]);
    assert_eq!(status["reports"]["lost"], 0);
}

#[test]
fn a_page_with_a_name_of_its_own_reads_nothing() {
    let (_dir, collector) = start("http.hosts = [\"ours.example\"]\n");
    let ask = |host: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", collector.http)).unwrap();
        let request = format!("GET /status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let refused = ask("evil.example");
    assert!(refused.starts_with("HTTP/1.1 421"), "{refused}");
    assert!(refused.contains("http.hosts"), "{refused}");
    for host in ["ours.example", "localhost:1", "127.0.0.1"] {
        let answer = ask(host);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(
            answer.contains("x-content-type-options: nosniff"),
            "{answer}"
        );
    }
}

#[test]
fn it_ends_while_a_flood_goes_on() {
    let (_dir, mut collector) = start(NODE);
    let flooding = Arc::new(AtomicBool::new(true));
    let flood = {
        let flooding = Arc::clone(&flooding);
        let exporter = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
        let datagram = report(1, now_ns(), false, 0);
        std::thread::spawn(move || {
            while flooding.load(Ordering::Relaxed) {
                exporter.send(&datagram);
            }
        })
    };
    collector.wait("the flood", |s| {
        s["reports"]["datagrams"].as_u64() > Some(10_000)
    });
    collector.signal(Signal::SIGTERM);
    // The flood ends only after the collector has.
    assert!(collector.wait_end().success());
    flooding.store(false, Ordering::Relaxed);
    flood.join().unwrap();
}

#[test]
fn unknown_nodes_can_be_shown_without_being_stored() {
    let (dir, mut collector) = start(&format!("accept_unknown_nodes = true\n{NODE}"));
    let mut honest = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let stranger = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    for n in 0..20 {
        honest.report(now_ns());
        stranger.send(&of(report(n, now_ns(), false, 0), 99, 1));
    }
    collector.wait("all rows", |s| counter(s, "postcard_rows") == 40);
    collector.signal(Signal::SIGTERM);
    assert!(collector.wait_end().success());
    let mut rows =
        tidemark_capture::Rows::<tidemark_pipeline::PostcardRow>::open(&dir.path().join("capture"))
            .unwrap();
    let mut nodes = Vec::new();
    while rows.peek().unwrap().is_some() {
        nodes.extend(rows.take().map(|r| r.node_id));
    }
    assert_eq!(nodes, [10; 20]);
}

#[test]
fn the_same_configuration_starts_again_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    for number in 1..=3 {
        let mut collector = Collector::start_with(dir.path(), NODE);
        collector.signal(Signal::SIGKILL);
        collector.wait_end();
        let name = match number {
            1 => "capture".to_owned(),
            n => format!("capture-{n}"),
        };
        assert!(dir.path().join(name).join("capture.json").exists());
    }
}
