// SPDX-License-Identifier: Apache-2.0
//! A program in service.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use p4_vm::{Engine, Image, Packet};
use rustc_hash::FxHashMap;

use crate::queues::Queues;
use crate::replication::{CloneSession, Replica};

/// Most digests that wait to be fetched.
const MAX_DIGESTS: usize = 1024;

/// A loaded program: the engine that runs it, and its configuration.
pub struct Loaded {
    /// Engine that runs the program.
    pub engine: Engine,
    /// Multicast groups.
    pub groups: FxHashMap<u32, Vec<Replica>>,
    /// Clone sessions.
    pub sessions: FxHashMap<u32, CloneSession>,
    /// Names and fields of the digests that wait to be fetched.
    pub digests: VecDeque<(Arc<str>, Bytes)>,
    /// Packets that wait for another pass.
    pub(crate) reinjected: VecDeque<Box<Packet>>,
    /// The copies being made; kept for reuse.
    pub(crate) replicas: Vec<Replica>,
}

impl Loaded {
    pub(crate) fn new(image: Image) -> Self {
        Self {
            engine: Engine::new(image),
            groups: FxHashMap::default(),
            sessions: FxHashMap::default(),
            digests: VecDeque::new(),
            reinjected: VecDeque::new(),
            replicas: Vec::new(),
        }
    }

    /// Queues a digest; if the queue is full, the oldest is dropped.
    pub(crate) fn digest(&mut self, q: &mut Queues, p: &Packet, list: u32) {
        let Some(message) = self.engine.digest(list, p) else {
            return;
        };
        if self.digests.len() >= MAX_DIGESTS {
            self.digests.pop_front();
            q.stats.dropped_digests += 1;
        }
        self.digests.push_back(message);
    }
}
