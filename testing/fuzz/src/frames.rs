// SPDX-License-Identifier: Apache-2.0
//! Fuzzed frames for a switch.

use crate::choices::Choices;
use crate::common;
use traffic_manager::{Switch, Wire};

/// Largest number of frames per input.
const MOST_FRAMES: usize = 64;
/// IPv6, a VLAN tag, ARP.
const ETHER_TYPES: [[u8; 2]; 3] = [[0x86, 0xdd], [0x81, 0], [8, 6]];
const STEPS_NS: [u64; 3] = [1_000, 1_000_000, 1_000_000_000];

struct Nowhere;

impl Wire for Nowhere {
    fn transmit(&mut self, _: u32, _: Vec<u8>, _: u64) {}
}

/// Feeds one frame, and runs everything due until then.
pub(crate) fn feed(c: &mut Choices<'_>, s: &mut Switch, time_ns: &mut u64) {
    let sequence = c.u64() as u32;
    let mut f = common::tcp(1, 2, sequence, 54 + c.below(200));
    if let Some(ether_type) = ETHER_TYPES.get(c.below(6)) {
        f[12..14].copy_from_slice(ether_type);
    }
    c.damage(&mut f);
    *time_ns += STEPS_NS[c.below(STEPS_NS.len())];
    s.receive(c.below(12) as u32, &f, *time_ns);
    s.run_until(*time_ns, &mut Nowhere);
}

/// Feeds frames to a switch that forwards, reports and has a limit on its queue.
pub fn frame(data: &[u8]) {
    let mut c = Choices::new(data);
    let mut s = common::tidemark();
    common::limit(&mut s, 2, 3_000);
    let mut time_ns = 0;
    for _ in 0..MOST_FRAMES {
        if c.is_over() {
            break;
        }
        feed(&mut c, &mut s, &mut time_ns);
    }
    s.run_until(time_ns + 1_000_000_000, &mut Nowhere);
}
