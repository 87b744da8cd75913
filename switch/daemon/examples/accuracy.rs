// SPDX-License-Identifier: Apache-2.0
//! Rate and delay of a port, measured from outside through veth interfaces.
//! Needs root. `cargo run --release -p tidemark-switch --example accuracy [SECONDS]`

#[path = "../tests/it/common/mod.rs"]
mod common;
#[path = "../tests/it/common/veth.rs"]
mod veth;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tidemark_switch::data_plane;
use tidemark_switch::io::afpacket::Interface;
use traffic_manager::PortConfig;

const RATE_BPS: u64 = 100_000_000;
const DELAY_NS: u64 = 5_000_000;
const FRAME_BYTES: usize = 1514;
const WIRE_BYTES: f64 = 1538.0;

#[allow(clippy::unwrap_used)]
fn main() {
    let seconds: u64 = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(10);
    veth::enter_new_namespace();
    let mut ports = BTreeMap::new();
    for (n, p, h) in [
        (1, "p1", "h1"),
        (2, "p2", "h2"),
        (common::REPORT_PORT, "p9", "h9"),
    ] {
        veth::add_veth(p, h);
        ports.insert(n, Interface::open(p).unwrap());
    }
    let (h1, h2) = (veth::Host::open("h1"), veth::Host::open("h2"));
    let mut s = common::tidemark();
    s.configure(
        2,
        PortConfig {
            rate_bps: RATE_BPS,
            delay_ns: DELAY_NS,
            depth_packets: 2000,
            ..PortConfig::default()
        },
    );
    let (handle, thread) =
        data_plane::start(s, ports, None, data_plane::DEFAULT_COALESCE_NS).unwrap();

    // One frame at a time: service and propagation only.
    let frame = common::tcp(1, 2, 0, FRAME_BYTES);
    let expected_us = (DELAY_NS as f64 + WIRE_BYTES * 8e9 / RATE_BPS as f64) / 1e3;
    let mut errors: Vec<f64> = (0..200)
        .map(|_| {
            let t = Instant::now();
            h1.send(&frame);
            h2.receive().unwrap();
            t.elapsed().as_secs_f64() * 1e6 - expected_us
        })
        .collect();
    errors.sort_by(f64::total_cmp);
    println!(
        "delay: expected {expected_us:.1} us; error median {:+.1} us, 95 % {:+.1} us, max {:+.1} us",
        errors[100], errors[190], errors[199]
    );

    // More than the port can carry, so that it is never idle.
    let end = Instant::now() + Duration::from_secs(seconds);
    let sender = std::thread::spawn(move || {
        // By elapsed time: this thread may be delayed without the port ever
        // becoming idle.
        let start = Instant::now();
        let mut sent = 0u64;
        while Instant::now() < end {
            let due = start.elapsed().as_secs_f64() * 1.2 * RATE_BPS as f64 / 8.0 / WIRE_BYTES;
            while sent < due as u64 + 100 {
                h1.send(&frame);
                sent += 1;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    h2.receive().unwrap();
    let first = Instant::now();
    let (mut frames, mut last) = (0u64, first);
    while Instant::now() < end {
        h2.receive().unwrap();
        frames += 1;
        last = Instant::now();
    }
    sender.join().unwrap();
    let rate = frames as f64 * WIRE_BYTES * 8.0 / (last - first).as_secs_f64();
    println!(
        "rate: {:.4} Mb/s of {} Mb/s over {seconds} s ({:+.3} %)",
        rate / 1e6,
        RATE_BPS / 1_000_000,
        (rate / RATE_BPS as f64 - 1.0) * 100.0
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let (queued, refused, sent) = runtime
        .block_on(handle.call(|p| {
            let port = p.switch.port_mut(2);
            (
                port.queue_packets(),
                port.tail_dropped_packets,
                port.tx_packets,
            )
        }))
        .unwrap();
    println!(
        "switch: {sent} frames sent, {refused} refused, {queued} still queued (0 refused would mean that the port was idle at times)"
    );
    handle.stop();
    thread.join().unwrap();
}
