// SPDX-License-Identifier: Apache-2.0
//! Ports, due events and time: what a change of program leaves in place.

use crate::events::{Event, Events};
use crate::port::Ports;
use crate::stats::Stats;
use crate::wire::Wire;

/// Output buffers kept for reuse.
const POOL: usize = 8192;

#[derive(Default)]
pub(crate) struct Queues {
    pub ports: Ports,
    pub events: Events,
    pub free_frames: Vec<Vec<u8>>,
    pub now_ns: u64,
    pub stats: Stats,
}

impl Queues {
    pub(crate) fn schedule(&mut self, time_ns: u64, event: Event) {
        self.events.schedule(time_ns, self.now_ns, event);
    }

    /// The frame in front reaches the end of its propagation delay.
    pub(crate) fn arrive(&mut self, number: u32, t: u64, wire: &mut dyn Wire) {
        let Some(port) = self.ports.get_mut(number) else {
            return;
        };
        if let Some((_, frame)) = port.flying.pop_front() {
            port.tx_packets += 1;
            port.tx_bytes += frame.len() as u64;
            wire.transmit(number, frame, t);
        }
    }

    pub(crate) fn reuse(&mut self, frame: Vec<u8>) {
        if self.free_frames.len() < POOL {
            self.free_frames.push(frame);
        }
    }
}
