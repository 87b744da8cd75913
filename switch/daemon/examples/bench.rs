// SPDX-License-Identifier: Apache-2.0
//! Speed of the pipeline on one core: Tidemark's program, every packet reported, no I/O.
//! `cargo run --release -p tidemark-switch --example bench [PACKETS [WHICH]]`; WHICH is
//! part of a line's name and selects only that line.

#[path = "../tests/it/common/mod.rs"]
mod common;

use std::time::Instant;

use traffic_manager::{Switch, Wire};

/// Counts frames and returns their buffers.
#[derive(Default)]
struct Sink {
    frames: u64,
    spare: Vec<Vec<u8>>,
}

impl Wire for Sink {
    fn transmit(&mut self, _port: u32, frame: Vec<u8>, _time_ns: u64) {
        self.frames += 1;
        self.spare.push(frame);
    }
}

fn pass(
    s: &mut Switch,
    sink: &mut Sink,
    frames: &[Vec<u8>],
    packets: u64,
    time_ns: &mut u64,
) -> f64 {
    let start = Instant::now();
    for i in 0..packets {
        *time_ns += 1_000;
        s.receive(1, &frames[i as usize % frames.len()], *time_ns);
        s.run_until(*time_ns, sink);
        while let Some(f) = sink.spare.pop() {
            s.reuse(f);
        }
    }
    packets as f64 / start.elapsed().as_secs_f64()
}

fn main() {
    let packets: u64 = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(1_000_000);
    let which = std::env::args().nth(2).unwrap_or_default();
    for (what, bytes, reports) in [
        ("1514-byte frames, each reported", 1514, true),
        ("64-byte frames, each reported", 64, true),
        ("1514-byte frames, no reports", 1514, false),
    ]
    .into_iter()
    .filter(|(what, ..)| what.contains(&which))
    {
        let mut s = common::tidemark();
        if let (false, Some(loaded)) = (reports, s.loaded_mut()) {
            loaded.sessions.clear();
        }
        let mut sink = Sink::default();
        let frames: Vec<_> = (0..64).map(|i| common::tcp(1, 2, i, bytes)).collect();
        let mut time_ns = 0;
        let mut runs: Vec<f64> = (0..5)
            .map(|_| pass(&mut s, &mut sink, &frames, packets, &mut time_ns))
            .collect();
        runs.sort_by(f64::total_cmp);
        println!(
            "{what}: median of 5 {:.3} Mpps (min {:.3}, max {:.3}), {:.2} frames out per frame in",
            runs[2] / 1e6,
            runs[0] / 1e6,
            runs[4] / 1e6,
            sink.frames as f64 / (packets as f64 * 5.0)
        );
    }
}
