// SPDX-License-Identifier: Apache-2.0
//! Sends frames into an interface as fast as it takes them, and prints how many
//! went. `blast INTERFACE SECONDS FRAME_BYTES [SEGMENTS]`; TCP from host 1 to host 2.
//! With SEGMENTS, that many in each super-frame; the segments are what is counted.

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/veth.rs"]
mod veth;

use std::time::{Duration, Instant};

#[allow(clippy::unwrap_used)]
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, interface, seconds, bytes, more @ ..] = args.as_slice() else {
        eprintln!("usage: blast INTERFACE SECONDS FRAME_BYTES [SEGMENTS]");
        std::process::exit(2);
    };
    let host = veth::Host::open(interface);
    host.bypass_qdisc();
    let bytes: usize = bytes.parse().unwrap();
    let segments: usize = more.first().map_or(1, |n| n.parse().unwrap());
    let frames: Vec<_> = if more.is_empty() {
        (0..64).map(|i| common::tcp(1, 2, i, bytes)).collect()
    } else {
        host.use_vnet();
        let (frame, vnet) = common::bulk(segments, bytes - 54);
        vec![[&vnet.write()[..], &frame].concat(); 8]
    };
    let end = Instant::now() + Duration::from_secs_f64(seconds.parse().unwrap());
    let mut sent = 0u64;
    while Instant::now() < end {
        sent += (host.send_all(&frames) * segments) as u64;
    }
    println!("{sent}");
}
