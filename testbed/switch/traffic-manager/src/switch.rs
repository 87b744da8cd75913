// SPDX-License-Identifier: Apache-2.0
//! The switch: a program, if one is loaded, and the queues of its ports.

use std::sync::Arc;

use bytes::Bytes;
use p4_vm::Image;

use crate::events::Event;
use crate::loaded::Loaded;
use crate::port::{Port, PortConfig};
use crate::queues::Queues;
use crate::stats::Stats;
use crate::wire::Wire;

/// A switch in logical time.
#[derive(Default)]
pub struct Switch {
    state: State,
    queues: Queues,
}

/// Without a program, received frames are counted and dropped.
#[derive(Default)]
enum State {
    #[default]
    Empty,
    Loaded(Box<Loaded>),
}

impl Switch {
    /// A switch without ports and without a program, at time 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the program: tables, counters, registers, groups and sessions
    /// start empty; packets in queues are lost, frames on the wire are not.
    pub fn load(&mut self, image: Image) {
        self.state = State::Loaded(Box::new(Loaded::new(image)));
        for p in self.queues.ports.values_mut() {
            p.queue.clear();
            p.queue_bytes = 0;
        }
    }

    /// The program in service.
    pub fn loaded(&self) -> Option<&Loaded> {
        match &self.state {
            State::Empty => None,
            State::Loaded(l) => Some(l),
        }
    }

    /// The program in service.
    pub fn loaded_mut(&mut self) -> Option<&mut Loaded> {
        match &mut self.state {
            State::Empty => None,
            State::Loaded(l) => Some(l),
        }
    }

    /// Resets time to 0, which is possible while nothing is under way.
    pub fn restart_clock(&mut self) {
        if self.queues.events.is_empty() {
            self.queues.now_ns = 0;
        }
    }

    /// Logical time, in ns since the start.
    pub fn now_ns(&self) -> u64 {
        self.queues.now_ns
    }

    /// Counters of the whole switch.
    pub fn stats(&self) -> &Stats {
        &self.queues.stats
    }

    /// The port, made if need be.
    pub fn port_mut(&mut self, port: u32) -> &mut Port {
        self.queues.ports.entry(port)
    }

    /// All ports, in the order of their numbers.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &Port)> {
        self.queues.ports.iter()
    }

    /// A change of rate takes effect with the next frame.
    pub fn configure(&mut self, port: u32, config: PortConfig) {
        let p = self.port_mut(port);
        p.config = config;
        p.carry = 0;
    }

    /// When something is due next.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.queues.events.next_ns()
    }

    /// Handles everything due at or before `until_ns`, each at its own time.
    pub fn run_until(&mut self, until_ns: u64, wire: &mut dyn Wire) {
        let q = &mut self.queues;
        while let Some((t, event)) = q.events.next_due(until_ns) {
            q.now_ns = q.now_ns.max(t);
            match (event, &mut self.state) {
                (Event::Arrive(port), _) => q.arrive(port, t, wire),
                (Event::Serve(port), State::Loaded(l)) => l.serve(q, port, t),
                (Event::Reinject, State::Loaded(l)) => {
                    if let Some(p) = l.reinjected.pop_front() {
                        l.ingress(q, p, t);
                    }
                }
                (Event::Serve(_) | Event::Reinject, State::Empty) => {}
            }
        }
        q.now_ns = q.now_ns.max(until_ns);
    }

    /// A frame arrives on `port` at `time_ns`, which must not lie before
    /// anything already handled; the caller has run the switch up to it.
    pub fn receive(&mut self, port: u32, frame: &[u8], time_ns: u64) {
        let q = &mut self.queues;
        q.now_ns = q.now_ns.max(time_ns);
        let now = q.now_ns;
        q.stats.received += 1;
        if let State::Loaded(l) = &mut self.state {
            let p = l.engine.receive(port, frame, now / 1000);
            l.ingress(q, p, now);
        }
    }

    /// Takes the oldest digest: its name and fields.
    pub fn next_digest(&mut self) -> Option<(Arc<str>, Bytes)> {
        self.loaded_mut()?.digests.pop_front()
    }

    /// Takes a transmitted frame's buffer back for reuse.
    pub fn reuse(&mut self, frame: Vec<u8>) {
        self.queues.reuse(frame);
    }
}
