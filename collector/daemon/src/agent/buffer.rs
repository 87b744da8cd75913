// SPDX-License-Identifier: Apache-2.0
//! Batches that wait for their acknowledgement.

use super::convert::message_of;
use super::options::AgentOptions;
use serde::Serialize;
use std::collections::VecDeque;
use tcp_probe::Event;
use tidemark_proto::telemetry::AgentBatch;

/// Maximum number of events in one batch.
const BATCH_EVENTS: usize = 4096;

/// Counters of an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentReport {
    /// Events read from the kernel.
    pub events: u64,
    /// Events lost in this kernel's rings.
    pub ring_lost: u64,
    /// Events read, but dropped because the buffer was full.
    pub buffer_lost: u64,
    /// Events acknowledged by the collector.
    pub delivered: u64,
    /// Events kept, but not acknowledged before the end.
    pub undelivered: u64,
    /// Number of successful connections to the collector.
    pub connections: u64,
}

/// Queue of batches between the reader and the sender.
#[derive(Default)]
pub(super) struct Buffer {
    pub batches: VecDeque<AgentBatch>,
    pub events: usize,
    next_sequence: u64,
    /// Whether the reader has ended, so that no more batches will come.
    pub ended: bool,
    pub report: AgentReport,
}

impl Buffer {
    pub(super) fn put(
        &mut self,
        events: &[Event],
        ring_lost: u64,
        options: &AgentOptions,
        instance: &str,
    ) {
        self.report.events += events.len() as u64;
        self.report.ring_lost = ring_lost;
        for part in events.chunks(BATCH_EVENTS) {
            if self.events + part.len() > options.buffer_events {
                self.report.buffer_lost += part.len() as u64;
                continue;
            }
            self.events += part.len();
            self.next_sequence += 1;
            self.batches.push_back(AgentBatch {
                host: options.host.clone(),
                instance: instance.to_owned(),
                sequence: self.next_sequence,
                events: part.iter().map(message_of).collect(),
                ring_lost,
                buffer_lost: self.report.buffer_lost,
            });
        }
    }

    /// Removes the batches up to `sequence`, which the collector has taken.
    pub(super) fn acknowledged(&mut self, sequence: u64) {
        while self.batches.front().is_some_and(|b| b.sequence <= sequence) {
            let events = self.batches.pop_front().map_or(0, |b| b.events.len());
            self.events -= events;
            self.report.delivered += events as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use int_report::FlowKey;
    use tcp_probe::RetransmitEvent;
    use tcp_probe::perf::Options;

    #[test]
    fn the_buffer_is_bounded_and_counts() {
        let options = AgentOptions {
            to: "localhost:1".into(),
            access: Default::default(),
            user: None,
            host: "h".into(),
            connect_within: None,
            buffer_events: 100,
            probe: Options::default(),
        };
        let event = Event::Retransmit(RetransmitEvent {
            time_ns: 1,
            flow: FlowKey {
                src: "10.0.0.1".parse().unwrap(),
                dst: "10.0.0.2".parse().unwrap(),
                src_port: 1,
                dst_port: 2,
                protocol: 6,
            },
        });
        let mut b = Buffer::default();
        for _ in 0..4 {
            b.put(&[event; 40], 3, &options, "i");
        }
        assert_eq!((b.events, b.batches.len()), (80, 2));
        assert_eq!((b.report.events, b.report.buffer_lost), (160, 80));
        b.acknowledged(1);
        b.put(&[event; 40], 3, &options, "i");
        let sequences: Vec<u64> = b.batches.iter().map(|b| b.sequence).collect();
        assert_eq!(sequences, [2, 3], "numbers of lost batches are not used");
        assert_eq!(b.batches[1].buffer_lost, 80);
        assert_eq!(b.report.delivered, 40);
    }
}
