// SPDX-License-Identifier: Apache-2.0
//! Sends frames into an interface as fast as it takes them, and prints the number sent.
//! `blast INTERFACE SECONDS FRAME_BYTES [SEGMENTS [RATE]]`; TCP from host 1 to host 2.
//! With SEGMENTS, each super-frame has that many (0: single frames), and segments are counted.
//! RATE limits frames or segments per second (0: no limit).

#[path = "../tests/it/common/mod.rs"]
mod common;
#[path = "../tests/it/common/veth.rs"]
mod veth;

use std::time::{Duration, Instant};

#[allow(clippy::unwrap_used)]
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, interface, seconds, bytes, more @ ..] = args.as_slice() else {
        eprintln!("usage: blast INTERFACE SECONDS FRAME_BYTES [SEGMENTS [RATE]]");
        std::process::exit(2);
    };
    let host = veth::Host::open(interface);
    host.bypass_qdisc();
    let bytes: usize = bytes.parse().unwrap();
    let number = |i: usize| {
        more.get(i)
            .map_or(0.0, |n: &String| n.parse::<f64>().unwrap())
    };
    let (segments, rate) = (number(0) as usize, number(1));
    let frames: Vec<_> = if segments == 0 {
        (0..64).map(|i| common::tcp(1, 2, i, bytes)).collect()
    } else {
        host.use_vnet();
        let (frame, vnet) = common::bulk(segments, bytes - 54);
        vec![[&vnet.write()[..], &frame].concat(); 8]
    };
    let begin = Instant::now();
    let end = begin + Duration::from_secs_f64(seconds.parse().unwrap());
    let mut sent = 0u64;
    loop {
        if rate > 0.0 {
            let due = begin + Duration::from_secs_f64(sent as f64 / rate);
            std::thread::sleep(due.min(end).saturating_duration_since(Instant::now()));
        }
        if Instant::now() >= end {
            break;
        }
        // At a low rate, less than a whole batch at once.
        let batch = if rate > 0.0 {
            let of_a_millisecond = rate / 1e3 / segments.max(1) as f64;
            frames.len().min((of_a_millisecond as usize).max(1))
        } else {
            frames.len()
        };
        sent += (host.send_all(&frames[..batch]) * segments.max(1)) as u64;
    }
    println!("{sent}");
}
