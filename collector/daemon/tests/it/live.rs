// SPDX-License-Identifier: Apache-2.0
//! The program itself on loopback: reports in; stream, packets, metrics and capture out; errors
//! before anything starts.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{BINARY, Collector, free_ports, report};
use nix::sys::signal::Signal;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;
use tidemark_capture::Replay;
use tidemark_proto::telemetry::telemetry_client::TelemetryClient;
use tidemark_proto::telemetry::{GetInfoRequest, ReadPacketsRequest, SubscribeRequest, Update};

const PACKETS: u32 = 5000;

fn send(udp: u16) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut sequence = [0u32; 2];
    for i in 0..PACKETS {
        let dropped = i % 100 == 99;
        // 3 reports are lost on the way.
        let hw_id = usize::from(dropped);
        sequence[hw_id] += if i == 2000 { 4 } else { 1 };
        let at = 1_000_000_000 + u64::from(i) * 200_000;
        let payload = report(sequence[hw_id], at, dropped, i * 1460);
        socket
            .send_to(&payload, (Ipv4Addr::LOCALHOST, udp))
            .unwrap();
        if i % 64 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    socket
        .send_to(b"\x2f rubbish", (Ipv4Addr::LOCALHOST, udp))
        .unwrap();
}

/// Records only: grouping of the first message differs for late subscribers.
fn records(updates: &[Update]) -> (Vec<String>, Vec<String>, Vec<String>) {
    let all = |f: &dyn Fn(&Update) -> Vec<String>| updates.iter().flat_map(f).collect();
    (
        all(&|u| u.link_intervals.iter().map(|l| format!("{l:?}")).collect()),
        all(&|u| u.flow_intervals.iter().map(|l| format!("{l:?}")).collect()),
        all(&|u| u.drops.iter().map(|l| format!("{l:?}")).collect()),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_go_all_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let mut c = Collector::start(dir.path());
    let mut client = TelemetryClient::connect(format!("http://127.0.0.1:{}", c.grpc))
        .await
        .unwrap();
    let info = client
        .get_info(GetInfoRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(info.nodes[0].node_id, 10);
    assert_eq!(info.capture_dir, c.capture.display().to_string());
    let mut stream = client
        .subscribe(SubscribeRequest {
            subscriber: "test".into(),
        })
        .await
        .unwrap()
        .into_inner();
    let udp = c.udp;
    tokio::task::spawn_blocking(move || send(udp))
        .await
        .unwrap();
    let status = c.wait_numbers(&[
        ("/reports/received", PACKETS.into()),
        ("/reports/lost", 3),
        ("/reports/malformed", 1),
    ]);
    assert_eq!(status["subscribers"][0]["name"], "test");
    // Every report is a row, waits to be one, or has a reason.
    let number = |v: &serde_json::Value| v.as_u64().unwrap();
    let datagrams = &status["datagrams"];
    assert_eq!(datagrams["without_report"]["malformed"], 1, "{datagrams}");
    assert_eq!(datagrams["reports"], status["reports"]["received"]);
    let packets = &status["packets"];
    let without: u64 = packets["without_row"]
        .as_object()
        .unwrap()
        .values()
        .map(number)
        .sum();
    let told = number(&packets["rows"]) + number(&packets["waiting"]) + without;
    assert_eq!(told, number(&packets["records"]), "{packets}");
    let metrics = c.get("/metrics");
    assert!(
        metrics.contains(&format!("tidemark_collector_reports_total {PACKETS}\n")),
        "{metrics}"
    );
    assert!(
        metrics.contains("tidemark_collector_reports_lost_total 3\n"),
        "{metrics}"
    );

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/metrics.md");
    let page = std::fs::read_to_string(page).unwrap();
    for line in metrics.lines() {
        if let Some(name) = line.strip_prefix("# HELP tidemark_collector_") {
            let name = name.split(' ').next().unwrap();
            let name = name.strip_suffix("_total").unwrap_or(name);
            assert!(
                page.contains(&format!("`{name}`")),
                "docs/reference/metrics.md lacks {name}"
            );
        }
    }

    let packets = client
        .read_packets(ReadPacketsRequest {
            node_id: 10,
            port: 1,
            from_ns: 1_000_000_000,
            to_ns: 1_002_000_000,
            max_packets: 0,
            queue: None,
        })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(packets.ingress_ns.len(), 10);
    assert_eq!(packets.occupancy_bytes[0], 3028);

    let output = Command::new(BINARY)
        .args([
            "status",
            "--json",
            "--http",
            &format!("127.0.0.1:{}", c.http),
        ])
        .output()
        .unwrap();
    assert!(output.status.success());
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["reports"]["received"], PACKETS);

    c.signal(Signal::SIGTERM);
    let mut live = Vec::new();
    while let Some(update) = stream.message().await.unwrap() {
        live.push(update);
    }
    assert!(c.wait_end().success());
    for (i, u) in live.iter().enumerate() {
        assert_eq!((u.sequence, u.updates_lost), (i as u64, 0));
    }
    let (links, flows, drops) = records(&live);
    assert_eq!(drops.len() as u32, PACKETS / 100);
    let arrivals: u32 = live
        .iter()
        .flat_map(|u| &u.link_intervals)
        .map(|l| l.arrivals)
        .sum();
    assert_eq!(arrivals, PACKETS);
    assert!(live.iter().any(|u| u.status.is_some()));

    let replay = Replay::open(&c.capture).unwrap();
    assert!(replay.meta().ended_unix_ns.is_some());
    let replayed: Vec<Update> = replay.map(Result::unwrap).collect();
    let (replayed_links, replayed_flows, replayed_drops) = records(&replayed);
    assert_eq!(links, replayed_links);
    assert_eq!(flows, replayed_flows);
    assert_eq!(drops, replayed_drops);
    let left: Vec<_> = std::fs::read_dir(&c.capture)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|n| n.ends_with(".open"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A collector that is stopped (lid, swap, move to another machine) then finds in its socket the
/// reports sent meanwhile: none is late, and no time was declared over before them.
#[test]
fn a_stopped_collector_goes_on_where_it_was() {
    const EACH_MS: u64 = 20;
    let dir = tempfile::tempdir().unwrap();
    let mut c = Collector::start(dir.path());
    let udp = c.udp;
    let sender = std::thread::spawn(move || {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let start = std::time::Instant::now();
        for n in 0..300u64 {
            let due = Duration::from_millis(n * EACH_MS);
            std::thread::sleep(due.saturating_sub(start.elapsed()));
            let at = 1_000_000_000 + start.elapsed().as_nanos() as u64;
            let payload = report(n as u32 + 1, at, false, n as u32 * 1460);
            socket
                .send_to(&payload, (Ipv4Addr::LOCALHOST, udp))
                .unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(1_500));
    c.signal(Signal::SIGSTOP);
    std::thread::sleep(Duration::from_millis(3_500));
    c.signal(Signal::SIGCONT);
    sender.join().unwrap();
    let status = c.wait_numbers(&[("/reports/received", 300), ("/reports/lost", 0)]);
    assert_eq!(status["pipeline"]["rows_late"], 0, "{status}");
    c.signal(Signal::SIGTERM);
    assert!(c.wait_end().success());
    let replay = Replay::open(&c.capture).unwrap();
    let updates: Vec<Update> = replay.map(Result::unwrap).collect();
    let links = updates.iter().flat_map(|u| &u.link_intervals);
    assert_eq!(links.map(|l| l.arrivals).sum::<u32>(), 300);
}

fn run(args: &[&str]) -> Output {
    Command::new(BINARY).args(args).output().unwrap()
}

fn one_line(output: &Output, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    for word in words {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn a_port_in_use_is_said_before_anything_starts() {
    let dir = tempfile::tempdir().unwrap();
    let capture = dir.path().join("capture");
    let capture = capture.to_str().unwrap();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let (grpc, http, udp) = free_ports();
    let address = |port: u16| format!("127.0.0.1:{port}");
    let flags = |grpc: &str, http: &str, udp: &str| {
        run(&[
            "run",
            "--grpc",
            grpc,
            "--http",
            http,
            "--listen",
            udp,
            "--capture-dir",
            capture,
        ])
    };
    one_line(
        &flags(&taken, &address(http), &address(udp)),
        &["grpc.listen", "in use"],
    );
    one_line(
        &flags(&address(grpc), &taken, &address(udp)),
        &["http.listen", "in use"],
    );
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let taken = socket.local_addr().unwrap().to_string();
    one_line(
        &flags(&address(grpc), &address(http), &taken),
        &["listen", "in use"],
    );
    assert!(!std::path::Path::new(capture).exists());
}

#[test]
fn bad_configurations_are_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("c.toml");
    let path = path.to_str().unwrap();
    for (text, words) in [
        (
            "[grpc]\nlisten = \"127.0.0.1:1\"\nport = 5\n",
            vec!["c.toml:3", "port"],
        ),
        ("listen = [\"nowhere\"]\n", vec!["c.toml:1"]),
        (
            "[nodes.1]\ndepth_unit = \"cells\"\n",
            vec!["nodes.1.cell_bytes"],
        ),
        (
            "[tcp_probe]\nclock = \"sundial\"\n",
            vec!["c.toml:2", "sundial"],
        ),
    ] {
        std::fs::write(path, text).unwrap();
        one_line(&run(&["validate", "--config", path]), &words);
    }
    std::fs::write(path, "[nodes.1]\n").unwrap();
    assert!(run(&["validate", "--config", path]).status.success());
    one_line(
        &run(&["validate", "--config", "/no/such/file"]),
        &["/no/such/file"],
    );
    let (_, http, _) = free_ports();
    one_line(
        &run(&["status", "--http", &format!("127.0.0.1:{http}")]),
        &["no collector"],
    );
}

#[test]
fn the_same_configuration_starts_again_after_a_kill() {
    let dir = tempfile::tempdir().unwrap();
    for number in 1..=3 {
        let mut collector = Collector::start(dir.path());
        collector.signal(Signal::SIGKILL);
        collector.wait_end();
        let name = match number {
            1 => "capture".to_owned(),
            n => format!("capture-{n}"),
        };
        assert!(dir.path().join(name).join("capture.json").exists());
    }
}
