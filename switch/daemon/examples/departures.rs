// SPDX-License-Identifier: Apache-2.0
//! Measures how far departures are from their ideal times at 100 Mb/s to 2 Gb/s: times in reports
//! against an ideal port, and times at the interface against those in reports.
//! Needs root. `cargo run --release -p tidemark-switch --example departures [COALESCE_US]`

#[path = "../tests/it/common/mod.rs"]
mod common;
#[path = "../tests/it/common/veth.rs"]
mod veth;

use std::collections::BTreeMap;

use tidemark_switch::data_plane::{self, Handle};
use tidemark_switch::io::afpacket::Interface;
use traffic_manager::PortConfig;

const RATES_MBPS: [u64; 5] = [100, 200, 500, 1000, 2000];
const FRAME_BYTES: usize = 1514;
const WIRE_BITS: f64 = 1538.0 * 8.0;
/// Frames of a burst; all wait at the port before the first has got far.
const BURST: u32 = 1000;
const BURSTS: u32 = 20;

/// Contents of a report, which follows 42 bytes of headers.
struct Report {
    sequence: u32,
    ingress_ns: u64,
    egress_ns: u64,
}

impl Report {
    fn read(frame: &[u8]) -> Option<Self> {
        let u64_at = |at: usize| Some(u64::from_be_bytes(frame.get(at..at + 8)?.try_into().ok()?));
        Some(Self {
            ingress_ns: u64_at(70)?,
            egress_ns: u64_at(78)?,
            // After 4 bytes of ports in the inner TCP header.
            sequence: (u64_at(118)? >> 32) as u32,
        })
    }
}

/// Returns the wall-clock time at the switch's time 0.
#[allow(clippy::unwrap_used)]
fn boot_ns(runtime: &tokio::runtime::Runtime, switch: &Handle) -> u64 {
    let both = switch.call(|p| {
        let wall = std::time::SystemTime::now();
        (
            wall.duration_since(std::time::UNIX_EPOCH).unwrap(),
            p.now_ns(),
        )
    });
    let (wall, logical_ns) = runtime.block_on(both).unwrap();
    wall.as_nanos() as u64 - logical_ns
}

/// Sets the niceness of this thread and of threads that it starts.
fn prefer(nice: i32) {
    // SAFETY: no pointers; a failure changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
}

/// Formats the median, 99th percentile and maximum of the absolute errors, in µs.
fn summary(mut errors_ns: Vec<f64>) -> String {
    errors_ns.iter_mut().for_each(|e| *e = e.abs());
    errors_ns.sort_by(f64::total_cmp);
    let last = errors_ns.len() - 1;
    let at = |part: f64| errors_ns[(last as f64 * part) as usize] / 1e3;
    format!("{:7.2} {:7.2} {:8.2}", at(0.5), at(0.99), at(1.0))
}

#[allow(clippy::unwrap_used)]
fn main() {
    let coalesce_us = std::env::args().nth(1).and_then(|a| a.parse::<u64>().ok());
    let coalesce_ns = coalesce_us.map_or(data_plane::DEFAULT_COALESCE_NS, |us| us * 1000);
    veth::enter_new_namespace();
    let mut ports = BTreeMap::new();
    for (n, p, h) in [
        (1, "p1", "h1"),
        (2, "p2", "h2"),
        (common::REPORT_PORT, "p9", "h9"),
    ] {
        veth::add_veth(p, h);
        // Each frame by itself: a super-frame would have a single time.
        let mut i = Interface::open(p).unwrap();
        i.merge = false;
        ports.insert(n, i);
    }
    let [h1, h2, h9] = ["h1", "h2", "h9"].map(veth::Host::open);
    h2.stamp();
    // As the switch itself raises only this thread.
    prefer(-15);
    let (switch, thread) = data_plane::start(common::tidemark(), ports, None, coalesce_ns).unwrap();
    prefer(0);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.build().unwrap();

    println!("sizes of errors, us      reports from the ideal     frames from their reports");
    println!("     Mb/s   frames     median     99 %      max     median     99 %      max");
    for mbps in RATES_MBPS {
        let config = PortConfig {
            rate_bps: mbps * 1_000_000,
            ..PortConfig::default()
        };
        let set = switch.call(move |p| p.switch.configure(2, config));
        runtime.block_on(set).unwrap();
        let service_ns = WIRE_BITS * 1e3 / mbps as f64;
        let (mut from_ideal, mut from_report) = (Vec::new(), Vec::new());
        for burst in 0..BURSTS {
            let first = burst * BURST;
            let frames = (first..first + BURST).map(|n| common::tcp(1, 2, n, FRAME_BYTES));
            let frames: Vec<_> = frames.collect();
            let boot_ns = boot_ns(&runtime, &switch);
            let mut sent = 0;
            while sent < frames.len() {
                sent += h1.send_all(&frames[sent..]);
            }
            let reports: Vec<Report> = (0..BURST)
                .map(|_| Report::read(&h9.receive().unwrap()).unwrap())
                .collect();
            // Like a port that is idle only while nothing waits.
            let mut free_ns = 0.0;
            for (n, r) in (first..).zip(&reports) {
                assert_eq!(r.sequence, n, "a frame is missing");
                let ideal_ns = f64::max(r.ingress_ns as f64, free_ns);
                free_ns = ideal_ns + service_ns;
                from_ideal.push(r.egress_ns as f64 - ideal_ns);
                let (came_ns, _) = h2.receive_stamped().unwrap();
                let left_ns = boot_ns as f64 + r.egress_ns as f64 + service_ns;
                from_report.push(came_ns as f64 - left_ns);
            }
        }
        println!(
            "{mbps:9} {:8}    {}    {}",
            from_ideal.len(),
            summary(from_ideal),
            summary(from_report)
        );
    }
    switch.stop();
    thread.join().unwrap();
}
