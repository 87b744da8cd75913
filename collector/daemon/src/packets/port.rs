// SPDX-License-Identifier: Apache-2.0
//! The packets of one port.

use super::packet::Packet;
use std::collections::VecDeque;
use std::ops::Range;

/// Packets in a port's first chunk, which is small so that a made-up port costs little. Each chunk
/// is twice as large as the one before, up to [`CHUNK`].
pub(super) const FIRST_CHUNK: usize = 16;
/// Packets in the largest chunk.
pub(super) const CHUNK: usize = 4096;

/// A chunk of packets with its range of arrival times, so that a short read skips most chunks:
/// readers hold up writers.
struct Chunk {
    packets: Vec<Packet>,
    first_ns: u64,
    last_ns: u64,
}

impl Chunk {
    fn of(packet: Packet, capacity: usize) -> Self {
        let mut packets = Vec::with_capacity(capacity);
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

    fn is_full(&self) -> bool {
        self.packets.len() == self.packets.capacity()
    }

    fn meets(&self, range: &Range<u64>) -> bool {
        self.first_ns < range.end && self.last_ns >= range.start
    }
}

/// The packets of a port, in chunks: one large ring would need twice its memory while it grows.
#[derive(Default)]
pub(super) struct Port {
    chunks: VecDeque<Chunk>,
    /// Packets of the first chunk that have been removed.
    gone: usize,
    pub length: usize,
    /// Packets that the chunks have room for.
    pub capacity: usize,
}

impl Port {
    #[inline]
    pub(super) fn push_back(&mut self, packet: Packet) {
        match self.chunks.back_mut() {
            Some(chunk) if !chunk.is_full() => chunk.push(packet),
            last => {
                let place = match last {
                    Some(full) => (2 * full.packets.capacity()).min(CHUNK),
                    None => FIRST_CHUNK,
                };
                let chunk = Chunk::of(packet, place);
                self.capacity += chunk.packets.capacity();
                self.chunks.push_back(chunk);
            }
        }
        self.length += 1;
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Packet> {
        self.chunks.front()?.packets.get(self.gone)
    }

    /// Removes the oldest packet; returns whether there was one.
    #[inline]
    pub(super) fn pop_front(&mut self) -> bool {
        let Some(first) = self.chunks.front().map(|c| c.packets.len()) else {
            return false;
        };
        self.gone += 1;
        self.length -= 1;
        if self.gone == first {
            self.forget_chunk();
        }
        true
    }

    /// Removes the oldest chunk with its packets.
    pub(super) fn pop_chunk(&mut self) {
        if let Some(first) = self.chunks.front() {
            self.length -= first.packets.len() - self.gone;
            self.forget_chunk();
        }
    }

    fn forget_chunk(&mut self) {
        if let Some(chunk) = self.chunks.pop_front() {
            self.capacity -= chunk.packets.capacity();
        }
        self.gone = 0;
    }

    /// Removes packets, from the oldest on, that arrived more than `keep_ns` from `newest_ns`,
    /// before or after: a clock that restarted also leaves its past behind.
    pub(super) fn age(&mut self, newest_ns: u64, keep_ns: u64) {
        while self
            .front()
            .is_some_and(|p| p.ingress_ns.abs_diff(newest_ns) > keep_ns)
        {
            self.pop_front();
        }
    }

    /// Returns the packets that arrived within a range.
    pub(super) fn within(&self, range: Range<u64>) -> impl Iterator<Item = &Packet> {
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
