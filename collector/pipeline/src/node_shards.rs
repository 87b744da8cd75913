// SPDX-License-Identifier: Apache-2.0
//! Assigns nodes to pipelines.

use std::collections::{BTreeMap, BTreeSet};

/// One of several pipelines; by default the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the pipeline, from 0.
    pub index: usize,
    /// Number of pipelines.
    pub of: usize,
}

impl Default for Share {
    fn default() -> Self {
        Self { index: 0, of: 1 }
    }
}

/// Assigns the nodes to shards: nodes that the configuration names in turn, in the order of their
/// ids; other nodes by their id.
#[derive(Clone, Debug)]
pub struct NodeShards {
    named: BTreeMap<u32, usize>,
    shards: usize,
    /// The last node looked up. Consecutive datagrams mostly come from one node.
    last: (u32, usize),
}

impl NodeShards {
    /// Assigns the nodes that the configuration names, and all others, to `shards` shards.
    pub fn new(named: impl IntoIterator<Item = u32>, shards: usize) -> Self {
        let shards = shards.max(1);
        let nodes: BTreeSet<u32> = named.into_iter().collect();
        let dealt = nodes.into_iter().enumerate();
        let named: BTreeMap<u32, usize> = dealt.map(|(i, node)| (node, i % shards)).collect();
        Self {
            // No lookup yet: as if the last one had been for node 0.
            last: (0, named.get(&0).copied().unwrap_or(0)),
            named,
            shards,
        }
    }

    /// Returns the number of a node's shard.
    #[inline]
    pub fn of(&mut self, node_id: u32) -> usize {
        if self.last.0 != node_id {
            let named = self.named.get(&node_id).copied();
            let shard = named.unwrap_or(node_id as usize % self.shards);
            self.last = (node_id, shard);
        }
        self.last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_nodes_are_dealt_out_evenly_whatever_their_ids() {
        let mut nodes = NodeShards::new([40, 10, 30, 20, 10], 2);
        let shards = [10, 20, 30, 40].map(|n| nodes.of(n));
        assert_eq!(shards, [0, 1, 0, 1]);
        assert_eq!([nodes.of(7), nodes.of(8), nodes.of(7)], [1, 0, 1]);
        assert_eq!(NodeShards::new([0], 3).of(0), 0);
        assert_eq!(NodeShards::new([], 3).of(u32::MAX), u32::MAX as usize % 3);
    }
}
