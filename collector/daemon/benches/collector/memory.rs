// SPDX-License-Identifier: Apache-2.0
//! Memory at 2 M reports/s, all joined and stored: with 10 000 flows, with a million, and with
//! more than may be remembered.
//!
//! Each case runs in a process of its own, so that nothing else is in its memory: everything that
//! the collector has after its sockets, fed at 2 M/s of the switch's time.

use crate::data::{REPORT_BYTES, config_for, packet_at, patch, sample_at, template};
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;
use tcp_probe::Event;
use tidemark_capture::{CaptureMeta, CaptureWriter, FORMAT, WriterOptions};
use tidemark_collector::engine::EngineSink;
use tidemark_collector::hub::Hub;
use tidemark_collector::packets::{Bounds, PacketMemory};
use tidemark_collector::source::SourceCounters;
use tidemark_collector::store::CaptureSink;
use tidemark_pipeline::Pipeline;

const CHILD: &str = "TIDEMARK_BENCH_MEMORY";
const SPACING_NS: u64 = 500;
const RTT_NS: u64 = 100_000_000;

struct Case {
    flows: u32,
    max_flows: usize,
    seconds: u64,
    most_mib: u64,
}

const CASES: [Case; 3] = [
    Case {
        flows: 10_000,
        max_flows: 65_536,
        seconds: 6,
        most_mib: 500,
    },
    Case {
        flows: 1_000_000,
        max_flows: 1_000_000,
        seconds: 6,
        most_mib: 2048,
    },
    // A flood of flows, beyond the number that is remembered.
    Case {
        flows: 1_500_000,
        max_flows: 1_000_000,
        seconds: 6,
        most_mib: 2048,
    },
];

pub(crate) fn with_many_flows() {
    if let Ok(case) = std::env::var(CHILD) {
        return child(&CASES[case.parse::<usize>().unwrap()]);
    }
    for case in 0..CASES.len() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--bench", "memory"])
            .env(CHILD, case.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        for line in text.lines().filter(|l| l.starts_with("memory")) {
            println!("\n{line}");
        }
    }
}

fn child(case: &Case) {
    let config = || config_for(case.max_flows);
    let dir = tempfile::tempdir().unwrap();
    let meta = CaptureMeta {
        format: FORMAT,
        config: config(),
        ..CaptureMeta::default()
    };
    let options = WriterOptions {
        wait_when_full: true,
        ..WriterOptions::default()
    };
    let writer = CaptureWriter::create(&dir.path().join("c"), meta, options).unwrap();
    let bounds = Bounds {
        keep_s: 10,
        max_packets: 4_000_000,
        max_answer: 200_000,
    };
    let sink = EngineSink::new(
        vec![
            Box::new(Arc::new(PacketMemory::new(bounds, BTreeSet::new()))),
            Box::new(CaptureSink(writer)),
        ],
        Arc::new(Hub::new(65_536)),
        Arc::new(SourceCounters::default()),
        None,
    );
    let mut pipeline = Pipeline::new(config(), sink).unwrap();
    let exporter = IpAddr::from([192, 0, 2, 10]);
    let mut report = template();
    assert_eq!(report.len(), REPORT_BYTES);
    let mut samples: VecDeque<Event> = VecDeque::new();
    let reports = case.seconds * 1_000_000_000 / SPACING_NS;
    for n in 0..reports {
        let p = packet_at(n, case.flows, SPACING_NS);
        patch(&mut report, &p);
        samples.extend(sample_at(&p, case.flows, SPACING_NS, RTT_NS));
        let rx_ns = p.egress_ns() + 30_000;
        while samples.front().is_some_and(|e| e.time_ns() <= rx_ns) {
            if let Some(event) = samples.pop_front() {
                pipeline.push_event("local", event);
            }
        }
        let _ = int_report::decode(&report, |r| pipeline.push_report(exporter, r, rx_ns));
        if n % 100_000 == 0 {
            pipeline.sink_mut().flush();
        }
    }
    let (waiting, _) = pipeline.waiting();
    pipeline.finish();
    let stats = pipeline.stats();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak_kib: u64 = status
        .lines()
        .find_map(|l| {
            l.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix("kB")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap();
    let peak_mib = peak_kib / 1024;
    println!(
        "memory at 2 M reports/s, {} flows of which {} are remembered, RTT {} ms: peak {peak_mib} MiB \
         (at most {} MiB{}); {:.1} % joined, {} flows evicted, {waiting} packets waiting at the end",
        case.flows,
        case.max_flows.min(case.flows as usize),
        RTT_NS / 1_000_000,
        case.most_mib,
        if peak_mib > case.most_mib {
            ": BEYOND"
        } else {
            ""
        },
        100.0 * stats.matched_fraction().unwrap_or(f64::NAN),
        stats.flows_evicted,
    );
}
