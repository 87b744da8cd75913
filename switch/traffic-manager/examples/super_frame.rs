// SPDX-License-Identifier: Apache-2.0
//! Cutting and merging speed on one core: `cargo run --release -p super-frame --example bench`.

use std::time::Instant;

use traffic_manager::super_frame::{Cutter, Gso, Run, VnetHeader};

const SEGMENTS: usize = 44;
const SEGMENT_BYTES: usize = 1460;

fn frame() -> (Vec<u8>, VnetHeader) {
    let payload = SEGMENTS * SEGMENT_BYTES;
    let mut f = vec![2; 12];
    f.extend([8, 0, 0x45, 0]);
    f.extend((40 + payload as u16).to_be_bytes());
    f.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    f.extend([0x12, 0x34, 0, 80, 0, 0, 0, 5, 0, 0, 0, 9]);
    f.extend([0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    f.extend((0..payload).map(|i| i as u8));
    let vnet = VnetHeader {
        needs_checksum: true,
        gso: Gso::TcpV4,
        segment_bytes: SEGMENT_BYTES as u16,
        checksum_start: 34,
        checksum_offset: 16,
        ..VnetHeader::NONE
    };
    (f, vnet)
}

fn rate(what: &str, rounds: usize, mut round: impl FnMut()) {
    let mut runs: Vec<f64> = (0..5)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..rounds {
                round();
            }
            (rounds * SEGMENTS) as f64 / start.elapsed().as_secs_f64()
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    println!(
        "{what}: median of 5 {:.2} M segments/s, {:.0} ns each",
        runs[2] / 1e6,
        1e9 / runs[2]
    );
}

fn main() {
    let (whole, vnet) = frame();
    let mut buffer = whole.clone();
    let mut out = Vec::new();
    rate("cut", 20_000, || {
        buffer.clear();
        buffer.extend_from_slice(&whole);
        if let Ok(mut c) = Cutter::new(std::mem::take(&mut buffer), &vnet, 1514) {
            while c.next_into(&mut out) {
                std::hint::black_box(&out);
            }
            buffer = c.into_buffer();
        }
    });
    let mut segments = Vec::new();
    if let Ok(mut c) = Cutter::new(whole, &vnet, 1514) {
        while c.next_into(&mut out) {
            segments.push(out.clone());
        }
    }
    rate("merge", 20_000, || {
        if let Some((first, rest)) = segments.split_first()
            && let Some(mut run) = Run::start(first)
        {
            for s in rest {
                assert!(run.push(first, s).is_some());
            }
            std::hint::black_box(run.header(first, &mut out));
        }
    });
}
