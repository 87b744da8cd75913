// SPDX-License-Identifier: Apache-2.0
//! Runs with known truth: losses, join, clocks, base RTTs and totals. The tests in
//! `whole` need the whole runs, the others run on the golden set.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use test_support::golden::{Run, shared};
use tidemark_pipeline::{Config, DepthUnit, Event, NodeConfig, Pipeline, PortConfig, VecSink};

fn events(trace: &str) -> Vec<tcp_probe::Event> {
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

struct Outcome {
    pipeline: Pipeline<VecSink>,
    truth: serde_json::Value,
}

fn run(run: Run, shared_clock: bool) -> Outcome {
    let truth = run.truth;
    let mut config = Config {
        join_wait_ms: 5000,
        local_host: shared_clock.then(|| "ns3".to_owned()),
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
    let mut pipeline = Pipeline::new(config, VecSink::default()).unwrap();
    let mut samples = events(&run.trace).into_iter().peekable();
    let exporter = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 10));
    for report in run.reports {
        let time = report.captured_ns;
        while let Some(e) = samples.next_if(|e| time_of(e) <= time) {
            pipeline.push_event("ns3", e);
        }
        int_report::decode(&report.payload, |r| pipeline.push_report(exporter, r, time)).unwrap();
    }
    for e in samples {
        pipeline.push_event("ns3", e);
    }
    pipeline.finish();
    Outcome { pipeline, truth }
}

fn golden(name: &str) -> Run {
    Run::golden(name).unwrap()
}

fn whole(name: &str) -> Run {
    Run::read(&shared("ns3").unwrap().join(name)).unwrap()
}

fn check(recorded: Run) {
    let name = recorded.name.clone();
    let name = name.as_str();
    let Outcome { pipeline, truth } = run(recorded, true);
    let stats = pipeline.stats();
    let capture = &truth["capture"];
    let lost = capture["reports_lost"].as_u64().unwrap();
    let sent = capture["reports_sent"].as_u64().unwrap();
    println!("{name}: {stats:?}");
    assert_eq!(stats.reports_lost, lost);
    assert_eq!(stats.reports + lost, sent);
    assert_eq!(stats.inner_errors.iter().sum::<u64>(), 0);
    assert_eq!(
        (
            stats.rows_late,
            stats.rows_ahead,
            stats.reports_implausible_time
        ),
        (0, 0, 0)
    );
    println!("{name}: matched {:.5}", stats.matched_fraction().unwrap());
    // Of *all* data packets of flows with samples, including those before the first sample.
    let sink = pipeline.sink();
    let mut probed = HashMap::new();
    for e in &sink.events {
        if let Event::Flow(f) = &e.event {
            probed.insert(f.flow_id, f.probed);
        }
    }
    let (mut data, mut matched) = (0u64, 0u64);
    for row in sink
        .postcards
        .iter()
        .filter(|r| r.payload_bytes > 0 && probed[&r.flow_id])
    {
        data += 1;
        matched += u64::from(row.join.matched());
    }
    println!("{name}: matched of all {matched}/{data}");
    assert!(matched as f64 >= 0.99 * data as f64, "{matched}/{data}");
    check_clock(&pipeline, &truth, name);
    check_base_rtt(&pipeline, &truth, name);
    check_totals(&pipeline, &truth, name);
}

fn check_clock(pipeline: &Pipeline<VecSink>, truth: &serde_json::Value, name: &str) {
    let clocks = pipeline.clocks();
    assert_eq!(clocks.len(), 1);
    let c = &clocks[0];
    let offset_s = truth["capture"]["switch_clock_minus_host_clock_s"]
        .as_f64()
        .unwrap();
    let drift_ppm = truth["capture"]["switch_drift_ppm"].as_f64().unwrap();
    let mut worst: f64 = 0.0;
    for host_s in [1.0, 10.0, 20.0, 30.0] {
        let switch_ns = (host_s + host_s * drift_ppm * 1e-6 + offset_s) * 1e9;
        let host_ns = switch_ns
            + c.offset_ns as f64
            + (switch_ns - c.reference_ns as f64) * c.drift_ppb / 1e9;
        worst = worst.max((host_ns - host_s * 1e9).abs());
    }
    let drift_error = -c.drift_ppb / 1000.0 - drift_ppm;
    println!(
        "{name}: clock error {:.1} us, drift error {drift_error:.4} ppm",
        worst / 1000.0
    );
    assert!(worst < 1e6, "{worst} ns");
    assert!(drift_error.abs() < 1.0, "{drift_error} ppm");
}

fn check_base_rtt(pipeline: &Pipeline<VecSink>, truth: &serde_json::Value, name: &str) {
    let mut keys = HashMap::new();
    let mut handshake = HashMap::new();
    for e in &pipeline.sink().events {
        if let Event::Flow(f) = &e.event {
            keys.insert(
                (f.key.src.to_string(), f.key.src_port, f.key.dst_port),
                f.flow_id,
            );
            handshake.insert(f.flow_id, f.handshake_rtt_ns);
        }
    }
    let mut all: HashMap<u64, Vec<u32>> = HashMap::new();
    for p in pipeline.sink().probes.iter().filter(|p| p.base_rtt_us > 0) {
        all.entry(p.flow_id).or_default().push(p.base_rtt_us);
    }
    // A difference of two smoothed values: the least of thousands is least because of its error, so
    // users can rely on the 1st percentile.
    let base: HashMap<u64, u32> = all
        .into_iter()
        .map(|(id, mut samples)| {
            samples.sort_unstable();
            (id, samples[samples.len() / 100])
        })
        .collect();
    let (mut worst, mut worst_handshake, mut count, mut shakes): (f64, f64, u32, u32) =
        (0.0, 0.0, 0, 0);
    for f in truth["flows"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["kind"] == "lbp")
    {
        let key = (
            f["src"].as_str().unwrap().to_owned(),
            f["sport"].as_u64().unwrap() as u16,
            f["dport"].as_u64().unwrap() as u16,
        );
        let true_us = f["base_rtt_s"].as_f64().unwrap() * 1e6;
        let Some(id) = keys.get(&key) else { continue };
        if let Some(&b) = base.get(id) {
            count += 1;
            let error = (f64::from(b) - true_us) / true_us;
            // The simulator measures round trips in whole ms.
            assert!(
                error.abs() < 0.06 || (f64::from(b) - true_us).abs() < 2000.0,
                "{key:?}: {b} us instead of {true_us}"
            );
            if error.abs() > worst.abs() {
                worst = error;
            }
        }
        if handshake[id] > 0 {
            shakes += 1;
            let error = (handshake[id] as f64 / 1000.0 - true_us) / true_us;
            if error.abs() > worst_handshake.abs() {
                worst_handshake = error;
            }
        }
    }
    println!(
        "{name}: base RTT of {count} LBP flows, worst error {:.1} %; handshake of {shakes}, worst {:.1} %",
        worst * 100.0,
        worst_handshake * 100.0
    );
    assert!(count > 0);
    assert!(
        shakes > 0 && worst_handshake.abs() < 0.02,
        "{worst_handshake}"
    );
}

fn check_totals(pipeline: &Pipeline<VecSink>, truth: &serde_json::Value, name: &str) {
    let (mut bytes, mut arrivals, mut drops, mut lost) = (0u64, 0u64, 0u64, 0u64);
    let mut joined = 0u64;
    for u in &pipeline.sink().updates {
        for l in &u.link_intervals {
            bytes += l.ip_bytes;
            arrivals += u64::from(l.arrivals);
            drops += u64::from(l.drops);
            lost += u64::from(l.reports_lost);
        }
        for f in &u.flow_intervals {
            joined += u64::from(f.joined + f.unjoined);
        }
    }
    let stats = pipeline.stats();
    let rows = &pipeline.sink().postcards;
    assert_eq!(arrivals, rows.len() as u64);
    assert_eq!(drops, rows.iter().filter(|r| r.dropped).count() as u64);
    assert_eq!(
        bytes,
        rows.iter()
            .filter(|r| !r.dropped)
            .map(|r| u64::from(r.ip_bytes))
            .sum::<u64>()
    );
    assert_eq!(lost, truth["capture"]["reports_lost"].as_u64().unwrap());
    assert_eq!(joined, stats.join_candidates);
    println!("{name}: {arrivals} arrivals, {drops} drops");
}

macro_rules! runs {
    ($($test:ident: $name:literal),+ $(,)?) => {
        $( #[test] fn $test() { check(golden($name)); } )+

        mod whole_runs {
            use super::*;
            test_support::shared_data_test! {
                $( fn $test() { check(whole($name)); } )+
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

/// Without a shared clock only the network's own bounds are left: the error is
/// half the difference of the delays before and after the switch (here 1 ms,
/// the switch being 1 ms nearer to the senders' side of the path).
fn pairs_alone_give_the_clock(recorded: impl Fn(&str) -> Run) {
    for name in [
        "one_newreno_1bdp",
        "bscl_n60_bdp",
        "reno_n16_sqrt",
        "elastic_n2_b100",
    ] {
        let Outcome { pipeline, truth } = run(recorded(name), false);
        let c = &pipeline.clocks()[0];
        let offset_s = truth["capture"]["switch_clock_minus_host_clock_s"]
            .as_f64()
            .unwrap();
        let drift_ppm = truth["capture"]["switch_drift_ppm"].as_f64().unwrap();
        let host_s = 15.0;
        let switch_ns = (host_s + host_s * drift_ppm * 1e-6 + offset_s) * 1e9;
        let host_ns = switch_ns
            + c.offset_ns as f64
            + (switch_ns - c.reference_ns as f64) * c.drift_ppb / 1e9;
        let error_ms = (host_ns - host_s * 1e9) / 1e6;
        let drift_error = -c.drift_ppb / 1000.0 - drift_ppm;
        println!(
            "{name}: pairs only: error {error_ms:.3} ms, drift error {drift_error:.3} ppm, {} pairs",
            c.matched_pairs
        );
        assert!(error_ms.abs() < 2.0 && drift_error.abs() < 10.0);
        assert!(pipeline.stats().matched_fraction().unwrap() > 0.99);
    }
}

#[test]
fn pairs_alone_give_the_clock_of_golden_runs() {
    pairs_alone_give_the_clock(golden);
}

test_support::shared_data_test! {
    fn pairs_alone_give_the_clock_of_whole_runs() {
        pairs_alone_give_the_clock(whole);
    }
}
