// SPDX-License-Identifier: Apache-2.0
//! Feeds runs with known truth through the collector's pipeline into the estimator.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub(crate) mod coverage;
mod limit;
pub(crate) mod reference;
pub(crate) mod table;

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use test_support::golden::{GOLDEN_RUNS, Run as Recorded};
use tidemark_estimators::{
    Estimator, EstimatorConfig, FlowClass, FlowEstimate, LinkEstimate, LinkId,
};
use tidemark_pipeline::{
    Config, DepthUnit, Event, EventRow, NodeConfig, Pipeline, PortConfig, PostcardRow, ProbeRow,
    VecSink, proto_nodes,
};

pub(crate) const LINK: LinkId = LinkId {
    node_id: 10,
    port: 1,
    queue: 0,
};

/// Source of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The golden set: the first seconds of each run.
    Golden,
    /// The whole run, from the directory next to the repository.
    Whole,
}

/// The runs in the folder named by `TIDEMARK_RUNS`, else the whole runs next to the repository,
/// else the golden set. Each run is read when its turn comes.
pub(crate) fn runs() -> Box<dyn Iterator<Item = Recorded>> {
    let mut paths: Vec<PathBuf> = match std::env::var_os("TIDEMARK_RUNS") {
        Some(folder) => std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().path())
            .collect(),
        None => whole_runs(),
    };
    paths.sort();
    if paths.is_empty() {
        let names = GOLDEN_RUNS.iter();
        return Box::new(names.map(|name| Recorded::golden(name).unwrap()));
    }
    Box::new(paths.into_iter().map(|p| Recorded::read(&p).unwrap()))
}

/// The whole runs next to the repository; none if they are missing.
pub(crate) fn whole_runs() -> Vec<PathBuf> {
    ["ns3", "ns3-2"]
        .iter()
        .filter_map(|folder| test_support::golden::shared_runs(folder).ok())
        .flatten()
        .collect()
}

fn recorded(source: Source, name: &str) -> Recorded {
    match source {
        Source::Golden => Recorded::golden(name).unwrap(),
        Source::Whole => {
            let of_name = |path: &PathBuf| path.ends_with(name);
            let path = whole_runs().into_iter().find(of_name);
            Recorded::read(&path.unwrap_or_else(|| panic!("no run {name}"))).unwrap()
        }
    }
}

fn probes(trace: &str) -> Vec<tcp_probe::Event> {
    trace
        .lines()
        .filter_map(|line| tcp_probe::text::parse_line(line.as_bytes()).unwrap())
        .collect()
}

fn time_of(e: &tcp_probe::Event) -> u64 {
    match e {
        tcp_probe::Event::Probe(s) => s.time_ns,
        tcp_probe::Event::Retransmit(s) => s.time_ns,
        tcp_probe::Event::CongState(s) => s.time_ns,
    }
}

fn ports_of(e: &tcp_probe::Event) -> (u16, u16) {
    let flow = match e {
        tcp_probe::Event::Probe(s) => &s.flow,
        tcp_probe::Event::Retransmit(s) => &s.flow,
        tcp_probe::Event::CongState(s) => &s.flow,
    };
    (flow.src_port, flow.dst_port)
}

/// Inner packet of a report with its TCP header replaced by a UDP header, if the view reports its
/// flow as datagrams.
fn as_datagram(report: &int_report::Report<'_>, datagrams: Datagrams) -> Option<Vec<u8>> {
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    let inner = int_report::parse_inner(&report.inner).ok()?;
    if inner.protocol != TCP || !datagrams.has(inner.src_port, inner.dst_port) {
        return None;
    }
    let mut packet = report.inner.packet.to_vec();
    let ip = match report.inner.kind {
        int_report::InnerKind::Ethernet => 14,
        _ => 0,
    };
    assert_eq!(packet[ip] >> 4, 4, "IPv4 without VLAN");
    packet[ip + 9] = UDP;
    let udp = ip + usize::from(packet[ip] & 15) * 4;
    let length = (inner.ip_bytes as usize + ip - udp) as u16;
    packet[udp + 4..udp + 6].copy_from_slice(&length.to_be_bytes());
    packet[udp + 6..].fill(0);
    Some(packet)
}

/// How a run is observed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub probed: bool,
    pub interval_ms: u32,
    /// One of this many reports is lost on its way; 0 = none.
    pub lose_one_in: u64,
    /// One packet in 2^shift is reported; drops are always reported.
    pub sampling_shift: u8,
    /// Records captured before this time of the run are left out, s: no SYN and no slow start of
    /// the long flows is seen.
    pub from_s: f64,
    /// TCP flows that are reported as datagrams of the same size, as a switch sees QUIC: no
    /// sequence numbers, flags or windows of their senders.
    pub datagrams: Datagrams,
}

/// TCP flows that a view turns into datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Datagrams {
    None,
    Half,
    All,
}

impl Datagrams {
    fn has(self, source_port: u16, destination_port: u16) -> bool {
        match self {
            Self::None => false,
            Self::Half => {
                mixed(u64::from(source_port) << 16 | u64::from(destination_port)) & 1 == 1
            }
            Self::All => true,
        }
    }
}

impl View {
    pub(crate) const PROBED: Self = Self {
        probed: true,
        interval_ms: 10,
        lose_one_in: 0,
        sampling_shift: 0,
        from_s: 0.0,
        datagrams: Datagrams::None,
    };
    pub(crate) const PASSIVE: Self = Self {
        probed: false,
        ..Self::PROBED
    };
}

pub(crate) struct Run {
    pub truth: serde_json::Value,
    pub rows: Vec<PostcardRow>,
    pub probes: Vec<ProbeRow>,
    pub estimator: Estimator,
    /// Start of the simulation, node clock.
    pub zero_ns: u64,
    /// End of the warm-up, node clock.
    pub from_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Start and end of each stretch in which a pausing flow sent, node clock.
    sending: HashMap<Key, Vec<(u64, u64)>>,
}

impl Run {
    /// Estimate over the whole capture after the warm-up.
    pub(crate) fn estimate(&self) -> LinkEstimate {
        let (_, end) = self.estimator.span(LINK).unwrap();
        self.estimator.estimate(LINK, self.from_ns, end)
    }

    /// Estimate between two times of the simulation, s.
    pub(crate) fn between(&self, from_s: f64, to_s: f64) -> LinkEstimate {
        let at = |s: f64| self.zero_ns + (s * 1e9) as u64;
        self.estimator.estimate(LINK, at(from_s), at(to_s))
    }
}

/// Hash of `i`, so that "one in n" has no period.
fn mixed(i: u64) -> u64 {
    let mut x = i.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Reads one of the simulated runs in the given view.
pub(crate) fn run(source: Source, name: &str, view: View) -> Run {
    seen(&recorded(source, name), view)
}

/// Feeds a recorded run through the collector's pipeline into an estimator.
pub(crate) fn seen(recorded: &Recorded, view: View) -> Run {
    let mut truth = recorded.truth.clone();
    let all_events = probes(&recorded.trace);
    limit::by_what_limits(&mut truth, &all_events);
    // As in the collector: without a tcp_probe source nothing is joined.
    let mut config = Config {
        join_wait_ms: 5000,
        join: view.probed,
        local_host: view.probed.then(|| "ns3".to_owned()),
        interval_ms: view.interval_ms,
        ..Config::default()
    };
    let mut node = NodeConfig {
        depth_unit: DepthUnit::Packets,
        ..NodeConfig::default()
    };
    node.ports.insert(
        1,
        PortConfig {
            name: "bottleneck".into(),
            capacity_bps: truth["C_bps"].as_u64().unwrap(),
            wire_overhead_bytes: 0,
            queue_overhead_bytes: 0,
        },
    );
    config.nodes.insert(10, node);
    let nodes = proto_nodes(&config.nodes);
    let mut pipeline = Pipeline::new(config, VecSink::default()).unwrap();
    let events = if view.probed { all_events } else { Vec::new() };
    let from_ns = (view.from_s * 1e9) as u64;
    let mut events = events
        .into_iter()
        .filter(|e| time_of(e) >= from_ns && !view.datagrams.has(ports_of(e).0, ports_of(e).1))
        .peekable();
    let exporter = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10));
    let mut sequences = [0u32; 64];
    for (i, report) in recorded.reports.iter().enumerate() {
        let time = report.captured_ns;
        if time < from_ns {
            continue;
        }
        while let Some(e) = events.next_if(|e| time_of(e) <= time) {
            pipeline.push_event("ns3", e);
        }
        let dice = mixed(i as u64);
        if view.lose_one_in > 0 && dice.is_multiple_of(view.lose_one_in) {
            continue;
        }
        int_report::decode(&report.payload, |r| {
            let mut r = *r;
            let inner = as_datagram(&r, view.datagrams);
            if let Some(packet) = &inner {
                r.inner.packet = packet;
            }
            if view.sampling_shift > 0 {
                let drawn = dice & ((1 << view.sampling_shift) - 1) == 0;
                if !drawn && r.ce_marked() {
                    r.policy_flags = r
                        .policy_flags
                        .map(|f| f | int_report::Report::POLICY_OUT_OF_SAMPLE);
                } else if !drawn && !r.dropped {
                    return;
                }
                // The switch numbers the reports it sends.
                let sequence = &mut sequences[usize::from(r.hw_id)];
                *sequence += 1;
                r.sequence = *sequence;
                r.sampling_shift = Some(view.sampling_shift + r.sampling_shift.unwrap_or(0));
            }
            pipeline.push_report(exporter, &r, time);
        })
        .unwrap();
    }
    for e in events {
        pipeline.push_event("ns3", e);
    }
    pipeline.finish();
    let mut estimator = Estimator::new(EstimatorConfig {
        retention_s: 3600.0,
        ..EstimatorConfig::default()
    });
    estimator.set_nodes(&nodes);
    let sink = pipeline.into_sink();
    for update in &sink.updates {
        estimator.push(update);
    }
    let offset_s = truth["capture"]["switch_clock_minus_host_clock_s"]
        .as_f64()
        .unwrap();
    let warmup_s = truth["warmup_s"].as_f64().unwrap().max(view.from_s);
    Run {
        sending: sending(&truth, &sink.events, &sink.postcards),
        zero_ns: (offset_s * 1e9) as u64,
        from_ns: ((offset_s + warmup_s) * 1e9) as u64,
        interval_ns: u64::from(view.interval_ms) * 1_000_000,
        rows: sink.postcards,
        probes: sink.probes,
        truth,
        estimator,
    }
}

type Key = (String, u16, u16);

/// Class and base RTT (s) of each flow, by source address and ports.
pub(crate) fn kind_of(truth: &serde_json::Value) -> HashMap<Key, (String, f64)> {
    truth["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            (
                true_key(f),
                (
                    f["kind"].as_str().unwrap().to_owned(),
                    f["base_rtt_s"].as_f64().unwrap_or(0.0),
                ),
            )
        })
        .collect()
}

fn true_key(f: &serde_json::Value) -> Key {
    let port = |key: &str| f[key].as_u64().unwrap() as u16;
    (
        f["src"].as_str().unwrap().to_owned(),
        port("sport"),
        port("dport"),
    )
}

fn key_of(f: &FlowEstimate) -> Key {
    let k = f.key.as_ref().unwrap();
    (k.src.clone(), k.src_port, k.dst_port)
}

/// The flow in the truth that belongs to an estimate.
pub(crate) fn flow_of<'t>(
    truth: &'t serde_json::Value,
    f: &FlowEstimate,
) -> Option<&'t serde_json::Value> {
    let key = key_of(f);
    truth["flows"]
        .as_array()
        .unwrap()
        .iter()
        .find(|t| t["src"] == *key.0 && t["sport"] == key.1 && t["dport"] == key.2)
}

fn label(c: FlowClass) -> &'static str {
    match c {
        FlowClass::Lbp => "lbp",
        FlowClass::Rbp => "rbp",
        FlowClass::Wl => "wl",
        FlowClass::Short => "short",
        FlowClass::Other => "udp",
    }
}

/// True values, and the estimate's classes compared with them.
pub(crate) struct Judged {
    pub n_b: f64,
    /// Flows that are not short, and how many of them were classified correctly.
    pub long: usize,
    pub long_right: usize,
    pub t_e_ms: f64,
    pub wrong: Vec<String>,
}

/// Least bytes of a flow that the truth calls short by its size, but that is bottlenecked here
/// while it lasts: it also lost packets or was marked here.
const LEAST_BYTES: f64 = 100.0 * 1448.0;

/// Part of `[from_s, to_s)` of the run during which a flow of the truth is bottlenecked here.
fn active(flow: &serde_json::Value, from_s: f64, to_s: f64) -> f64 {
    let number = |key: &str| flow[key].as_f64().unwrap_or(0.0);
    let signals = number("drops_all") + number("ce_marks");
    let bottlenecked = match flow["kind"].as_str() {
        Some("lbp") => true,
        Some("short") => number("bytes_delivered") > LEAST_BYTES && signals > 0.0,
        _ => false,
    };
    let stop_s = flow["stop_s"].as_f64().unwrap_or(f64::INFINITY);
    let seconds = stop_s.min(to_s) - number("start_s").max(from_s);
    if bottlenecked && seconds > 0.0 {
        seconds / (to_s - from_s)
    } else {
        0.0
    }
}

/// A flow that sends for less than this part of its time has pauses.
const PAUSES: f64 = 0.85;
/// Silences of at least this length do not count as its time.
const PAUSE_NS: u64 = 500_000_000;

/// Stretches in which packets arrive, for each flow whose application has nothing to send part of
/// the time.
fn sending(
    truth: &serde_json::Value,
    events: &[EventRow],
    rows: &[PostcardRow],
) -> HashMap<Key, Vec<(u64, u64)>> {
    let number = |f: &serde_json::Value, key: &str| f[key].as_f64();
    let end_s = truth["duration_s"].as_f64().unwrap_or(f64::NAN);
    let warmup_s = truth["warmup_s"].as_f64().unwrap();
    let pausing: HashSet<Key> = truth["flows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| {
            let start_s = number(f, "start_s").unwrap_or(0.0).max(warmup_s);
            let seconds = number(f, "stop_s").unwrap_or(end_s) - start_s;
            number(f, "active_s").is_some_and(|s| s < PAUSES * seconds)
        })
        .map(true_key)
        .collect();
    let mut ids: HashMap<u64, Key> = HashMap::new();
    for event in events {
        if let Event::Flow(f) = &event.event {
            let key = (f.key.src.to_string(), f.key.src_port, f.key.dst_port);
            if pausing.contains(&key) {
                ids.insert(f.flow_id, key);
            }
        }
    }
    let mut found: HashMap<Key, Vec<(u64, u64)>> = HashMap::new();
    for row in rows.iter().filter(|r| r.port == LINK.port) {
        if let Some(key) = ids.get(&row.flow_id) {
            let all = found.entry(key.clone()).or_default();
            match all.last_mut() {
                Some(last) if row.ingress_ns < last.1 + PAUSE_NS => {
                    last.1 = last.1.max(row.ingress_ns);
                }
                _ => all.push((row.ingress_ns, row.ingress_ns)),
            }
        }
    }
    found
}

/// True N_b and T_e (ms) over a window, each flow weighted by the part of it in which it was
/// active. T_e is NaN if N_b is 0.
pub(crate) fn true_n_b_and_t_e(r: &Run, from_ns: u64, to_ns: u64) -> (f64, f64) {
    let at = |ns: u64| ns.saturating_sub(r.zero_ns) as f64 / 1e9;
    let (mut n, mut inverse) = (0.0, 0.0);
    for flow in r.truth["flows"].as_array().unwrap() {
        let mut part = active(flow, at(from_ns), at(to_ns));
        if let Some(stretches) = r.sending.get(&true_key(flow)) {
            let inside = |s: &(u64, u64)| s.1.min(to_ns).saturating_sub(s.0.max(from_ns));
            let sent_ns: u64 = stretches.iter().map(inside).sum();
            part = part.min(sent_ns as f64 / (to_ns - from_ns) as f64);
        }
        if part > 0.0 {
            n += part;
            inverse += part / flow["base_rtt_s"].as_f64().unwrap();
        }
    }
    (n, n / inverse * 1e3)
}

pub(crate) fn judge(r: &Run, e: &LinkEstimate) -> Judged {
    let truth = kind_of(&r.truth);
    let (n_b, t_e_ms) = true_n_b_and_t_e(r, e.from_ns, e.to_ns);
    let mut j = Judged {
        n_b,
        long: 0,
        long_right: 0,
        t_e_ms,
        wrong: Vec::new(),
    };
    for f in &e.flows {
        let Some((kind, rtt)) = truth.get(&key_of(f)) else {
            continue; // acknowledgements and the like
        };
        let right = label(f.class) == kind;
        if kind != "short" {
            j.long += 1;
            j.long_right += usize::from(right);
        }
        let far = f
            .base_rtt_ms
            .is_none_or(|b| (b / 1e3 / rtt - 1.0).abs() > 0.1);
        if !right || (kind == "lbp" && far) {
            j.wrong.push(format!(
                "{kind} as {:?} ({:.2}) rtt {rtt} base {:?} pkts {} drops {} L{} R{}: {}",
                f.class,
                f.confidence,
                f.base_rtt_ms,
                f.packets,
                f.drops.unwrap_or(0),
                f.reductions_local,
                f.reductions_remote,
                f.why
            ));
        }
    }
    j
}
