// SPDX-License-Identifier: Apache-2.0
//! Strangers on the network change no result that a collector gives for an honest switch, and cost
//! it a bounded amount of memory.
//!
//! `TIDEMARK_FULL_SCALE=1` (`make test-strangers`) sends as much as an attacker would:
//! all ports, two million flows, for minutes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{Collector, report};
use int_report::tag::Run;
use nix::sys::signal::Signal;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tidemark_proto::telemetry::telemetry_client::TelemetryClient;
use tidemark_proto::telemetry::{SubscribeRequest, Update};
use tonic::Streaming;
use tonic::transport::Channel;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// The source of a test's reports.
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

    /// Sends a report of node 10 with the next number.
    fn report(&mut self, ingress_ns: u64) {
        self.sequence += 1;
        self.send(&report(
            self.sequence,
            ingress_ns,
            false,
            self.sequence * 1448,
        ));
    }

    /// Sends `count` reports, 2000 per second.
    fn reports(&mut self, count: u32) {
        for k in 0..count {
            self.report(now_ns());
            if k % 10 == 9 {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Returns the time on a node's clock.
fn now_ns() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64
}

/// Returns the smaller amount in `make test`, the larger at full scale.
fn amount<T>(short: T, full: T) -> T {
    match std::env::var_os("TIDEMARK_FULL_SCALE") {
        Some(_) => full,
        None => short,
    }
}

/// A report that waited for `delay_ns` in the queue of a port and leaves now.
fn waited(sequence: u32, port: u16, delay_ns: u64) -> Vec<u8> {
    let mut datagram = of(report(sequence, 0, false, 0), 10, port);
    let left_ns = now_ns();
    datagram[28..36].copy_from_slice(&(left_ns - delay_ns).to_be_bytes());
    datagram[36..44].copy_from_slice(&left_ns.to_be_bytes());
    datagram
}

/// Turns a report into one of another flow, whose source address holds its number.
fn of_flow(mut datagram: Vec<u8>, flow: u32) -> Vec<u8> {
    datagram[64..68].copy_from_slice(&(0x0a00_0000 | flow & 0xff_ffff).to_be_bytes());
    datagram
}

/// Opens a stream of a collector's telemetry.
async fn subscribe(client: &mut TelemetryClient<Channel>) -> Streaming<Update> {
    let subscriber = "test".into();
    let answer = client.subscribe(SubscribeRequest { subscriber }).await;
    answer.unwrap().into_inner()
}

async fn client(collector: &Collector) -> TelemetryClient<Channel> {
    let url = format!("http://127.0.0.1:{}", collector.grpc);
    TelemetryClient::connect(url).await.unwrap()
}

/// How far complete records of node 10 lag behind its clock, followed in the background.
struct Lag(tokio::task::JoinHandle<Duration>, Arc<AtomicBool>);

impl Lag {
    async fn follow(collector: &Collector) -> Self {
        let mut updates = subscribe(&mut client(collector).await).await;
        let over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&over);
        let task = tokio::spawn(async move {
            let (mut complete_ns, mut most_ns) = (None, 0);
            while !ends.load(Ordering::Relaxed) {
                let next = tokio::time::timeout(Duration::from_millis(50), updates.message());
                if let Ok(update) = next.await {
                    let marks = update.unwrap().unwrap().watermarks;
                    for mark in marks.iter().filter(|w| w.node_id == 10) {
                        assert!(Some(mark.time_ns) >= complete_ns, "its clock restarted");
                        complete_ns = Some(mark.time_ns);
                    }
                }
                if let Some(complete_ns) = complete_ns {
                    most_ns = most_ns.max(now_ns().saturating_sub(complete_ns));
                }
            }
            Duration::from_nanos(most_ns)
        });
        Self(task, over)
    }

    /// Returns the longest lag until now, from the first record on.
    async fn longest(self) -> Duration {
        self.1.store(true, Ordering::Relaxed);
        self.0.await.unwrap()
    }
}

/// Includes the collector's own waits (reordering, the join, publication).
const LAG_MOST: Duration = Duration::from_secs(6);

/// Turns a report into one of another node and port.
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
    let last = amount(4095, u16::MAX);
    for port in 1..=last {
        stranger.send(&of(report(u32::from(port), now_ns(), false, 0), 99, port));
        if port % 16 == 0 {
            honest.report(now_ns());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let (ports, rows) = (u64::from(last), u64::from(last / 16));
    let status = collector.wait_numbers(&[
        ("/reports/datagrams", ports + rows),
        ("/pipeline/nodes_refused", ports),
        ("/pipeline/postcard_rows", rows),
        ("/refused_sources/0/node_id", 99),
        ("/refused_sources/0/reports", ports),
    ]);
    assert_eq!(status["refused_sources"][0]["reason"], "unknown_node");
    collector.assert_memory_mib(200);
}

#[test]
fn a_spray_of_links_of_a_known_node_is_bounded() {
    let (_dir, collector) = start(NODE);
    let stranger = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let mut honest = Exporter::new(&collector, Ipv4Addr::new(127, 0, 0, 2));
    let ports = amount(4095, u16::MAX - 100);
    for port in 100..100 + ports {
        stranger.send(&of(report(u32::from(port), now_ns(), false, 0), 10, port));
        if port % 16 == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let ports = u64::from(ports);
    honest.report(now_ns());
    collector.wait("the spray", |s| counter(s, "links_refused") >= ports - 256);
    for _ in 0..100 {
        honest.report(now_ns());
        std::thread::sleep(Duration::from_millis(5));
    }
    // The configured port has its place: none of its reports is refused. Single packets of other
    // links are not all kept.
    collector.wait_numbers(&[
        ("/pipeline/postcard_rows", ports + 101),
        ("/pipeline/links_refused", ports - 256),
        ("/packets_not_kept", ports - 256),
        ("/packets_in_memory", 256 + 101),
    ]);
    collector.assert_memory_mib(200);
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

/// The exporter's address is no secret, and anybody can spoof it.
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
    let mut recorded: Vec<Vec<u8>> = Vec::new();
    for n in 0..100u32 {
        let mut tagged = report(n, now_ns(), false, n * 1448);
        // Times and numbers that would displace the honest reports.
        forger.send(&report(n + 1000, now_ns() + 50 * MS, false, 0));
        forger.send(&report(n, now_ns(), true, 0));
        let mut wrong = report(n + 1, now_ns(), false, 0);
        other.append_tag(&mut wrong, None).unwrap();
        forger.send(&wrong);
        keys.append_tag(&mut tagged, None).unwrap();
        honest.send(&tagged);
        recorded.push(tagged);
        std::thread::sleep(Duration::from_millis(2));
    }
    // An eavesdropper has valid tags, but of reports that were received already.
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

/// An eavesdropper has recorded a run, and sends it before the exporter when the collector starts
/// again: after a normal end, and after a kill.
#[test]
fn a_recording_is_refused_while_the_collector_starts_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s1.key");
    std::fs::write(&file, "00112233445566778899aabbccddeeff\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let keys = int_report::keys::ReportKeys::read(&file).unwrap();
    let runs_file = dir.path().join("runs.json");
    let settings = format!(
        "runs_file = {runs_file:?}\n[nodes.10]\nkey_file = {file:?}\n\
         [nodes.10.ports.1]\ncapacity_bps = 100000000\n"
    );
    let mut number = 0u32;
    let mut next = || {
        let mut tagged = report(number, now_ns(), false, number * 1448);
        let run = Run {
            boot: 7,
            datagram: number.into(),
        };
        keys.append_tag(&mut tagged, Some(run)).unwrap();
        number += 1;
        tagged
    };
    let mut recorded: Vec<Vec<u8>> = Vec::new();
    for killed in [false, true, false] {
        let collector = Collector::start_with(dir.path(), &settings);
        let forger = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
        let honest = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
        for tagged in &recorded {
            forger.send(tagged);
        }
        let replayed = recorded.len() as u64;
        collector.wait_numbers(&[
            ("/reports/datagrams", replayed),
            ("/pipeline/reports_refused_replayed", replayed),
        ]);
        // After the kill, up to a second of honest reports is also refused.
        let refused = |s: &serde_json::Value| counter(s, "reports_refused_replayed");
        while {
            honest.send(&next());
            std::thread::sleep(Duration::from_millis(5));
            let status = collector.status();
            counter(&status, "postcard_rows") == 0 && refused(&status) < replayed + 2000
        } {}
        for _ in 0..200 {
            let tagged = next();
            honest.send(&tagged);
            recorded.push(tagged);
            std::thread::sleep(Duration::from_millis(2));
        }
        let status = collector.status();
        assert!(counter(&status, "postcard_rows") > 100, "{status}");
        assert_eq!(counter(&status, "reports_implausible_time"), 0);
        std::thread::sleep(Duration::from_millis(300));
        match killed {
            true => drop(collector),
            false => {
                let mut collector = collector;
                collector.signal(nix::sys::signal::Signal::SIGTERM);
                assert!(collector.wait_end().success());
            }
        }
    }
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

/// One report that waited for 10 s, then many of a port that is not configured.
#[tokio::test(flavor = "multi_thread")]
async fn long_delays_hold_back_nothing_of_others() {
    let (_dir, collector) = start(NODE);
    let lag = Lag::follow(&collector).await;
    let mut honest = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let stranger = Exporter::new(&collector, Ipv4Addr::new(127, 0, 0, 2));
    let mut forged = 0;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(amount(10, 60)) {
        honest.report(now_ns());
        tokio::time::sleep(Duration::from_millis(5)).await;
        if began.elapsed() > Duration::from_secs(2) {
            let port = if forged == 0 { 1 } else { 77 };
            stranger.send(&waited(forged, port, 10 * S - u64::from(forged > 0) * S));
            forged += 1;
        }
    }
    let longest = lag.longest().await;
    assert!(longest < LAG_MOST, "{longest:?} behind");
    let all = u64::from(honest.sequence + forged);
    collector.wait_numbers(&[("/reports/received", all), ("/reports/lost", 0)]);
}

#[test]
fn tables_full_of_made_up_nodes_and_streams_leave_room_for_the_configured_node() {
    let (_dir, collector) = start(&format!("accept_unknown_nodes = true\n{NODE}"));
    let stranger = Exporter::new(&collector, Ipv4Addr::new(127, 0, 0, 2));
    for node in 1000..2024 {
        stranger.send(&of(report(0, now_ns(), false, 0), node, 1));
    }
    // A stream is identified by address and hw_id.
    for address in 1..=100 {
        let stranger = Exporter::new(&collector, Ipv4Addr::new(127, 0, 1, address));
        for hw_id in 2..62u32 {
            let mut datagram = report(0, now_ns(), false, 0);
            datagram[..4].copy_from_slice(&(2 << 28 | hw_id << 22).to_be_bytes());
            stranger.send(&datagram);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    collector.wait("all that is made up", |s| {
        s["reports"]["datagrams"] == 1024 + 6000
    });
    let before = collector.status();
    assert!(counter(&before, "nodes_refused") > 0, "room for all nodes");
    assert!(
        counter(&before, "streams_refused") > 0,
        "room for all streams"
    );
    let lost = before["reports"]["lost"].as_u64().unwrap();
    let mut honest = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    // Until a silent stream has made room for this one.
    honest.reports(8000);
    honest.sequence += 200;
    honest.reports(200);
    // The kernel may drop a few more because the socket's buffer is full.
    collector.wait("the gap", |s| {
        let gap = s["reports"]["lost"].as_u64().unwrap() - lost;
        (200..=210).contains(&gap)
    });
    let refused = |s| counter(s, "nodes_refused");
    assert_eq!(refused(&collector.status()), refused(&before));
}

/// Made-up five-tuples of the configured port, as fast as they can be sent.
#[tokio::test(flavor = "multi_thread")]
async fn made_up_flows_cost_bounded_memory_and_hold_back_nothing() {
    let (_dir, collector) = start(NODE);
    let lag = Lag::follow(&collector).await;
    let mut honest = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let stranger = Exporter::new(&collector, Ipv4Addr::new(127, 0, 0, 2));
    let flows = amount(50_000, 2_000_000);
    for flow in 0..flows {
        stranger.send(&of_flow(report(flow, now_ns(), false, 0), flow));
        if flow % 25 == 0 {
            honest.report(now_ns());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let longest = lag.longest().await;
    assert!(longest < LAG_MOST, "{longest:?} behind");
    let status = collector.status();
    let lost = &status["reports"]["lost"];
    let dropped = &status["reports"]["kernel_drops"];
    assert!(lost.as_u64() <= dropped.as_u64(), "{status}");
    assert!(counter(&status, "flows") > u64::from(flows / 2), "{status}");
    collector.assert_memory_mib(500);
}

/// Reports with flipped bits and cut ends, from an exporter that is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn mutated_reports_neither_restart_nor_delay_a_node() {
    let (_dir, collector) = start(NODE);
    let lag = Lag::follow(&collector).await;
    let mut honest = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let stranger = Exporter::new(&collector, Ipv4Addr::new(127, 0, 0, 2));
    // Its clock is known by then.
    honest.reports(4000);
    let mut random = 6u64;
    let mut below = |end: usize| {
        // Knuth's multiplier; the high bits are the good ones.
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as usize % end
    };
    let mutations = amount(20_000, 200_000);
    for k in 0..mutations {
        let mut datagram = report(k / 20, now_ns(), false, 0);
        for _ in 0..=k % 3 {
            let at = below(datagram.len());
            datagram[at] = below(256) as u8;
        }
        if k % 5 == 0 {
            datagram.truncate(1 + below(datagram.len()));
        }
        stranger.send(&datagram);
        if k % 10 == 0 {
            honest.report(now_ns());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let longest = lag.longest().await;
    assert!(longest < LAG_MOST, "{longest:?} behind");
    let sent = u64::from(mutations + honest.sequence);
    let number = |s: &serde_json::Value, name: &str| s["reports"][name].as_u64().unwrap();
    collector.wait("all of them", |s| {
        number(s, "datagrams") + number(s, "kernel_drops") == sent
    });
    let lost = number(&collector.status(), "lost");
    assert!(
        lost < u64::from(mutations),
        "{lost} reports are said to be lost"
    );
    collector.assert_memory_mib(200);
}

/// The windows of the subscribers' streams stay shut. Waiting updates are kept once for all.
#[tokio::test(flavor = "multi_thread")]
async fn subscribers_that_never_read_cost_bounded_memory() {
    let (_dir, collector) = start(NODE);
    let mut silent = Vec::new();
    for _ in 0..6 {
        let mut client = client(&collector).await;
        for _ in 0..4 {
            silent.push(subscribe(&mut client).await);
        }
        let subscriber = String::new();
        let more = client.subscribe(SubscribeRequest { subscriber }).await;
        let refused = more.unwrap_err();
        assert!(
            refused.message().contains("this connection has 4"),
            "{refused}"
        );
    }
    // None of these subscribers keeps a controller out.
    let subscriber = tidemark_proto::CONTROLLER.into();
    let mut controller = client(&collector).await;
    silent.push(
        (controller.subscribe(SubscribeRequest { subscriber }).await)
            .unwrap()
            .into_inner(),
    );
    let many = Exporter::new(&collector, Ipv4Addr::LOCALHOST);
    let (mut sequence, began) = (0, Instant::now());
    while began.elapsed() < Duration::from_secs(amount(5, 45)) {
        for _ in 0..40 {
            sequence += 1;
            many.send(&of_flow(
                report(sequence, now_ns(), false, 0),
                sequence % 2000,
            ));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let status = collector.status();
    assert_eq!(status["subscribers"].as_array().unwrap().len(), 25);
    collector.assert_memory_mib(300);
    drop(silent);
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
