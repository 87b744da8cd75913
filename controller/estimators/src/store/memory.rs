// SPDX-License-Identifier: Apache-2.0
//! Memory used by the records.

use super::{LinkStore, Store};
use std::collections::VecDeque;
use std::mem::size_of;
use tidemark_proto::telemetry::{FlowEvent, FlowInfo, Histogram, LinkInterval};

impl Store {
    /// Memory of all records, bytes: all allocated capacity, filled or not. The keys of the tables
    /// are left out.
    pub fn memory_bytes(&self) -> usize {
        let links: usize = self.links.values().map(link_bytes).sum();
        let events: usize = self.events.values().map(room_bytes).sum();
        links + events + self.info.len() * size_of::<FlowInfo>() + self.events.len() * EVENTS
    }
}

const EVENTS: usize = size_of::<VecDeque<FlowEvent>>();

fn link_bytes(link: &LinkStore) -> usize {
    let flows = link.flows.values().map(|f| room_bytes(&f.intervals));
    let histograms = link.intervals.iter().map(histograms_bytes);
    room_bytes(&link.intervals)
        + room_bytes(&link.drops)
        + flows.sum::<usize>()
        + histograms.sum::<usize>()
}

fn room_bytes<T>(records: &VecDeque<T>) -> usize {
    records.capacity() * size_of::<T>()
}

fn histograms_bytes(interval: &LinkInterval) -> usize {
    let both = [&interval.occupancy_bytes, &interval.delay_ns];
    let bytes = |h: &Histogram| (h.bucket.capacity() + h.count.capacity()) * size_of::<u32>();
    both.into_iter().flatten().map(bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_take_room_and_give_it_back() {
        let mut store = Store::default();
        assert_eq!(store.memory_bytes(), 0);
        for i in 0..100 {
            let interval = LinkInterval {
                start_ns: i,
                delay_ns: Some(Histogram {
                    bucket: vec![1; 50],
                    count: vec![1; 50],
                }),
                ..LinkInterval::default()
            };
            store.push_link_interval(interval, 10);
        }
        let bytes = store.memory_bytes();
        let least = 10 * (size_of::<LinkInterval>() + 100 * size_of::<u32>());
        assert!((least..2 * least).contains(&bytes), "{bytes}");
        store.forget_node(0);
        assert_eq!(store.memory_bytes(), 0);
    }
}
