// SPDX-License-Identifier: Apache-2.0
//! Occupancy and queueing delay of each link since the start, in fixed buckets that add up over
//! links, collectors and time.
//!
//! The histograms are filled from the interval records, which already count every packet in finer
//! buckets, so that nothing is done per packet here. Every bound below is the largest value of such
//! a finer bucket, so that no count is an estimate.

use std::collections::{BTreeMap, BTreeSet};
use tidemark_proto::histogram::bucket_of;
use tidemark_proto::telemetry::{Histogram, LinkInterval};

/// Maximum number of links that the configuration does not name.
const MAX_UNNAMED: usize = 256;
/// Number of queues of a configured port that count as named; further queues do not.
const MAX_NAMED_QUEUES: u32 = 8;

/// Largest occupancy of each bucket except the last, in bytes: 0 for an empty queue, then two
/// buckets per factor of two, from 1 KiB to 64 MiB.
pub(crate) const OCCUPANCY_BYTES: [u64; 34] = {
    let mut bounds = [0; 34];
    two_per_octave(&mut bounds, 1, 10);
    bounds
};

/// Largest delay of each bucket except the last, in ns: two buckets per factor of two, from 1 µs to
/// 4.3 s.
pub(crate) const DELAY_NS: [u64; 45] = {
    let mut bounds = [0; 45];
    two_per_octave(&mut bounds, 0, 10);
    bounds
};

/// Fills `bounds` from index `from` on with the largest integers below 2^n, 1.5 × 2^n and so on,
/// where buckets of the interval records end.
const fn two_per_octave(bounds: &mut [u64], from: usize, first_exponent: u32) {
    let mut at = from;
    while at < bounds.len() {
        let step = (at - from) as u32;
        let power = 1u64 << (first_exponent + step / 2);
        bounds[at] = if step.is_multiple_of(2) {
            power - 1
        } else {
            power + power / 2 - 1
        };
        at += 1;
    }
}

/// Values by bucket, and their sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Distribution {
    /// Count of each bucket; the last is for values above all bounds.
    pub counts: Vec<u64>,
    /// Sum of the values; cannot overflow in a lifetime of full 64-bit sums per interval.
    pub sum: u128,
}

impl Distribution {
    fn of(bounds: &[u64]) -> Self {
        Self {
            counts: vec![0; bounds.len() + 1],
            sum: 0,
        }
    }

    /// Adds a histogram whose buckets are in ascending order.
    fn add(&mut self, bounds: &[u64], values: Option<&Histogram>, sum: u64) {
        self.sum += u128::from(sum);
        let values = values.iter().flat_map(|h| h.bucket.iter().zip(&h.count));
        let mut place = 0;
        for (&bucket, &count) in values {
            let below = |&bound: &u64| bucket_of(bound) < bucket;
            while bounds.get(place).is_some_and(below) {
                place += 1;
            }
            if let Some(sum) = self.counts.get_mut(place) {
                *sum += u64::from(count);
            }
        }
    }
}

/// Distributions of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfLink {
    /// Occupancy at each arrival, including dropped packets, in bytes.
    pub occupancy: Distribution,
    /// Queueing delay of each packet that was not dropped, in ns.
    pub delay: Distribution,
}

/// Histograms of all links; the number of links that the configuration does not name is limited.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkHistograms {
    named: BTreeSet<(u32, u32)>,
    unnamed: usize,
    /// Distributions by node, port and queue.
    pub links: BTreeMap<(u32, u32, u32), OfLink>,
    /// Arrivals at links beyond the limit, which are not counted.
    pub refused: u64,
}

impl LinkHistograms {
    /// Creates empty histograms; `named` are the configured (node, port) pairs.
    pub(crate) fn of(named: BTreeSet<(u32, u32)>) -> Self {
        Self {
            named,
            ..Self::default()
        }
    }

    /// Adds a link's record of one interval.
    pub(crate) fn add(&mut self, record: &LinkInterval) {
        let key = (record.node_id, record.port, record.queue);
        let port = (record.node_id, record.port);
        let named = || self.named.contains(&port) && record.queue < MAX_NAMED_QUEUES;
        if !self.links.contains_key(&key) && !named() {
            if self.unnamed >= MAX_UNNAMED {
                self.refused += u64::from(record.arrivals);
                return;
            }
            self.unnamed += 1;
        }
        let link = self.links.entry(key).or_insert_with(|| OfLink {
            occupancy: Distribution::of(&OCCUPANCY_BYTES),
            delay: Distribution::of(&DELAY_NS),
        });
        let occupancy = record.occupancy_bytes.as_ref();
        link.occupancy
            .add(&OCCUPANCY_BYTES, occupancy, record.occupancy_sum_bytes);
        link.delay
            .add(&DELAY_NS, record.delay_ns.as_ref(), record.delay_sum_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tidemark_proto::histogram::{Counts, bucket_range};

    fn histogram(values: &[u64]) -> Option<Histogram> {
        let mut counts = Counts::new();
        values.iter().for_each(|&v| counts.record(v));
        (!counts.is_empty()).then(|| counts.take())
    }

    fn record(port: u32, occupancy: &[u64], delay: &[u64]) -> LinkInterval {
        LinkInterval {
            node_id: 10,
            port,
            arrivals: occupancy.len() as u32,
            packets: delay.len() as u32,
            occupancy_bytes: histogram(occupancy),
            occupancy_sum_bytes: occupancy.iter().sum(),
            delay_ns: histogram(delay),
            delay_sum_ns: delay.iter().sum(),
            ..LinkInterval::default()
        }
    }

    #[test]
    fn every_bound_ends_a_bucket_of_the_interval_records() {
        for &bound in OCCUPANCY_BYTES.iter().chain(&DELAY_NS) {
            let (low, width) = bucket_range(bucket_of(bound));
            assert_eq!(low + width - 1, bound);
        }
        assert!(OCCUPANCY_BYTES.is_sorted_by(|a, b| a < b));
        assert!(DELAY_NS.is_sorted_by(|a, b| a < b));
        assert_eq!(OCCUPANCY_BYTES[..4], [0, 1023, 1535, 2047]);
        assert_eq!(OCCUPANCY_BYTES[33], (64 << 20) - 1);
        assert_eq!(DELAY_NS[44], (1 << 32) - 1);
    }

    /// Counts values as a reader would who sees every packet.
    fn counted(bounds: &[u64], values: &[u64]) -> Vec<u64> {
        let mut counts = vec![0; bounds.len() + 1];
        for v in values {
            counts[bounds.iter().take_while(|&b| b < v).count()] += 1;
        }
        counts
    }

    proptest! {
        #[test]
        fn counts_are_those_of_the_packets(
            occupancy in prop::collection::vec(0u64..1 << 28, 0..200),
            delay in prop::collection::vec(prop_oneof![0u64..5000, 0..1u64 << 34], 0..200),
            cut in 0usize..200,
        ) {
            let mut all = LinkHistograms::default();
            let (a, b) = occupancy.split_at(cut.min(occupancy.len()));
            let (c, d) = delay.split_at(cut.min(delay.len()));
            // Two intervals, and another queue of the port.
            all.add(&record(1, a, c));
            all.add(&LinkInterval { queue: 3, ..record(1, a, d) });
            all.add(&record(1, b, d));
            prop_assert_eq!(&all.links[&(10, 1, 3)].delay.counts, &counted(&DELAY_NS, d));
            let link = &all.links[&(10, 1, 0)];
            prop_assert_eq!(&link.occupancy.counts, &counted(&OCCUPANCY_BYTES, &occupancy));
            prop_assert_eq!(&link.delay.counts, &counted(&DELAY_NS, &delay));
            prop_assert_eq!(link.occupancy.counts.iter().sum::<u64>(), occupancy.len() as u64);
            prop_assert_eq!(link.occupancy.sum, u128::from(occupancy.iter().sum::<u64>()));
            prop_assert_eq!(link.delay.sum, u128::from(delay.iter().sum::<u64>()));
        }
    }

    #[test]
    fn made_up_ports_are_bounded_and_take_no_place_of_named_ones() {
        let mut all = LinkHistograms::of([(10, 7)].into());
        for port in 1000..1000 + MAX_UNNAMED as u32 + 2 {
            all.add(&record(port, &[1, 2, 3], &[]));
        }
        assert_eq!((all.links.len(), all.refused), (MAX_UNNAMED, 6));
        all.add(&record(7, &[1], &[]));
        all.add(&record(1000, &[1], &[]));
        assert_eq!((all.links.len(), all.refused), (MAX_UNNAMED + 1, 6));
    }
}
