// SPDX-License-Identifier: Apache-2.0
//! Runs with known truth (`<repo>/../shared/data/ns3`) through the collector's
//! pipeline into the estimator.

#![allow(clippy::unwrap_used)] // helpers of tests

use flate2::read::GzDecoder;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use tidemark_estimators::{
    Estimator, EstimatorConfig, FlowClass, FlowEstimate, LinkEstimate, LinkId,
};
use tidemark_pipeline::{
    Config, DepthUnit, NodeConfig, Pipeline, PortConfig, PostcardRow, VecSink, proto_nodes,
};

const LINK: LinkId = LinkId {
    node_id: 10,
    port: 1,
};

fn data() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/ns3");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("SKIPPED: no ../shared/data/ns3 beside the repository");
    None
}

fn unzipped(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(File::open(path).unwrap())
        .read_to_end(&mut bytes)
        .unwrap();
    bytes
}

/// UDP payloads of a little-endian nanosecond pcap with Ethernet, IPv4, UDP.
fn reports(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let bytes = unzipped(path);
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xa1b2_3c4d, "nanosecond pcap");
    let mut out = Vec::new();
    let mut at = 24;
    while at < bytes.len() {
        let time = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        let len = word(at + 8) as usize;
        out.push((time, bytes[at + 16 + 42..at + 16 + len].to_vec()));
        at += 16 + len;
    }
    out
}

fn probes(path: &Path) -> Vec<tcp_probe::Event> {
    BufReader::new(GzDecoder::new(File::open(path).unwrap()))
        .split(b'\n')
        .filter_map(|line| tcp_probe::text::parse_line(&line.unwrap()).unwrap())
        .collect()
}

fn time_of(e: &tcp_probe::Event) -> u64 {
    match e {
        tcp_probe::Event::Probe(s) => s.time_ns,
        tcp_probe::Event::Retransmit(s) => s.time_ns,
        tcp_probe::Event::CongState(s) => s.time_ns,
    }
}

struct Run {
    truth: serde_json::Value,
    rows: Vec<PostcardRow>,
    estimator: Estimator,
    /// Warm-up's end, node clock.
    from_ns: u64,
}

fn run(name: &str, probed: bool) -> Option<Run> {
    let dir = data()?.join(name);
    let truth: serde_json::Value =
        serde_json::from_reader(File::open(dir.join("truth.json")).unwrap()).unwrap();
    let mut config = Config {
        join_wait_ms: 5000,
        local_host: Some("ns3".to_owned()),
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
    let events = if probed {
        probes(&dir.join("tcp_probe.txt.gz"))
    } else {
        Vec::new()
    };
    let mut events = events.into_iter().peekable();
    let exporter = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10));
    for (time, payload) in reports(&dir.join("reports.pcap.gz")) {
        while let Some(e) = events.next_if(|e| time_of(e) <= time) {
            pipeline.push_event("ns3", e);
        }
        int_report::decode(&payload, |r| pipeline.push_report(exporter, &r, time)).unwrap();
    }
    for e in events {
        pipeline.push_event("ns3", e);
    }
    pipeline.finish();
    let sink = pipeline.into_sink();
    let mut estimator = Estimator::new(EstimatorConfig {
        retention_s: 3600.0,
        ..EstimatorConfig::default()
    });
    estimator.set_nodes(&nodes);
    for u in &sink.updates {
        estimator.push(u);
    }
    let offset_s = truth["capture"]["switch_clock_minus_host_clock_s"]
        .as_f64()
        .unwrap();
    let warmup_s = truth["warmup_s"].as_f64().unwrap();
    Some(Run {
        from_ns: ((offset_s + warmup_s) * 1e9) as u64,
        rows: sink.postcards,
        truth,
        estimator,
    })
}

type Key = (String, u16, u16);

fn kinds(truth: &serde_json::Value) -> HashMap<Key, (String, f64)> {
    truth["flows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| {
            (
                (
                    f["src"].as_str().unwrap().to_owned(),
                    f["sport"].as_u64().unwrap() as u16,
                    f["dport"].as_u64().unwrap() as u16,
                ),
                (
                    f["kind"].as_str().unwrap().to_owned(),
                    f["base_rtt_s"].as_f64().unwrap_or(0.0),
                ),
            )
        })
        .collect()
}

fn key_of(f: &FlowEstimate) -> Key {
    let k = f.key.as_ref().unwrap();
    (k.src.clone(), k.src_port, k.dst_port)
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

struct Judged {
    n_b: f64,
    long: usize,
    long_right: usize,
    t_e_ms: f64,
    wrong: Vec<String>,
}

fn judge(r: &Run, e: &LinkEstimate) -> Judged {
    let truth = kinds(&r.truth);
    let mut j = Judged {
        n_b: r.truth["n_flows"]["lbp"].as_f64().unwrap(),
        long: 0,
        long_right: 0,
        t_e_ms: r.truth["lbp_rtt_harmonic_mean_s"].as_f64().unwrap() * 1e3,
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
        if !right {
            j.wrong.push(format!(
                "{kind} as {:?} ({:.2}) rtt {rtt} base {:?} pkts {} drops {} L{} R{}: {}",
                f.class,
                f.confidence,
                f.base_rtt_ms,
                f.packets,
                f.drops,
                f.reductions_local,
                f.reductions_remote,
                f.why
            ));
        }
    }
    j
}

fn show(name: &str, how: &str, e: &LinkEstimate, j: &Judged) {
    let x = &e.estimates;
    println!(
        "{name} {how}: N_b {:.2} [{:.1},{:.1}] truth {}; classes {}/{}; T_e {:?} truth {:.1}; u {:.4} p01 {:.4}; loss {:.6} ({}); L {:?} alpha {:.2} q {:?} delta {:?} D {:?} s {:?} cond {:?} C_e {:.3} rho {:.3} {:?}",
        x.n_b.value,
        x.n_b.low,
        x.n_b.high,
        j.n_b,
        j.long_right,
        j.long,
        x.t_e_ms.map(|t| (t.value * 10.0).round() / 10.0),
        j.t_e_ms,
        e.utilisation.mean.unwrap(),
        e.utilisation.p01.unwrap_or(f64::NAN),
        e.loss_rate,
        e.drops,
        x.mean_loss_burst.map(|v| v.value),
        x.alpha.value,
        x.q.map(|v| v.value),
        x.delta.map(|v| v.value),
        x.d_mean.map(|v| v.value),
        x.s.map(|v| v.value),
        x.condition_fraction.map(|v| v.value),
        x.c_e_share.value,
        x.rho.value,
        x.regime.value,
    );
    for w in &j.wrong {
        println!("   {w}");
    }
    let mut cc: HashMap<String, u32> = HashMap::new();
    for f in e.flows.iter().filter(|f| f.class == FlowClass::Lbp) {
        *cc.entry(format!("{:?}", f.congestion_control)).or_default() += 1;
    }
    println!("   cc {cc:?}");
}

/// What the definitions give on the rows themselves.
struct Reference {
    utilisation: f64,
    loss_rate: f64,
    mean_loss_burst: Option<f64>,
    d_mean: Option<f64>,
    d_max: f64,
}

fn reference(r: &Run, e: &LinkEstimate) -> Reference {
    let (from, to) = (e.from_ns, e.to_ns);
    let inside = |t: u64| (from..to).contains(&t);
    let on_link = || r.rows.iter().filter(|p| p.port == 1);
    let bytes: u64 = on_link()
        .filter(|p| !p.dropped && inside(p.egress_ns))
        .map(|p| u64::from(p.ip_bytes))
        .sum();
    let arrivals = on_link().filter(|p| inside(p.ingress_ns)).count();
    let mut drops: Vec<(u64, u64)> = on_link()
        .filter(|p| p.dropped && inside(p.ingress_ns))
        .map(|p| (p.ingress_ns, p.flow_id))
        .collect();
    drops.sort_unstable();
    let c = r.truth["C_bps"].as_f64().unwrap() / 8.0;
    let t_e_ns = (e.estimates.t_e_ms.unwrap().value * 1e6) as u64;
    let events = 1 + drops
        .windows(2)
        .filter(|w| w[1].0 - w[0].0 >= t_e_ns)
        .count();
    let lbp: Vec<u64> = e
        .flows
        .iter()
        .filter(|f| f.class == FlowClass::Lbp)
        .map(|f| f.flow)
        .collect();
    let mut per_rtt: HashMap<u64, Vec<u64>> = HashMap::new();
    for (t, f) in drops.iter().filter(|d| lbp.contains(&d.1)) {
        let of = per_rtt.entry((t - from) / t_e_ns).or_default();
        if !of.contains(f) {
            of.push(*f);
        }
    }
    let d: Vec<f64> = per_rtt.values().map(|v| v.len() as f64).collect();
    Reference {
        utilisation: bytes as f64 / (c * (to - from) as f64 / 1e9),
        loss_rate: drops.len() as f64 / arrivals as f64,
        mean_loss_burst: (!drops.is_empty()).then(|| drops.len() as f64 / events as f64),
        d_mean: (!d.is_empty()).then(|| d.iter().sum::<f64>() / d.len() as f64),
        d_max: d.iter().copied().fold(0.0, f64::max),
    }
}

fn check(name: &str) {
    for probed in [true, false] {
        let Some(r) = run(name, probed) else { return };
        let (_, end) = r.estimator.span(LINK).unwrap();
        let e = r.estimator.estimate(LINK, r.from_ns, end);
        let j = judge(&r, &e);
        show(name, if probed { "probed" } else { "passive" }, &e, &j);
        let slack = if probed {
            f64::max(1.0, 0.1 * j.n_b)
        } else {
            f64::max(2.0, 0.2 * j.n_b)
        };
        // Short flows that look like LBP are there for a part of the window.
        assert!((e.estimates.n_b.value - j.n_b).abs() <= slack + 0.5, "N_b");
        let exact = reference(&r, &e);
        assert!((e.utilisation.mean.unwrap() - exact.utilisation).abs() < 1e-9);
        assert_eq!(e.loss_rate, exact.loss_rate);
        let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-9,
            (a, b) => a.is_none() && b.is_none(),
        };
        let x = &e.estimates;
        assert!(near(
            x.mean_loss_burst.map(|v| v.value),
            exact.mean_loss_burst
        ));
        assert!(near(x.d_mean.map(|v| v.value), exact.d_mean));
        assert!(near(x.d_max.map(|v| v.value), Some(exact.d_max)));
        if probed {
            assert!(j.long_right as f64 >= 0.9 * j.long as f64, "classes");
            let t_e = x.t_e_ms.unwrap().value;
            assert!(
                (t_e / j.t_e_ms - 1.0).abs() <= 0.1,
                "T_e {t_e} {}",
                j.t_e_ms
            );
            let truth = r.truth["utilisation"].as_f64().unwrap();
            // The truth covers the rest of the simulation too.
            let close = (e.utilisation.mean.unwrap() - truth).abs();
            assert!(close <= 0.02, "utilisation {close}");
        }
    }
}

macro_rules! runs {
    ($($name:ident),*) => { $( #[test] fn $name() { check(stringify!($name)); } )* };
}
runs!(
    bscl_n20_bdp,
    bscl_n60_bdp,
    one_newreno_1bdp,
    one_cubic_half_bdp,
    one_bbr_1bdp,
    reno_n16_sqrt,
    elastic_n2_b100
);
