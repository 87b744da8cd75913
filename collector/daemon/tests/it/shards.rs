// SPDX-License-Identifier: Apache-2.0
//! Two pipelines in one collector: the results of each node are those of a single pipeline, and so
//! are stores and status.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::common;

use common::{BINARY, Collector};
use flate2::read::GzDecoder;
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tidemark_capture::{AnyRow, Merged, Replay};

const NODES: [u32; 2] = [10, 11];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/import")
        .join(name)
}

/// Writes the recorded run as another node would report it: the same flows cross both.
fn reports_of(node: u32, to: &Path) {
    let mut pcap = Vec::new();
    let file = std::fs::File::open(fixture("reports.pcap.gz")).unwrap();
    GzDecoder::new(file).read_to_end(&mut pcap).unwrap();
    // Behind the headers of Ethernet, IPv4 and UDP, and a word of the report's own.
    const NODE_ID: usize = 14 + 20 + 8 + 4;
    let mut record = 24;
    while record < pcap.len() {
        let length: [u8; 4] = pcap[record + 8..record + 12].try_into().unwrap();
        let at = record + 16 + NODE_ID;
        assert_eq!(pcap[at..at + 4], NODES[0].to_be_bytes());
        pcap[at..at + 4].copy_from_slice(&node.to_be_bytes());
        record += 16 + u32::from_le_bytes(length) as usize;
    }
    std::fs::write(to, pcap).unwrap();
}

fn replay(c: &Collector, pcap: &Path, samples: bool) -> Child {
    let mut command = Command::new(BINARY);
    command.arg("replay").arg("--pcap").arg(pcap);
    command.args(["--to", &format!("127.0.0.1:{}", c.udp)]);
    if samples {
        let trace = fixture("tcp_probe.txt.gz");
        command.arg("--tcp-probe").arg(trace);
        command.args(["--agent", &format!("127.0.0.1:{}", c.grpc)]);
    }
    let json = command.args(["--speed", "10", "--json"]);
    json.stdout(Stdio::null()).spawn().unwrap()
}

/// Counts the arrivals, lost reports and joined packets of each node.
fn by_node(capture: &Path) -> BTreeMap<u32, [u64; 3]> {
    let mut nodes = BTreeMap::<u32, [u64; 3]>::new();
    let mut replay = Replay::open(capture).unwrap();
    for update in &mut replay {
        let update = update.unwrap();
        for l in &update.link_intervals {
            let of = nodes.entry(l.node_id).or_default();
            of[0] += u64::from(l.arrivals);
            of[1] += u64::from(l.reports_lost);
        }
        for f in &update.flow_intervals {
            nodes.entry(f.node_id).or_default()[2] += u64::from(f.joined);
        }
    }
    assert_eq!(replay.rows_missing(), Some(0));
    nodes
}

/// Returns the node of each flow id; checks that every position in the order is taken once.
fn flow_ids(capture: &Path) -> BTreeMap<u64, u32> {
    let mut ids = BTreeMap::new();
    let mut rows = Merged::open(capture).unwrap();
    let mut next = 0;
    while let Some(row) = rows.next_row().unwrap() {
        let order = match row {
            AnyRow::Postcard(r) => {
                assert_eq!(*ids.entry(r.flow_id).or_insert(r.node_id), r.node_id);
                r.order
            }
            AnyRow::Probe(r) => r.row.order,
            AnyRow::Event(r) => r.order,
        };
        assert_eq!(order, next);
        next += 1;
    }
    ids
}

#[test]
fn two_nodes_in_two_pipelines() {
    let text = std::fs::read_to_string(fixture("truth.json")).unwrap();
    let truth: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |name: &str| truth["capture"][name].as_u64().unwrap();
    let (sent, lost) = (of("reports_sent"), of("reports_lost"));
    let dir = tempfile::tempdir().unwrap();
    let pcaps = NODES.map(|node| {
        let pcap = dir.path().join(format!("{node}.pcap"));
        reports_of(node, &pcap);
        pcap
    });
    // 40 s are replayed in 4 s: packets can still wait long enough for samples.
    let mut settings = "agents = { accept = true }\nreceive = { shards = 2 }\n\
         pipeline = { join_wait_ms = 2000 }\n"
        .to_owned();
    for node in NODES {
        settings += &format!(
            "[nodes.{node}]\ndepth_unit = \"packets\"\n\
             [nodes.{node}.ports.1]\ncapacity_bps = 50000000\n"
        );
    }
    let mut c = Collector::start_with(dir.path(), &settings);
    let replays = [replay(&c, &pcaps[0], true), replay(&c, &pcaps[1], false)];
    for mut child in replays {
        assert!(child.wait().unwrap().success());
    }
    c.wait("all reports of both", |s| {
        s["reports"]["received"] == 2 * (sent - lost)
    });
    let status = c.status();
    assert_eq!(status["reports"]["malformed"], 0);
    let metrics = c.get("/metrics");
    let reports = format!("tidemark_collector_reports_total {}", 2 * (sent - lost));
    assert!(metrics.contains(&reports), "{metrics}");
    c.signal(Signal::SIGTERM);
    assert!(c.wait_end().success());

    let nodes = by_node(&c.capture);
    for node in NODES {
        let [arrivals, missing, joined] = nodes[&node];
        assert_eq!((arrivals, missing), (sent - lost, lost), "node {node}");
        let share = joined as f64 / arrivals as f64;
        assert!(share > 0.95, "node {node}: {joined} of {arrivals} joined");
    }
    // Each flow is a separate flow at each node, with its own id.
    let ids = flow_ids(&c.capture);
    let of = |node: u32| ids.values().filter(|&&n| n == node).count();
    assert_eq!(of(NODES[0]), of(NODES[1]));
    assert!(of(NODES[0]) > 0);
}
