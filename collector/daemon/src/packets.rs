// SPDX-License-Identifier: Apache-2.0
//! The last seconds, packet by packet.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tidemark_pipeline::PostcardRow;
use tidemark_proto::telemetry::{PacketBatch, ReadPacketsRequest};

/// 48 bytes: there are millions.
#[derive(Clone, Copy)]
struct Packet {
    ingress_ns: u64,
    /// 0 when dropped.
    egress_ns: u64,
    occupancy_bytes: u64,
    flow_id: u64,
    /// An IP packet is no longer than this can say.
    ip_bytes: u16,
    ce_marked: bool,
    cwnd: u32,
    tcp_seq: u32,
}

impl From<&PostcardRow> for Packet {
    #[inline]
    fn from(row: &PostcardRow) -> Self {
        Self {
            ingress_ns: row.ingress_ns,
            egress_ns: if row.dropped { 0 } else { row.egress_ns },
            occupancy_bytes: row.occupancy_bytes,
            flow_id: row.flow_id,
            ip_bytes: u16::try_from(row.ip_bytes).unwrap_or(u16::MAX),
            ce_marked: row.ce_marked,
            cwnd: row.cwnd,
            tcp_seq: row.tcp_seq,
        }
    }
}

impl Packet {
    fn time_ns(&self) -> u64 {
        if self.dropped() {
            self.ingress_ns
        } else {
            self.egress_ns
        }
    }

    fn dropped(&self) -> bool {
        self.egress_ns == 0
    }
}

/// Packets per piece of memory.
const CHUNK: usize = 4096;

/// A piece, with the times of arrival in it: what is read of minutes of packets
/// is a small part, and whoever reads holds up whoever adds.
struct Chunk {
    packets: Vec<Packet>,
    first_ns: u64,
    last_ns: u64,
}

impl Chunk {
    fn of(packet: Packet) -> Self {
        let mut packets = Vec::with_capacity(CHUNK);
        packets.push(packet);
        Self {
            packets,
            first_ns: packet.ingress_ns,
            last_ns: packet.ingress_ns,
        }
    }

    #[inline]
    fn push(&mut self, packet: Packet) {
        self.first_ns = self.first_ns.min(packet.ingress_ns);
        self.last_ns = self.last_ns.max(packet.ingress_ns);
        self.packets.push(packet);
    }

    fn meets(&self, range: &Range<u64>) -> bool {
        self.first_ns < range.end && self.last_ns >= range.start
    }
}

/// The packets of a port, in pieces: one large ring would need twice its memory
/// while it grows.
#[derive(Default)]
struct Port {
    chunks: VecDeque<Chunk>,
    /// Packets of the first chunk that are gone.
    gone: usize,
    length: usize,
}

impl Port {
    #[inline]
    fn push_back(&mut self, packet: Packet) {
        match self.chunks.back_mut() {
            Some(chunk) if chunk.packets.len() < CHUNK => chunk.push(packet),
            _ => self.chunks.push_back(Chunk::of(packet)),
        }
        self.length += 1;
    }

    #[inline]
    fn front(&self) -> Option<&Packet> {
        self.chunks.front()?.packets.get(self.gone)
    }

    /// True when there was one.
    #[inline]
    fn pop_front(&mut self) -> bool {
        let Some(first) = self.chunks.front().map(|c| c.packets.len()) else {
            return false;
        };
        self.gone += 1;
        self.length -= 1;
        if self.gone == first {
            self.chunks.pop_front();
            self.gone = 0;
        }
        true
    }

    /// Packets that arrived within a range.
    fn within(&self, range: Range<u64>) -> impl Iterator<Item = &Packet> {
        let pieces = self.chunks.iter().enumerate();
        let pieces = pieces.map(|(i, c)| (if i == 0 { self.gone } else { 0 }, c));
        let met = {
            let range = range.clone();
            pieces.filter(move |(_, c)| c.meets(&range))
        };
        met.flat_map(|(gone, c)| c.packets.iter().skip(gone))
            .filter(move |p| range.contains(&p.ingress_ns))
    }
}

#[derive(Default)]
struct State {
    ports: FxHashMap<(u32, u32), Port>,
    packets: usize,
}

/// The last seconds of every port, bounded in number of packets.
pub struct PacketMemory {
    state: Mutex<State>,
    keep_ns: u64,
    max_packets: usize,
    max_answer: usize,
}

impl PacketMemory {
    pub fn new(keep_s: u32, max_packets: usize, max_answer: u32) -> Self {
        Self {
            state: Mutex::default(),
            keep_ns: u64::from(keep_s) * 1_000_000_000,
            max_packets,
            max_answer: max_answer as usize,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds packets and forgets old ones.
    pub fn add(&self, rows: &[PostcardRow]) {
        let mut guard = self.state();
        let state = &mut *guard;
        for run in rows.chunk_by(|a, b| (a.node_id, a.port) == (b.node_id, b.port)) {
            let Some(last) = run.last() else { continue };
            let port = state.ports.entry((last.node_id, last.port)).or_default();
            run.iter().for_each(|row| port.push_back(row.into()));
            state.packets += run.len();
            let newest = Packet::from(last).time_ns();
            while port.front().is_some_and(|p| {
                // A clock that restarted leaves its past as well.
                p.ingress_ns.abs_diff(newest) > self.keep_ns
            }) {
                port.pop_front();
                state.packets -= 1;
            }
            while state.packets > self.max_packets
                && let Some(longest) = state.ports.values_mut().max_by_key(|p| p.length)
                && longest.pop_front()
            {
                state.packets -= 1;
            }
        }
    }

    /// Packets in memory.
    pub fn len(&self) -> usize {
        self.state().packets
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Packets that came to a port in a time range, ordered by that time.
    pub fn read(&self, request: &ReadPacketsRequest) -> PacketBatch {
        let range = request.from_ns..request.to_ns;
        let (mut found, oldest_ns): (Vec<Packet>, u64) = {
            let state = self.state();
            let port = state.ports.get(&(request.node_id, request.port));
            let oldest_ns = port.and_then(Port::front).map_or(0, |p| p.ingress_ns);
            let packets = port.into_iter().flat_map(|p| p.within(range.clone()));
            (packets.copied().collect(), oldest_ns)
        };
        found.sort_by_key(|p| p.ingress_ns);
        let limit = match request.max_packets as usize {
            0 => self.max_answer,
            n => n.min(self.max_answer),
        };
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

    #[test]
    fn keeps_the_last_seconds_and_orders() {
        let m = PacketMemory::new(1, 1000, 10);
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
        };
        let b = m.read(&request);
        assert_eq!(b.ingress_ns, [800_000_000, 900_000_000]);
        assert!(b.truncated);
        assert_eq!(m.len(), 3);
    }

    #[test]
    fn tells_marks_numbers_and_how_far_it_reaches_back() {
        let m = PacketMemory::new(1000, 100_000, 100_000);
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
        });
        assert_eq!(b.tcp_seq, [6999, 7000, 7001]);
        assert_eq!(b.ce_marked, [false, true, false]);
        assert_eq!(b.ip_bytes, [1500; 3]);
        assert_eq!(b.oldest_ns, 5);
    }

    #[test]
    fn pieces_are_one_row() {
        let m = PacketMemory::new(1000, 10_000, 100_000);
        let rows: Vec<_> = (0..25_000).map(row).collect();
        m.add(&rows);
        assert_eq!(m.len(), 10_000);
        let b = m.read(&ReadPacketsRequest {
            node_id: 1,
            port: 2,
            from_ns: 0,
            to_ns: u64::MAX,
            max_packets: 0,
        });
        assert_eq!(b.ingress_ns, (15_000..25_000).collect::<Vec<u64>>());
    }

    #[test]
    fn memory_is_bounded() {
        let m = PacketMemory::new(1000, 10, 100);
        for i in 0..50 {
            m.add(&[row(i)]);
        }
        assert_eq!(m.len(), 10);
    }
}
