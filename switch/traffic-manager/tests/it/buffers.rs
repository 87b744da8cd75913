// SPDX-License-Identifier: Apache-2.0
//! Buffers of sent frames are reused at once, not after the next call.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::collections::BTreeSet;

use common::echo;
use traffic_manager::{PortConfig, Wire};

/// Sends at once, and records the addresses of the frames.
#[derive(Default)]
struct Immediate {
    sent: usize,
    addresses: BTreeSet<usize>,
    spare: Vec<Vec<u8>>,
}

impl Wire for Immediate {
    fn transmit(&mut self, _port: u32, frame: Vec<u8>, _time_ns: u64) {
        self.sent += 1;
        self.addresses.insert(frame.as_ptr() as usize);
        self.spare.push(frame);
    }

    fn give_back(&mut self, spare: &mut Vec<Vec<u8>>) {
        spare.append(&mut self.spare);
    }
}

#[test]
fn a_long_run_needs_few_buffers() {
    const FRAMES: usize = 1000;
    let mut s = echo();
    s.configure(
        1,
        PortConfig {
            rate_bps: 1_000_000_000,
            depth_packets: 0,
            ..PortConfig::default()
        },
    );
    let mut wire = Immediate::default();
    for _ in 0..FRAMES {
        s.receive(1, &[7; 1000], 0);
    }
    s.run_until(1_000_000_000, &mut wire);
    assert_eq!(wire.sent, FRAMES);
    // One frame travels while the next is served.
    assert!(wire.addresses.len() <= 2, "{}", wire.addresses.len());
}
