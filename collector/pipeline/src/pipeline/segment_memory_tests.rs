// SPDX-License-Identifier: Apache-2.0
//! Tests that the memory of segments is bounded over all flows.

use super::*;
use crate::rows::{Join, VecSink};
use crate::testing::{Feeder, MS, MSS, Packet, config, sample};

const MOST: usize = Config::LEAST_SEGMENT_MEMORY_BYTES;
/// The flow that has samples.
const HONEST: u8 = 1;
/// Its segments per round trip.
const WINDOW: u32 = 20;

struct Spray {
    pipeline: Pipeline<VecSink>,
    feeder: Feeder,
    most_bytes: usize,
}

impl Spray {
    fn new(max_segment_memory_bytes: usize) -> Self {
        let config = Config {
            max_segment_memory_bytes,
            ..config()
        };
        Self {
            pipeline: Pipeline::new(config, VecSink::default()).unwrap(),
            feeder: Feeder { sequence: 5 },
            most_bytes: 0,
        }
    }

    fn segment(&mut self, src: u8, seq: u32, ingress_ns: u64) {
        let packet = Packet {
            src,
            seq,
            ingress_ns,
            egress_ns: Some(ingress_ns + MS),
            ..Packet::default()
        };
        self.feeder
            .push(&mut self.pipeline, packet, ingress_ns + MS);
        self.most_bytes = self.most_bytes.max(self.pipeline.segment_memory_bytes());
    }

    /// Pushes, for 300 ms, a segment of each of 200 forged flows every millisecond, with a gap
    /// before it, and a window of the honest flow every 20 ms.
    fn run(&mut self) {
        let mut honest = 100;
        for ms in 1..=300u64 {
            for src in 2..=201 {
                self.segment(src, 100 + ms as u32 * 2 * MSS, ms * MS);
            }
            if ms % 20 == 1 {
                let una = honest;
                for _ in 0..WINDOW {
                    self.segment(HONEST, honest, ms * MS);
                    honest += MSS;
                }
                let ack = sample(HONEST, (ms + 10) * MS, honest, una, WINDOW);
                self.pipeline.push_event("a", ack);
            }
        }
    }

    /// Bytes of all flows together, counted one by one.
    fn counted_bytes(&self) -> usize {
        let slots = 0..self.pipeline.flows_active() as u32;
        let flows = slots.filter_map(|slot| self.pipeline.flows.get(slot));
        flows.map(crate::flow::Flow::bytes).sum()
    }
}

#[test]
fn made_up_flows_do_not_take_the_memory_of_an_honest_one() {
    let mut spray = Spray::new(MOST);
    spray.run();
    assert!(spray.most_bytes <= MOST, "{}", spray.most_bytes);
    assert!(spray.most_bytes > MOST / 2, "{}", spray.most_bytes);
    assert_eq!(spray.pipeline.segment_memory_bytes(), spray.counted_bytes());
    assert!(spray.pipeline.stats().segments_evicted > 10_000);
    spray.pipeline.finish();
    let rows = &spray.pipeline.sink().postcards;
    let honest = rows.iter().filter(|r| r.cwnd == WINDOW);
    let joined = honest.filter(|r| r.join == Join::Sequence).count();
    assert_eq!(joined, 15 * WINDOW as usize);
}

#[test]
fn nothing_is_forgotten_where_there_is_room() {
    let mut spray = Spray::new(64 * MOST);
    spray.run();
    assert!(spray.most_bytes > 2 * MOST, "{}", spray.most_bytes);
    assert_eq!(spray.pipeline.segment_memory_bytes(), spray.counted_bytes());
    assert_eq!(spray.pipeline.stats().segments_evicted, 0);
}

/// Even if only the flow itself can make room.
#[test]
fn a_single_flow_is_bounded() {
    let mut spray = Spray::new(MOST);
    for n in 0..100_000u32 {
        spray.segment(HONEST, n * MSS, MS + u64::from(n) * 1000);
    }
    assert!(spray.most_bytes <= MOST, "{}", spray.most_bytes);
    assert_eq!(spray.pipeline.segment_memory_bytes(), spray.counted_bytes());
    assert!(spray.pipeline.stats().segments_evicted > 0);
}

/// A full flow table, and connections that end, give memory back.
#[test]
fn flows_that_go_give_their_memory_back() {
    let mut spray = Spray::new(64 * MOST);
    spray.pipeline.flows = FlowTable::new(16, 64 * MOST, FlowIds::default());
    spray.run();
    for src in 2..=201 {
        let syn = Packet {
            src,
            flags: 0x02,
            payload: 0,
            ingress_ns: 400 * MS,
            egress_ns: Some(401 * MS),
            ..Packet::default()
        };
        spray.feeder.push(&mut spray.pipeline, syn, 401 * MS);
    }
    assert_eq!(spray.pipeline.segment_memory_bytes(), spray.counted_bytes());
}
