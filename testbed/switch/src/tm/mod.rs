// SPDX-License-Identifier: Apache-2.0
//! Traffic manager and event loop in logical time.
//!
//! One FIFO per egress port. A packet leaves its queue when its service begins:
//! at that instant the egress pipeline runs. Service lasts as long as the frame
//! takes at the port's bit rate; afterwards the frame travels for the port's
//! propagation delay. All of it happens at logical times (ns since the switch
//! started): an event that is handled late by the thread is still handled as of
//! its own time, and before anything later. So rates are exact and the same
//! input gives the same output in virtual time.
//!
//! Order of clone, resubmit, multicast, drop and recirculation, and what each
//! sets in `standard_metadata`, are those of BMv2's simple_switch.

mod copies;
mod egress;
mod events;
mod ingress;
mod port;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::bmv2::ir::Program;
use crate::engine::Engine;
use crate::engine::packet::Packet;
use events::{Event, Events};
use port::Ports;
pub use port::{DEFAULT_DEPTH_PACKETS, MIN_FRAME_BYTES, Port, PortConfig, WIRE_OVERHEAD_BYTES};

/// Packets that may wait for another pass.
const MAX_REINJECTED: usize = 1024;
/// Logical time of a resubmission or recirculation, so that a packet that
/// circulates for ever cannot stop time.
const REINJECT_NS: u64 = 1_000;
/// Output buffers kept for reuse.
const POOL: usize = 8192;
/// Digests that wait to be fetched.
const MAX_DIGESTS: usize = 1024;

/// Where frames go at the end of their propagation delay.
pub trait Wire {
    fn transmit(&mut self, port: u32, frame: Vec<u8>, time_ns: u64);
}

/// Copies of a multicast group or clone session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replica {
    pub port: u32,
    pub rid: u16,
}

#[derive(Debug, Clone, Default)]
pub struct CloneSession {
    pub replicas: Vec<Replica>,
    /// Copies keep at most this many bytes of the frame.
    pub length_bytes: Option<u32>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    pub received: u64,
    pub dropped_ingress: u64,
    pub dropped_egress: u64,
    pub clones: u64,
    /// `priority` above 0, for which there is no queue.
    pub dropped_priority: u64,
    /// Too many packets were waiting for another pass.
    pub dropped_reinject: u64,
    /// Digests that nobody fetched.
    pub dropped_digests: u64,
}

pub struct Switch {
    pub engine: Option<Engine>,
    ports: Ports,
    events: Events,
    reinjected: VecDeque<Box<Packet>>,
    /// Names and fields of digests, to be fetched.
    pub digests: VecDeque<(Arc<str>, Bytes)>,
    pub groups: FxHashMap<u32, Vec<Replica>>,
    pub sessions: FxHashMap<u32, CloneSession>,
    free_frames: Vec<Vec<u8>>,
    /// Reused: the copies being made.
    replicas: Vec<Replica>,
    now_ns: u64,
    pub stats: Stats,
}

impl Switch {
    pub fn new() -> Self {
        Self {
            engine: None,
            ports: Ports::default(),
            events: Events::default(),
            reinjected: VecDeque::new(),
            digests: VecDeque::new(),
            groups: FxHashMap::default(),
            sessions: FxHashMap::default(),
            free_frames: Vec::new(),
            replicas: Vec::new(),
            now_ns: 0,
            stats: Stats::default(),
        }
    }

    /// Replaces the program: tables, counters, registers, groups and sessions
    /// start afresh; packets in queues are lost, frames on the wire are not.
    pub fn load(&mut self, program: Program) {
        self.engine = Some(Engine::new(program));
        self.groups.clear();
        self.sessions.clear();
        self.reinjected.clear();
        self.digests.clear();
        for p in self.ports.values_mut() {
            p.queue.clear();
            p.queue_bytes = 0;
        }
    }

    /// Starts time anew at 0, which is possible while nothing is under way.
    pub fn restart_clock(&mut self) {
        if self.events.is_empty() {
            self.now_ns = 0;
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub fn port_mut(&mut self, port: u32) -> &mut Port {
        self.ports.entry(port)
    }

    pub fn ports(&self) -> impl Iterator<Item = (u32, &Port)> {
        self.ports.iter()
    }

    /// A change of rate takes effect with the next frame.
    pub fn configure(&mut self, port: u32, config: PortConfig) {
        let p = self.port_mut(port);
        p.config = config;
        p.carry = 0;
    }

    /// When something is due next.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.events.next_ns()
    }

    /// Handles everything due at or before `until_ns`, each at its own time.
    pub fn run_until(&mut self, until_ns: u64, wire: &mut dyn Wire) {
        while let Some((t, e)) = self.events.next_due(until_ns) {
            self.now_ns = self.now_ns.max(t);
            match e {
                Event::Serve(port) => self.serve(port, t),
                Event::Arrive(port) => self.arrive(port, t, wire),
                Event::Reinject => {
                    if let Some(p) = self.reinjected.pop_front() {
                        self.ingress(p, t);
                    }
                }
            }
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    /// A frame arrives on `port` at `time_ns`, which must not lie before
    /// anything already handled; the caller has run the switch up to it.
    pub fn receive(&mut self, port: u32, frame: &[u8], time_ns: u64) {
        self.now_ns = self.now_ns.max(time_ns);
        let now = self.now_ns;
        self.stats.received += 1;
        if let Some(e) = &mut self.engine {
            let p = e.receive(port, frame, now / 1000);
            self.ingress(p, now);
        }
    }

    fn schedule(&mut self, time_ns: u64, event: Event) {
        self.events.schedule(time_ns, self.now_ns, event);
    }

    /// Takes a transmitted frame's buffer back for reuse.
    pub fn reuse(&mut self, frame: Vec<u8>) {
        if self.free_frames.len() < POOL {
            self.free_frames.push(frame);
        }
    }
}

impl Default for Switch {
    fn default() -> Self {
        Self::new()
    }
}
