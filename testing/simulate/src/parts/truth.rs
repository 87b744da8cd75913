// SPDX-License-Identifier: Apache-2.0
//! True fate of each packet at the bottleneck.

use std::collections::{BTreeMap, VecDeque};

/// A packet that arrived at the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet {
    pub flow: usize,
    pub tcp_seq: u32,
    /// Queue occupancy at its arrival, bytes.
    pub occupancy_bytes: u64,
    /// Limit in force at its arrival, bytes; 0 without one.
    pub limit_bytes: u64,
    /// Its sender's window when it was sent, in segments.
    pub cwnd: u32,
    pub fate: Fate,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Waiting in the queue.
    Waits,
    /// Departed at this time, ns of the switch's clock.
    Left(u64),
    Dropped,
}

/// All packets since the switch started, by their arrival on its clock, ns.
#[derive(Default)]
pub(crate) struct Truth {
    packets: BTreeMap<u64, Packet>,
    /// Arrival times of packets whose fate is unknown.
    waiting: VecDeque<u64>,
}

impl Truth {
    pub(crate) fn arrived(&mut self, at_ns: u64, packet: Packet) {
        self.waiting.push_back(at_ns);
        self.packets.insert(at_ns, packet);
    }

    /// The queue is FIFO: packets that arrived before a departed one were dropped. The arrival time
    /// identifies the packet: a retransmission has its first copy's number, and may follow right
    /// behind it.
    pub(crate) fn left(&mut self, at_ns: u64, came_ns: u64) {
        while let Some(arrived_ns) = self.waiting.pop_front() {
            let found = arrived_ns == came_ns;
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

    /// Returns the packets that arrived in a time span, and how many were dropped.
    pub(crate) fn count(&self, from_ns: u64, to_ns: u64) -> (u64, u64) {
        let all = self.packets.range(from_ns..to_ns);
        all.fold((0, 0), |(n, dropped), (_, p)| {
            (n + 1, dropped + u64::from(p.fate == Fate::Dropped))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first copy was dropped and the second departed, with nothing in between: the first copy
    /// was mistaken for the departed one.
    #[test]
    fn a_segment_that_comes_again_is_another_packet() {
        let packet = Packet {
            flow: 1,
            tcp_seq: 7,
            occupancy_bytes: 0,
            limit_bytes: 0,
            cwnd: 1,
            fate: Fate::Waits,
        };
        let mut truth = Truth::default();
        truth.arrived(1_000, packet);
        truth.arrived(2_000, packet);
        truth.left(9_000, 2_000);
        let fate = |at| truth.packet(at).map(|p| p.fate);
        assert_eq!(fate(1_000), Some(Fate::Dropped));
        assert_eq!(fate(2_000), Some(Fate::Left(9_000)));
    }
}
