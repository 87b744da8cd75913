// SPDX-License-Identifier: Apache-2.0
//! Samples from other hosts: the agent program on the kernel's tracepoints
//! (needs root and tracefs; fails without), and a replayed run with known truth
//! through the same service.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{BINARY, Collector, free_ports};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tidemark_capture::Replay;

/// An agent that reports on connections with one port.
struct Agent(Child);

impl Agent {
    fn start(to: u16, port: u16) -> Self {
        Self::start_with(&["--to", &format!("127.0.0.1:{to}")], port)
    }

    fn start_with(words: &[&str], port: u16) -> Self {
        let mut child = Command::new(BINARY)
            .args(["agent", "--host", "far", "--json"])
            .args(words)
            .args(["--port", &port.to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("ready:") {
            line.clear();
            assert!(
                lines.read_line(&mut line).unwrap() > 0,
                "the agent ended; it needs root and tracefs"
            );
        }
        std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = lines.read_to_string(&mut rest);
        });
        Self(child)
    }

    /// Ends the agent; returns its summary.
    fn stop(mut self) -> serde_json::Value {
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM).unwrap();
        let mut text = String::new();
        let mut out = self.0.stdout.take().unwrap();
        out.read_to_string(&mut text).unwrap();
        assert!(self.0.wait().unwrap().success());
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

fn transfer(listener: &TcpListener) {
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        accepted.read_to_end(&mut all).unwrap();
        all.len()
    });
    client.write_all(&[7; 300_000]).unwrap();
    drop(client);
    assert_eq!(reader.join().unwrap(), 300_000);
}

const ACCEPT: &str = "agents = { accept = true }\n";

#[test]
fn an_agent_delivers_also_what_came_before_the_collector() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let dir = tempfile::tempdir().unwrap();
    let ports = free_ports();
    let agent = Agent::start(ports.0, port);
    transfer(&listener);
    let c = Collector::start_on(dir.path(), ports, ACCEPT);
    c.wait("what was kept", |s| {
        s["agents"][0]["events"].as_u64().is_some_and(|n| n > 0)
    });
    let before = c.status()["agents"][0]["events"].as_u64().unwrap();
    transfer(&listener);
    c.wait("what is new", |s| {
        s["agents"][0]["events"]
            .as_u64()
            .is_some_and(|n| n > before)
    });
    let report = agent.stop();
    let status = c.wait_numbers(&[
        ("/agents/0/missing", 0),
        ("/agents/0/events", report["delivered"].as_u64().unwrap()),
    ]);
    let shown = &status["agents"][0];
    assert_eq!(shown["host"], "far");
    assert_eq!(report["events"], report["delivered"]);
    assert_eq!(
        (&report["buffer_lost"], &report["undelivered"]),
        (&0.into(), &0.into())
    );
    let metrics = c.get("/metrics");
    assert!(metrics.contains("tidemark_collector_agent_buffer_lost_total 0\n"));
}

/// Without a collector: each line of the file is read back, and no file is overwritten.
#[test]
fn an_agent_writes_a_file() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("far.txt");
    let words = ["--out", path.to_str().unwrap()];
    let agent = Agent::start_with(&words, port);
    transfer(&listener);
    let report = agent.stop();
    let trace = std::fs::read(&path).unwrap();
    let lines: Vec<_> = trace.split_inclusive(|&b| b == b'\n').collect();
    let events = lines
        .iter()
        .filter_map(|l| tcp_probe::text::parse_line(l).unwrap());
    let events: Vec<_> = events.collect();
    assert_eq!(report["events"], events.len());
    assert_eq!(report["written"], lines.len());
    let samples = events
        .iter()
        .filter(|e| matches!(e, tcp_probe::Event::Probe(_)));
    assert!(samples.count() > 2, "{}", String::from_utf8_lossy(&trace));
    assert!(
        events
            .iter()
            .all(|e| [e.flow().src_port, e.flow().dst_port].contains(&port))
    );

    let mut again = Command::new(BINARY);
    let again = again.arg("agent").args(words).output().unwrap();
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(
        !again.status.success() && said.contains("File exists"),
        "{said}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), trace);
}

/// An agent with a wrong address does not wait forever.
#[test]
fn an_agent_without_a_collector_ends_with_an_error() {
    let mut agent = Command::new(BINARY);
    agent.args(["agent", "--to", "127.0.0.1:1", "--connect-within", "1"]);
    let ended = agent.output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert_eq!(said.matches("trying again").count(), 1, "{said}");
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("error: --to 127.0.0.1:1: no collector took samples within 1 s"));
}

/// A collector that does not want agents says so.
#[test]
fn agents_are_refused_unless_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let c = Collector::start(dir.path());
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import");
    let output = Command::new(BINARY)
        .args(["replay", "--speed", "0", "--pcap"])
        .arg(data.join("reports.pcap.gz"))
        .arg("--tcp-probe")
        .arg(data.join("tcp_probe.txt.gz"))
        .args(["--to", &format!("127.0.0.1:{}", c.udp)])
        .args(["--agent", &format!("127.0.0.1:{}", c.grpc)])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("agents.accept"), "{text}");
}

fn replay(c: &Collector, source: &[&str], speed: &str) -> serde_json::Value {
    let output = Command::new(BINARY)
        .arg("replay")
        .args(source)
        .args(["--to", &format!("127.0.0.1:{}", c.udp)])
        .args(["--agent", &format!("127.0.0.1:{}", c.grpc)])
        .args(["--speed", speed, "--json"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn arrivals(capture: &Path) -> (u64, u64, u64) {
    let (mut arrivals, mut lost, mut joined) = (0, 0, 0);
    for update in Replay::open(capture).unwrap() {
        let update = update.unwrap();
        for l in &update.link_intervals {
            arrivals += u64::from(l.arrivals);
            lost += u64::from(l.reports_lost);
        }
        for f in &update.flow_intervals {
            joined += u64::from(f.joined);
        }
    }
    (arrivals, lost, joined)
}

/// Sends a recorded run through sockets and streams, and then the resulting capture: both give the
/// same packets, losses and joins.
#[test]
fn a_replayed_run_is_joined_live() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/import");
    let truth: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(data.join("truth.json")).unwrap()).unwrap();
    let sent = truth["capture"]["reports_sent"].as_u64().unwrap();
    let lost = truth["capture"]["reports_lost"].as_u64().unwrap();
    let samples = truth["capture"]["tcp_probe_samples"].as_u64().unwrap();
    let file = |name: &str| data.join(name).to_str().unwrap().to_owned();
    // 40 s are replayed in 4 s: packets can still wait long enough for samples.
    let settings = format!(
        "{ACCEPT}pipeline = {{ join_wait_ms = 2000 }}\n\
         [nodes.10]\ndepth_unit = \"packets\"\n[nodes.10.ports.1]\ncapacity_bps = 50000000\n"
    );
    let dir = tempfile::tempdir().unwrap();
    let mut first = Collector::start_with(dir.path(), &settings);
    let pcap = file("reports.pcap.gz");
    let trace = file("tcp_probe.txt.gz");
    let report = replay(&first, &["--pcap", &pcap, "--tcp-probe", &trace], "10");
    assert_eq!(report["datagrams"].as_u64().unwrap(), sent - lost);
    assert_eq!(report["events"].as_u64().unwrap(), samples);
    first.wait("all reports", |s| s["reports"]["received"] == sent - lost);
    first.signal(Signal::SIGTERM);
    assert!(first.wait_end().success());
    let (packets, found, joined) = arrivals(&first.capture);
    assert_eq!((packets, found), (sent - lost, lost));
    assert!(
        joined as f64 > 0.98 * packets as f64,
        "{joined} of {packets}"
    );

    let again = tempfile::tempdir().unwrap();
    let mut second = Collector::start_with(again.path(), &settings);
    let capture = first.capture.to_str().unwrap();
    let report = replay(&second, &["--capture", capture], "10");
    assert_eq!(report["skipped"], 0);
    second.wait("all reports", |s| s["reports"]["received"] == sent - lost);
    second.signal(Signal::SIGTERM);
    assert!(second.wait_end().success());
    let (packets, found, joined) = arrivals(&second.capture);
    assert_eq!((packets, found), (sent - lost, lost));
    assert!(
        joined as f64 > 0.95 * packets as f64,
        "{joined} of {packets}"
    );
}
