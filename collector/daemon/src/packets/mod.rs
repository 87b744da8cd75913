// SPDX-License-Identifier: Apache-2.0
//! Keeps the packets of the last seconds in memory.

mod packet;
mod port;
mod ports;

use packet::Packet;
use parking_lot::Mutex;
use port::Port;
use ports::Ports;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use tidemark_pipeline::PostcardRow;
use tidemark_proto::telemetry::{PacketBatch, ReadPacketsRequest};

/// Limits on the packets kept (configuration table `[packets]`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bounds {
    /// How long packets are kept, in seconds, as far as `max_packets` allows.
    pub keep_s: u32,
    /// Maximum number of packets over all ports; each takes 48 bytes of memory.
    pub max_packets: usize,
    /// Maximum number of packets in one answer.
    pub max_answer: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            keep_s: 300,
            max_packets: 4_000_000,
            max_answer: 200_000,
        }
    }
}

/// Counts of packets in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Packets in memory.
    pub packets: usize,
    /// Memory allocated for packets, including free places, in bytes.
    pub bytes: usize,
    /// Packets not kept, at ports beyond the limit on unconfigured ports.
    pub refused: u64,
}

/// The packets of the last seconds of every port.
pub struct PacketMemory {
    ports: Mutex<Ports>,
    max_answer: usize,
}

impl PacketMemory {
    /// Creates an empty memory; `named` are (node, port) pairs that always have a place.
    pub fn new(bounds: Bounds, named: BTreeSet<(u32, u32)>) -> Self {
        let keep_ns = u64::from(bounds.keep_s) * 1_000_000_000;
        Self {
            ports: Mutex::new(Ports::new(named, keep_ns, bounds.max_packets)),
            max_answer: bounds.max_answer as usize,
        }
    }

    /// Adds packets and forgets old ones.
    pub fn add(&self, rows: &[PostcardRow]) {
        let mut ports = self.ports.lock();
        for run in rows.chunk_by(|a, b| (a.node_id, a.port) == (b.node_id, b.port)) {
            if let Some(row) = run.first() {
                ports.add(row.node_id, row.port, run);
            }
        }
    }

    /// Counts the packets in memory.
    pub fn kept(&self) -> Kept {
        let ports = self.ports.lock();
        Kept {
            packets: ports.packets,
            bytes: ports.bytes(),
            refused: ports.refused,
        }
    }

    /// Returns the packets that arrived at a port in a time range, in order of arrival.
    pub fn read(&self, request: &ReadPacketsRequest) -> PacketBatch {
        let range = request.from_ns..request.to_ns;
        let limit = match request.max_packets as usize {
            0 => self.max_answer,
            n => n.min(self.max_answer),
        };
        let (mut found, oldest_ns): (Vec<Packet>, u64) = {
            let ports = self.ports.lock();
            let port = ports.get(request.node_id, request.port);
            let oldest_ns = port.and_then(Port::front).map_or(0, |p| p.ingress_ns);
            let packets = port.into_iter().flat_map(|p| p.within(range.clone()));
            let of_queue = |p: &&Packet| request.queue.is_none_or(|q| q == u32::from(p.queue));
            let packets = packets.filter(of_queue);
            (earliest(packets, limit.saturating_add(1)), oldest_ns)
        };
        found.sort_by_key(|p| p.ingress_ns);
        let truncated = found.len() > limit;
        found.truncate(limit);
        PacketBatch {
            ingress_ns: found.iter().map(|p| p.ingress_ns).collect(),
            egress_ns: found.iter().map(|p| p.egress_ns).collect(),
            occupancy_bytes: found.iter().map(|p| p.occupancy_bytes).collect(),
            flow_id: found.iter().map(|p| p.flow_id).collect(),
            dropped: found.iter().map(Packet::dropped).collect(),
            ip_bytes: found.iter().map(|p| u32::from(p.ip_bytes)).collect(),
            cwnd: found.iter().map(|p| p.cwnd).collect(),
            truncated,
            tcp_seq: found.iter().map(|p| p.tcp_seq).collect(),
            ce_marked: found.iter().map(|p| p.ce_marked).collect(),
            oldest_ns,
        }
    }
}

/// Returns the `most` packets that arrived first, in any order; copies fewer than twice as many.
fn earliest<'a>(packets: impl Iterator<Item = &'a Packet>, most: usize) -> Vec<Packet> {
    let mut found = Vec::new();
    for packet in packets {
        if found.len() >= most.saturating_mul(2) {
            found.select_nth_unstable_by_key(most, |p: &Packet| p.ingress_ns);
            found.truncate(most);
        }
        found.push(*packet);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ingress_ns: u64) -> PostcardRow {
        PostcardRow {
            node_id: 1,
            port: 2,
            ingress_ns,
            egress_ns: ingress_ns + 5,
            ..PostcardRow::default()
        }
    }

    fn memory(keep_s: u32, max_packets: usize, max_answer: u32) -> PacketMemory {
        let bounds = Bounds {
            keep_s,
            max_packets,
            max_answer,
        };
        PacketMemory::new(bounds, [(1, 2)].into())
    }

    #[test]
    fn keeps_the_last_seconds_and_orders() {
        let m = memory(1, 1000, 10);
        m.add(&[
            row(1),
            row(900_000_000),
            row(800_000_000),
            row(1_500_000_000),
        ]);
        let request = ReadPacketsRequest {
            node_id: 1,
            port: 2,
            from_ns: 0,
            to_ns: u64::MAX,
            max_packets: 2,
            queue: None,
        };
        let b = m.read(&request);
        assert_eq!(b.ingress_ns, [800_000_000, 900_000_000]);
        assert!(b.truncated);
        assert_eq!(m.kept().packets, 3);
    }

    #[test]
    fn tells_marks_numbers_and_how_far_it_reaches_back() {
        let m = memory(1000, 100_000, 100_000);
        let rows: Vec<_> = (5..10_005)
            .map(|i| PostcardRow {
                tcp_seq: i as u32,
                ce_marked: i == 7000,
                ip_bytes: 1500,
                ..row(i)
            })
            .collect();
        m.add(&rows);
        let b = m.read(&ReadPacketsRequest {
            node_id: 1,
            port: 2,
            from_ns: 6999,
            to_ns: 7002,
            max_packets: 0,
            queue: None,
        });
        assert_eq!(b.tcp_seq, [6999, 7000, 7001]);
        assert_eq!(b.ce_marked, [false, true, false]);
        assert_eq!(b.ip_bytes, [1500; 3]);
        assert_eq!(b.oldest_ns, 5);
    }

    #[test]
    fn packets_of_one_queue() {
        let m = memory(1000, 10_000, 100_000);
        let of_queue = |ingress_ns| PostcardRow {
            queue: if ingress_ns % 3 == 0 { 5 } else { 0 },
            ..row(ingress_ns)
        };
        m.add(&(0..9).map(of_queue).collect::<Vec<_>>());
        let of = |queue| {
            m.read(&ReadPacketsRequest {
                node_id: 1,
                port: 2,
                from_ns: 0,
                to_ns: u64::MAX,
                max_packets: 0,
                queue,
            })
        };
        assert_eq!(of(Some(5)).ingress_ns, [0, 3, 6]);
        assert_eq!(of(Some(0)).ingress_ns, [1, 2, 4, 5, 7, 8]);
        assert!(of(Some(1)).ingress_ns.is_empty());
        assert_eq!(of(None).ingress_ns.len(), 9);
    }

    #[test]
    fn pieces_are_one_row() {
        let m = memory(1000, 10_000, 100_000);
        let rows: Vec<_> = (0..25_000).map(row).collect();
        m.add(&rows);
        assert_eq!(m.kept().packets, 10_000);
        let b = m.read(&ReadPacketsRequest {
            node_id: 1,
            port: 2,
            from_ns: 0,
            to_ns: u64::MAX,
            max_packets: 0,
            queue: None,
        });
        assert_eq!(b.ingress_ns, (15_000..25_000).collect::<Vec<u64>>());
    }

    #[test]
    fn an_answer_is_what_came_first_and_copies_little_more() {
        let m = memory(1_000, 10_000, 100);
        // The last came first.
        let rows: Vec<_> = (0..10_000).rev().map(row).collect();
        m.add(&rows);
        let everything = ReadPacketsRequest {
            node_id: 1,
            port: 2,
            from_ns: 0,
            to_ns: u64::MAX,
            max_packets: 0,
            queue: None,
        };
        let b = m.read(&everything);
        assert_eq!(b.ingress_ns, (0..100).collect::<Vec<u64>>());
        assert!(b.truncated);
        let packets: Vec<Packet> = rows.iter().map(Packet::from).collect();
        assert!(earliest(packets.iter(), 101).capacity() <= 512);
    }

    #[test]
    fn memory_is_bounded() {
        let m = memory(1000, 10, 100);
        for i in 0..50 {
            m.add(&[row(i)]);
        }
        assert_eq!(m.kept().packets, 10);
    }

    fn of_port(port: u32, ingress_ns: u64) -> PostcardRow {
        PostcardRow {
            port,
            ..row(ingress_ns)
        }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn made_up_ports_cost_little_and_take_no_place_of_a_named_one() {
        let m = memory(120, 4_000_000, 100);
        for port in 3..=u32::from(u16::MAX) {
            m.add(&[of_port(port, S)]);
        }
        let kept = m.kept();
        assert_eq!(kept.packets as u64 + kept.refused, 65_533);
        assert!(kept.bytes < 1 << 20, "{kept:?}");
        m.add(&[row(S)]);
        assert_eq!(m.kept().packets, kept.packets + 1);
    }

    #[test]
    fn ports_that_fell_silent_are_forgotten_and_leave_their_place() {
        let m = memory(10, 4_000_000, 100);
        for port in 1_000..2_000 {
            m.add(&[of_port(port, S)]);
        }
        let refused = m.kept().refused;
        assert!(refused > 0);
        for second in 2..14 {
            m.add(&[row(second * S)]);
        }
        let named = m.kept();
        assert_eq!((named.packets, named.refused), (10, refused));
        m.add(&[of_port(5_000, 14 * S)]);
        assert_eq!(m.kept().refused, refused);
    }

    #[test]
    fn bytes_are_bounded_over_all_ports() {
        let max_packets = 50_000;
        let m = memory(1_000, max_packets, 100);
        for i in 0..300_000 {
            m.add(&[of_port(i % 200, u64::from(i))]);
        }
        let kept = m.kept();
        assert!(kept.packets > max_packets / 2, "{kept:?}");
        assert!(kept.packets <= max_packets);
        let places = max_packets + 2 * port::CHUNK;
        assert!(kept.bytes <= places * size_of::<Packet>(), "{kept:?}");
    }
}
