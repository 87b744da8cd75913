// SPDX-License-Identifier: Apache-2.0
//! The packets of the ports of every node, bounded in number and in bytes.

use super::packet::Packet;
use super::port::{CHUNK, Port};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use tidemark_pipeline::PostcardRow;

/// Maximum number of a node's ports that the configuration does not name: as many as the interval
/// records have.
const MAX_UNNAMED: usize = 256;
/// How often idle ports are swept, in the node's time.
const SWEEP_EVERY_NS: u64 = 1_000_000_000;

#[derive(Default)]
struct Node {
    ports: FxHashMap<u32, Port>,
    unnamed: usize,
    /// Time of the last sweep of the node's idle ports.
    swept_ns: u64,
}

/// The packets of every port.
#[derive(Default)]
pub(super) struct Ports {
    nodes: FxHashMap<u32, Node>,
    /// Configured (node, port) pairs.
    named: BTreeSet<(u32, u32)>,
    keep_ns: u64,
    max_packets: usize,
    /// Packets in memory.
    pub packets: usize,
    /// Packets that the memory of all ports has room for.
    capacity: usize,
    /// Packets not kept, at ports beyond the limit.
    pub refused: u64,
}

impl Ports {
    pub(super) fn new(named: BTreeSet<(u32, u32)>, keep_ns: u64, max_packets: usize) -> Self {
        Self {
            named,
            keep_ns,
            max_packets,
            ..Self::default()
        }
    }

    /// Returns the bytes allocated for packets, including free places.
    pub(super) fn bytes(&self) -> usize {
        self.capacity * size_of::<Packet>()
    }

    pub(super) fn get(&self, node_id: u32, port: u32) -> Option<&Port> {
        self.nodes.get(&node_id)?.ports.get(&port)
    }

    /// Adds packets of one port, and removes packets that are too old or too many.
    pub(super) fn add(&mut self, node_id: u32, port: u32, run: &[PostcardRow]) {
        let Some(last) = run.last() else { return };
        let node = self.nodes.entry(node_id).or_default();
        if !node.ports.contains_key(&port) && !self.named.contains(&(node_id, port)) {
            if node.unnamed >= MAX_UNNAMED {
                self.refused += run.len() as u64;
                return;
            }
            node.unnamed += 1;
        }
        let entry = node.ports.entry(port).or_default();
        let (length, capacity) = (entry.length, entry.capacity);
        run.iter().for_each(|row| entry.push_back(row.into()));
        let newest_ns = Packet::from(last).time_ns();
        entry.age(newest_ns, self.keep_ns);
        self.packets = self.packets + entry.length - length;
        self.capacity = self.capacity + entry.capacity - capacity;
        if newest_ns.abs_diff(node.swept_ns) >= SWEEP_EVERY_NS {
            node.swept_ns = newest_ns;
            self.sweep(node_id, newest_ns);
        }
        self.shrink();
    }

    /// Removes old packets at every port of a node, and ports without packets.
    fn sweep(&mut self, node_id: u32, newest_ns: u64) {
        let Some(node) = self.nodes.get_mut(&node_id) else {
            return;
        };
        node.ports.retain(|&port, p| {
            let (length, capacity) = (p.length, p.capacity);
            p.age(newest_ns, self.keep_ns);
            self.packets -= length - p.length;
            self.capacity -= capacity - p.capacity;
            let stays = p.length > 0;
            if !stays && !self.named.contains(&(node_id, port)) {
                node.unnamed -= 1;
            }
            stays
        });
    }

    /// Removes the oldest packets of the largest ports until the rest fits, by number and by
    /// allocated memory. Full chunks, and two more that are not full, take no more than the limit.
    fn shrink(&mut self) {
        while self.packets > self.max_packets {
            let excess = self.packets - self.max_packets;
            let longest = self.shrink_largest(
                |p| p.length,
                |p| {
                    for _ in 0..excess.min(p.length) {
                        p.pop_front();
                    }
                },
            );
            if longest.is_none() {
                return;
            }
        }
        while self.capacity > self.max_packets + 2 * CHUNK {
            if self
                .shrink_largest(|p| p.capacity, Port::pop_chunk)
                .is_none()
            {
                return;
            }
        }
    }

    /// Shrinks the port with the largest `size`; `None` if there is no port.
    fn shrink_largest(
        &mut self,
        size: impl Fn(&Port) -> usize,
        shrink: impl FnOnce(&mut Port),
    ) -> Option<()> {
        let ports = self.nodes.values_mut().flat_map(|n| n.ports.values_mut());
        let largest = ports.max_by_key(|p| size(p))?;
        let (length, capacity) = (largest.length, largest.capacity);
        shrink(largest);
        self.packets -= length - largest.length;
        self.capacity -= capacity - largest.capacity;
        Some(())
    }
}
