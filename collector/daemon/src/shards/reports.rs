// SPDX-License-Identifier: Apache-2.0
//! Sends reports to the pipeline of their node.

use crate::engine::Input;
use crate::receive::{Message, Received};
use crate::source::Gatherer;
use int_report::{nodes_of_hops, peek_header};
use std::sync::mpsc::SyncSender;
use tidemark_pipeline::NodeShards;

/// Sends the datagrams of one receiving thread to the engines.
///
/// Waits while an engine is busy: datagrams that arrive meanwhile wait in the socket.
#[derive(Debug)]
pub struct ReportSender {
    engines: Vec<(SyncSender<Input>, Gatherer)>,
    nodes: NodeShards,
}

impl ReportSender {
    /// Creates a sender to the engines; `nodes` assigns each node to one engine.
    pub fn new(engines: Vec<SyncSender<Input>>, nodes: NodeShards) -> Self {
        let engines = engines.into_iter();
        Self {
            engines: engines.map(|e| (e, Gatherer::default())).collect(),
            nodes,
        }
    }

    /// Sends the datagrams that one call of the socket has returned.
    pub fn send(&mut self, received: &Received<'_>) {
        if let [(_, gatherer)] = self.engines.as_mut_slice() {
            for m in received.messages {
                gatherer.add(m, received.rx_unix_ns, m.bytes);
            }
        } else {
            for m in received.messages {
                self.divide(m, received.rx_unix_ns);
            }
        }
        for (engine, gatherer) in &mut self.engines {
            if let Some(batch) = gatherer.ready(received.more) {
                // If the engine has ended, the batch is not needed.
                let _ = engine.send(Input::Reports(batch));
            }
        }
    }

    /// Splits coalesced datagrams where the shard changes: datagrams of one source are mostly of
    /// one node.
    fn divide(&mut self, message: &Message<'_>, rx_unix_ns: u64) {
        let length = message.segment_bytes();
        let mut start = 0;
        let mut before = None;
        for (n, datagram) in message.datagrams().enumerate() {
            // A datagram without a header is malformed; the first shard counts it.
            let shard = peek_header(datagram).map_or(0, |h| self.nodes.of(h.node_id));
            if let Some(before) = before.filter(|&b| b != shard) {
                let at = n * length;
                self.add(before, message, rx_unix_ns, start, at);
                start = at;
            }
            before = Some(shard);
            self.copy(shard, message, rx_unix_ns, datagram);
        }
        if let Some(shard) = before {
            self.add(shard, message, rx_unix_ns, start, message.bytes.len());
        }
    }

    /// Sends a datagram to the shards of its hops, but not to the shard of its sender again.
    fn copy(&mut self, home: usize, m: &Message<'_>, rx_unix_ns: u64, datagram: &[u8]) {
        let mut shards = 0_u64;
        nodes_of_hops(datagram, |node| shards |= 1 << self.nodes.of(node));
        shards &= !(1 << home);
        for (shard, (_, gatherer)) in self.engines.iter_mut().enumerate() {
            if shards >> shard & 1 == 1 {
                gatherer.add_copy(m, rx_unix_ns, datagram);
            }
        }
    }

    fn add(&mut self, shard: usize, m: &Message<'_>, rx_unix_ns: u64, from: usize, to: usize) {
        let part = m.bytes.get(from..to);
        if let (Some((_, gatherer)), Some(part)) = (self.engines.get_mut(shard), part) {
            gatherer.add(m, rx_unix_ns, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reception_clock::ReceptionClock;
    use int_report::encode::{encode, postcard};
    use std::sync::mpsc::{Receiver, sync_channel};

    fn report(node: u32, sequence: u32) -> Vec<u8> {
        let inner = [
            0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ];
        encode(&[postcard(node, sequence, (1, 2), &inner)]).unwrap()
    }

    fn payloads(input: &Receiver<Input>) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while let Ok(Input::Reports(batch)) = input.try_recv() {
            all.extend(
                batch
                    .datagrams(ReceptionClock::new(0), 9)
                    .map(|d| d.payload.to_vec()),
            );
        }
        all
    }

    #[test]
    fn coalesced_datagrams_are_divided_by_node_and_stay_in_order() {
        let (engines, inputs): (Vec<_>, Vec<_>) = (0..2).map(|_| sync_channel(8)).unzip();
        let mut sender = ReportSender::new(engines, NodeShards::new([10, 11], 2));
        let sent: Vec<Vec<u8>> = [10, 10, 11, 10, 11, 11]
            .iter()
            .zip(0..)
            .map(|(&node, n)| report(node, n))
            .collect();
        let bytes = sent.concat();
        let whole = Message::new([192, 0, 2, 1].into(), 5, &bytes, sent[0].len());
        let empty = Message::new([192, 0, 2, 1].into(), 5, &[], 0);
        sender.send(&Received::new(7, &[whole, empty], false));
        let of = |wanted: &[usize]| -> Vec<Vec<u8>> {
            wanted.iter().map(|&i| sent[i].clone()).collect()
        };
        let mut first = of(&[0, 1, 3]);
        first.push(Vec::new());
        assert_eq!(payloads(&inputs[0]), first);
        assert_eq!(payloads(&inputs[1]), of(&[2, 4, 5]));
    }

    #[test]
    fn what_more_follows_is_waited_for() {
        let (engine, input) = sync_channel(8);
        let mut sender = ReportSender::new(vec![engine], NodeShards::new([], 1));
        let bytes = report(3, 0);
        let m = Message::new([192, 0, 2, 1].into(), 5, &bytes, bytes.len());
        sender.send(&Received::new(7, &[m], true));
        assert!(payloads(&input).is_empty());
        sender.send(&Received::new(7, &[m], false));
        assert_eq!(payloads(&input).len(), 2);
    }

    /// Report `n` of node 8, in version 1.0, with or without the metadata of hops 8 and 7.
    fn of_node_8(n: u8, with_hops: bool) -> Vec<u8> {
        let mut bytes = vec![0x14, 0, 0, 0x40, 0, 0, 0, 8, 0, 0, 0, n, 0x3a, 0x6e, n, 0];
        bytes.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        bytes.extend([0x45, 0x5c, 5, 0xdc, 0, 1, 0, 0, 0x40, 17, 0, 0]);
        bytes.extend([
            10, 1, 0, 9, 10, 1, 0, 8, 0xc3, 0x50, 0xc3, 0x51, 5, 0xc8, 0, 0,
        ]);
        if !with_hops {
            return bytes;
        }
        bytes.extend([1, 0, 7, 0, 0x10, 0, 2, 9, 0x88, 0, 0, 0]);
        for hop in [8, 7] {
            bytes.extend([0, 0, 0, hop, 0x3a, 0x6e, n, hop]);
        }
        bytes
    }

    /// Returns the counters (reports, hops, lost, duplicate, malformed), the rows of nodes 7 and 8,
    /// the losses in these rows, and the nodes whose drops are unknown.
    fn totals(sent: &[Vec<u8>], shards: usize) -> ([u64; 5], [u64; 2], i64, Vec<u32>) {
        use tidemark_pipeline::{Config, Pipeline, Share, VecSink};
        let (engines, inputs): (Vec<_>, Vec<_>) = (0..shards).map(|_| sync_channel(64)).unzip();
        let mut sender = ReportSender::new(engines, NodeShards::new([], shards));
        for bytes in sent {
            let m = Message::new([192, 0, 2, 1].into(), 5, bytes, bytes.len());
            sender.send(&Received::new(7, &[m], false));
        }
        let (mut sums, mut rows, mut told, mut datagrams) = ([0; 5], [0; 2], 0, 0);
        let mut of_hops_alone = Vec::new();
        for (index, input) in inputs.iter().enumerate() {
            let share = Share { index, of: shards };
            let config = Config {
                share,
                ..Config::default()
            };
            let mut pipeline = Pipeline::new(config, VecSink::default()).unwrap();
            let mut malformed = 0;
            while let Ok(Input::Reports(batch)) = input.try_recv() {
                datagrams += batch.len();
                let all = batch.datagrams(ReceptionClock::new(0), 9);
                pipeline.push_datagrams(all, |_, _| malformed += 1);
            }
            pipeline.finish();
            of_hops_alone.extend(pipeline.nodes_of_hops_alone());
            let s = pipeline.stats();
            let of = [
                s.reports,
                s.hops,
                s.reports_lost,
                s.reports_duplicate,
                malformed,
            ];
            sums = std::array::from_fn(|i| sums[i] + of[i]);
            for row in &pipeline.sink().postcards {
                rows[usize::from(row.node_id == 8)] += 1;
                told += i64::from(row.lost_before);
            }
        }
        assert_eq!(datagrams, sent.len(), "{shards} shards");
        (sums, rows, told, of_hops_alone)
    }

    #[test]
    fn losses_are_as_many_whatever_the_number_of_shards() {
        let mut sent = Vec::new();
        for n in 1..=60 {
            // Three are lost, of both kinds, and two come twice.
            if ![20, 31, 32].contains(&n) {
                sent.push(of_node_8(n, n % 3 == 0));
            }
            if [9, 10].contains(&n) {
                sent.push(of_node_8(n, n % 3 == 0));
            }
        }
        let mut cut = of_node_8(61, true);
        cut.extend([0x14; 3]);
        sent.push(cut);
        let one = totals(&sent, 1);
        let [reports, hops, lost, doubled, _] = one.0;
        assert_eq!((reports, hops, lost, doubled), (60, 44, 3, 3));
        assert_eq!((one.1, one.2), ([21, 58], 3));
        // Node 8 also sends reports of its own.
        assert_eq!(one.3, [7]);
        for shards in [2, 3, 4] {
            assert_eq!(totals(&sent, shards), one, "{shards} shards");
        }
    }
}
