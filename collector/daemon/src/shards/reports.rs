// SPDX-License-Identifier: Apache-2.0
//! Reports to the pipeline of their node.

use super::NodeShards;
use crate::engine::Input;
use crate::receive::{Message, Received};
use crate::source::Gatherer;
use int_report::{carries_hops, peek_header};
use std::sync::mpsc::SyncSender;

/// Gives what one receiving thread has received to the engines.
///
/// Waits while an engine has too much to do: what comes meanwhile waits in the
/// socket.
#[derive(Debug)]
pub struct ReportSender {
    engines: Vec<(SyncSender<Input>, Gatherer)>,
    nodes: NodeShards,
}

impl ReportSender {
    /// To engines, among which the nodes are dealt out.
    pub fn new(engines: Vec<SyncSender<Input>>, nodes: NodeShards) -> Self {
        let engines = engines.into_iter();
        Self {
            engines: engines.map(|e| (e, Gatherer::default())).collect(),
            nodes,
        }
    }

    /// Takes what one call of the socket has brought.
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
                // Without an engine there is nobody to receive for.
                let _ = engine.send(Input::Reports(batch));
            }
        }
    }

    /// Divides what the kernel has coalesced where the shard changes: datagrams of
    /// one source are mostly of one node.
    fn divide(&mut self, message: &Message<'_>, rx_unix_ns: u64) {
        let length = message.segment_bytes();
        let mut start = 0;
        let mut before = None;
        for (n, datagram) in message.datagrams().enumerate() {
            // What has no header is malformed, and counted by the first.
            let shard = match peek_header(datagram) {
                // The hops of all paths have their place together: each is of many reporters.
                Some(_) if carries_hops(datagram) => 0,
                header => header.map_or(0, |h| self.nodes.of(h.node_id)),
            };
            if let Some(before) = before.filter(|&b| b != shard) {
                let at = n * length;
                self.add(before, message, rx_unix_ns, start, at);
                start = at;
            }
            before = Some(shard);
        }
        if let Some(shard) = before {
            self.add(shard, message, rx_unix_ns, start, message.bytes.len());
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
}
