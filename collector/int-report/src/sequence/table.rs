// SPDX-License-Identifier: Apache-2.0
//! All streams of a collector, bounded in number.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::net::IpAddr;

use super::counts::{Counts, Outcome};
use super::stream::{Stream, StreamConfig};

/// Scope of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamKey {
    /// Source address of the datagrams.
    pub exporter: IpAddr,
    /// Node that the datagrams are of.
    pub node_id: u32,
    /// Part of the node.
    pub hw_id: u8,
    /// Width of the number: a node that changes its report version starts a new numbering.
    pub sequence_bits: u8,
}

/// Streams by key. When full, an unknown stream replaces one that has been silent while many others
/// came; otherwise it is refused and counted. A sender of forged streams cannot evict active ones.
#[derive(Debug, Default)]
pub struct StreamTable {
    config: StreamConfig,
    max_streams: usize,
    index: HashMap<StreamKey, usize, BuildHasherDefault<DefaultHasher>>,
    streams: Vec<(StreamKey, Stream)>,
    last: usize,
    /// Number of datagrams not accounted for because the table was full.
    pub refused: u64,
    eviction: Eviction,
}

/// Second-chance eviction: a hand moves one place for each stream that finds no room. A stream that
/// has received nothing since the hand's last visit is evicted.
#[derive(Debug, Default)]
struct Eviction {
    hand: usize,
    /// Datagrams of each stream at the hand's last visit; shorter than the table until it was full
    /// once.
    received: Vec<u64>,
    /// Totals of the evicted streams.
    gone: Counts,
}

impl StreamTable {
    /// Creates an empty table with room for `max_streams`.
    #[must_use]
    pub fn new(config: StreamConfig, max_streams: usize) -> Self {
        Self {
            config,
            max_streams,
            ..Self::default()
        }
    }

    /// Accounts for one datagram; returns `None` if the table is full and the stream unknown.
    /// `time_ns` as in [`Stream::observe`].
    #[inline(always)]
    pub fn observe(
        &mut self,
        key: StreamKey,
        sequence: u32,
        time_ns: Option<u64>,
    ) -> Option<Outcome> {
        // Datagrams of one stream come in runs.
        if let Some((last_key, stream)) = self.streams.get_mut(self.last)
            && *last_key == key
        {
            return Some(stream.observe(sequence, time_ns));
        }
        self.observe_other(key, sequence, time_ns)
    }

    /// Notes that the clock of a node restarted. See [`Stream::clock_restarted`].
    #[cold]
    pub fn clock_restarted(&mut self, node_id: u32) {
        for (key, stream) in &mut self.streams {
            if key.node_id == node_id {
                stream.clock_restarted();
            }
        }
    }

    #[inline(never)]
    fn observe_other(
        &mut self,
        key: StreamKey,
        sequence: u32,
        time_ns: Option<u64>,
    ) -> Option<Outcome> {
        self.last = self.find(key)?;
        let (_, stream) = self.streams.get_mut(self.last)?;
        Some(stream.observe(sequence, time_ns))
    }

    fn find(&mut self, key: StreamKey) -> Option<usize> {
        if let Some(&position) = self.index.get(&key) {
            return Some(position);
        }
        let stream = Stream::new(key.sequence_bits, &self.config);
        let position = if self.streams.len() < self.max_streams {
            self.streams.push((key, stream));
            self.streams.len() - 1
        } else {
            let Some(position) = self.silent() else {
                self.refused += 1;
                return None;
            };
            let place = self.streams.get_mut(position)?;
            let (old_key, old) = std::mem::replace(place, (key, stream));
            self.index.remove(&old_key);
            self.eviction.gone.add(&old.counts);
            position
        };
        self.index.insert(key, position);
        Some(position)
    }

    /// Moves the hand by one place; returns that place if its stream is silent.
    fn silent(&mut self) -> Option<usize> {
        let hand = self.eviction.hand % self.streams.len().max(1);
        self.eviction.hand = hand + 1;
        let (_, stream) = self.streams.get(hand)?;
        let received = stream.counts.received;
        if self.eviction.received.len() < self.streams.len() {
            self.eviction.received.resize(self.streams.len(), 0);
        }
        let seen = self.eviction.received.get_mut(hand)?;
        let silent = *seen == received;
        // Nothing of its successor has been seen yet.
        *seen = if silent { 0 } else { received };
        silent.then_some(hand)
    }

    /// Returns the sum over all streams, including evicted ones.
    #[must_use]
    pub fn total(&self) -> Counts {
        let mut total = self.eviction.gone;
        for (_, stream) in &self.streams {
            total.add(&stream.counts);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(node_id: u32, hw_id: u8) -> StreamKey {
        StreamKey {
            exporter: IpAddr::from([192, 0, 2, 1]),
            node_id,
            hw_id,
            sequence_bits: 22,
        }
    }

    #[test]
    fn streams_are_apart() {
        let mut table = StreamTable::new(StreamConfig::default(), 8);
        for sequence in 1..=10 {
            table.observe(key(1, 0), sequence, None);
            table.observe(key(1, 1), sequence * 2, None);
        }
        let lost = table.streams.iter().map(|(_, s)| s.counts.lost);
        assert_eq!(lost.collect::<Vec<_>>(), [0, 9]);
        assert_eq!(table.total().received, 20);
    }

    #[test]
    fn full_table_refuses_and_counts() {
        let mut table = StreamTable::new(StreamConfig::default(), 2);
        assert_eq!(table.observe(key(1, 0), 1, None), Some(Outcome::First));
        assert_eq!(table.observe(key(2, 0), 1, None), Some(Outcome::First));
        assert_eq!(table.observe(key(3, 0), 1, None), None);
        assert_eq!(table.observe(key(1, 0), 2, None), Some(Outcome::InOrder));
        assert_eq!(table.refused, 1);
        assert_eq!(table.streams.len(), 2);
    }

    #[test]
    fn streams_that_speak_stay_and_silent_ones_give_way() {
        let mut table = StreamTable::new(StreamConfig::default(), 16);
        let mut received = 0;
        for n in 0..1_000u32 {
            let outcome = table.observe(key(1, 0), n, None);
            if n > 0 {
                assert_eq!(outcome, Some(Outcome::InOrder), "{n}");
            }
            received += 1;
            // Ten forged streams for each datagram of the real one.
            for invented in 0..10 {
                let taken = table.observe(key(1_000 + n * 10 + invented, 0), 7, None);
                received += u64::from(taken.is_some());
            }
        }
        assert!(table.refused > 0);
        assert_eq!(table.streams.len(), 16);
        assert_eq!(table.total().received, received);
        // A second real one finds a place.
        let found = (0..100).any(|n| table.observe(key(2, 0), n, None).is_some());
        assert!(found);
    }
}
