// SPDX-License-Identifier: Apache-2.0
//! What truly became of each packet at the bottleneck.

use std::collections::{BTreeMap, VecDeque};

/// A packet that came to the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet {
    pub flow: usize,
    pub tcp_seq: u32,
    /// Bytes that waited when it came.
    pub occupancy_bytes: u64,
    /// Limit in force then, bytes; 0 without one.
    pub limit_bytes: u64,
    /// Its sender's window when it was sent, segments.
    pub cwnd: u32,
    pub fate: Fate,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It waits.
    Waits,
    /// It had left by then, ns of the switch's clock.
    Left(u64),
    Dropped,
}

/// All packets since the switch started, by their arrival on its clock, ns.
#[derive(Default)]
pub(crate) struct Truth {
    packets: BTreeMap<u64, Packet>,
    /// Those whose fate is not known: arrival, flow and number.
    waiting: VecDeque<(u64, usize, u64)>,
}

impl Truth {
    /// The switch starts: its clock does, too.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn arrived(&mut self, at_ns: u64, number: u64, packet: Packet) {
        self.waiting.push_back((at_ns, packet.flow, number));
        self.packets.insert(at_ns, packet);
    }

    /// The queue is in order: those before one that left are dropped.
    pub(crate) fn left(&mut self, at_ns: u64, flow: usize, number: u64) {
        while let Some((arrived_ns, f, n)) = self.waiting.pop_front() {
            let found = (f, n) == (flow, number);
            if let Some(p) = self.packets.get_mut(&arrived_ns) {
                p.fate = if found {
                    Fate::Left(at_ns)
                } else {
                    Fate::Dropped
                };
            }
            if found {
                return;
            }
        }
    }

    pub(crate) fn packet(&self, arrived_ns: u64) -> Option<&Packet> {
        self.packets.get(&arrived_ns)
    }

    /// Packets that came in a span of time, and those of them that were dropped.
    pub(crate) fn count(&self, from_ns: u64, to_ns: u64) -> (u64, u64) {
        let all = self.packets.range(from_ns..to_ns);
        all.fold((0, 0), |(n, dropped), (_, p)| {
            (n + 1, dropped + u64::from(p.fate == Fate::Dropped))
        })
    }
}
