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

mod port;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use bytes::Bytes;
use rustc_hash::FxHashMap;

use crate::bmv2::ir::Program;
use crate::engine::packet::{Packet, instance_type};
use crate::engine::{Engine, get, put};
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Serve(u32),
    Arrive(u32),
    Reinject,
}

/// Time, order of scheduling, what happens.
type Due = (u64, u64, Event);

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
    events: BinaryHeap<Reverse<Due>>,
    /// Events due as soon as they arise, in order of time: most of them, where
    /// no port has a rate or delay.
    immediate: VecDeque<Due>,
    sequence: u64,
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
            events: BinaryHeap::new(),
            immediate: VecDeque::new(),
            sequence: 0,
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
        if self.events.is_empty() && self.immediate.is_empty() {
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
        let later = self.events.peek().map(|Reverse(e)| e);
        later
            .into_iter()
            .chain(self.immediate.front())
            .min()
            .map(|(t, _, _)| *t)
    }

    /// Takes the first event due at or before `until_ns`.
    fn next_due(&mut self, until_ns: u64) -> Option<Due> {
        let first = self.immediate.front().copied();
        let Some(Reverse(later)) = self.events.peek() else {
            return first
                .filter(|e| e.0 <= until_ns)
                .and_then(|_| self.immediate.pop_front());
        };
        match first {
            Some(e) if e < *later => (e.0 <= until_ns)
                .then(|| self.immediate.pop_front())
                .flatten(),
            _ if later.0 <= until_ns => self.events.pop().map(|Reverse(e)| e),
            _ => None,
        }
    }

    /// Handles everything due at or before `until_ns`, each at its own time.
    pub fn run_until(&mut self, until_ns: u64, wire: &mut dyn Wire) {
        while let Some((t, _, e)) = self.next_due(until_ns) {
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
        self.sequence += 1;
        let due = (time_ns, self.sequence, event);
        if time_ns <= self.now_ns && self.immediate.back().is_none_or(|b| *b < due) {
            self.immediate.push_back(due);
        } else {
            self.events.push(Reverse(due));
        }
    }

    fn ingress(&mut self, mut p: Box<Packet>, t: u64) {
        let now_us = t / 1000;
        let Some(e) = &mut self.engine else { return };
        let whole = p.frame.len();
        p.payload = 0..whole;
        e.ingress(&mut p, now_us);
        if p.requests.failed {
            self.stats.dropped_ingress += 1;
            e.recycle(p);
            return;
        }
        if let Some((session, list)) = p.requests.clone.take() {
            self.clone_ingress(&p, session, list, t);
        }
        if let Some(list) = p.requests.digest.take() {
            self.digest(&p, list);
        }
        if let Some(list) = p.requests.resubmit.take() {
            self.resubmit(p, list, t);
            return;
        }
        let Some(e) = &mut self.engine else { return };
        let std = &e.program.std;
        let group = get(&p, std.mcast_grp) as u32;
        if group != 0 {
            let f = std.instance_type;
            put(&mut p, f, instance_type::REPLICATION);
            p.requests = Default::default();
            let mut replicas = std::mem::take(&mut self.replicas);
            replicas.clear();
            if let Some(g) = self.groups.get(&group) {
                replicas.extend_from_slice(g);
            }
            if replicas.is_empty() {
                self.stats.dropped_ingress += 1;
            }
            self.replicate(p, &replicas, t);
            self.replicas = replicas;
            return;
        }
        let port = get(&p, std.egress_spec) as u32;
        if port == e.drop_port() {
            self.stats.dropped_ingress += 1;
            e.recycle(p);
            return;
        }
        let f = std.instance_type;
        put(&mut p, f, instance_type::NORMAL);
        self.enqueue(port, p, t);
    }

    fn digest(&mut self, p: &Packet, list: u32) {
        let Some(message) = self.engine.as_ref().and_then(|e| e.digest(list, p)) else {
            return;
        };
        if self.digests.len() >= MAX_DIGESTS {
            self.digests.pop_front();
            self.stats.dropped_digests += 1;
        }
        self.digests.push_back(message);
    }

    /// The clone is the frame as received, parsed anew.
    fn clone_ingress(&mut self, p: &Packet, session: u32, list: u32, t: u64) {
        if !self.sessions.contains_key(&session) {
            return;
        }
        let Some(e) = &mut self.engine else { return };
        let mut c = e.receive_shared(p.ingress_port, p.frame.clone(), t / 1000);
        c.ingress_bytes = p.ingress_bytes;
        e.parse(&mut c, t / 1000);
        e.reset_metadata(&mut c);
        e.copy_field_list(list, &mut c, p);
        put(
            &mut c,
            e.program.std.instance_type,
            instance_type::INGRESS_CLONE,
        );
        self.send_clone(c, session, t);
    }

    /// The clone carries the headers as they are at the end of egress.
    fn clone_egress(&mut self, p: &Packet, session: u32, list: u32, t: u64) {
        if !self.sessions.contains_key(&session) {
            return;
        }
        let Some(e) = &mut self.engine else { return };
        let mut c = e.duplicate_headers(p);
        e.copy_field_list(list, &mut c, p);
        put(
            &mut c,
            e.program.std.instance_type,
            instance_type::EGRESS_CLONE,
        );
        self.send_clone(c, session, t);
    }

    fn send_clone(&mut self, mut c: Box<Packet>, session: u32, t: u64) {
        let mut replicas = std::mem::take(&mut self.replicas);
        replicas.clear();
        if let Some(s) = self.sessions.get(&session) {
            replicas.extend_from_slice(&s.replicas);
            if let Some(n) = s.length_bytes {
                c.payload.end = c.payload.end.min(n as usize).max(c.payload.start);
            }
        }
        self.stats.clones += 1;
        self.replicate(c, &replicas, t);
        self.replicas = replicas;
    }

    fn resubmit(&mut self, p: Box<Packet>, list: u32, t: u64) {
        let Some(e) = &mut self.engine else { return };
        let length = p.ingress_bytes;
        let mut c = e.receive_shared(p.ingress_port, p.frame.clone(), t / 1000);
        e.reset_metadata(&mut c);
        e.copy_field_list(list, &mut c, &p);
        let std = &e.program.std;
        put(&mut c, std.instance_type, instance_type::RESUBMITTED);
        put(&mut c, std.packet_length, u64::from(length));
        c.ingress_bytes = length;
        e.recycle(p);
        self.reinject(c, t);
    }

    fn reinject(&mut self, p: Box<Packet>, t: u64) {
        if self.reinjected.len() >= MAX_REINJECTED {
            self.stats.dropped_reinject += 1;
            if let Some(e) = &mut self.engine {
                e.recycle(p);
            }
            return;
        }
        self.reinjected.push_back(p);
        self.schedule(t + REINJECT_NS, Event::Reinject);
    }

    fn replicate(&mut self, mut p: Box<Packet>, replicas: &[Replica], t: u64) {
        let Some((last, rest)) = replicas.split_last() else {
            if let Some(e) = &mut self.engine {
                e.recycle(p);
            }
            return;
        };
        for r in rest {
            let Some(e) = &mut self.engine else { return };
            put(&mut p, e.program.std.egress_rid, u64::from(r.rid));
            let copy = e.duplicate(&p);
            self.enqueue(r.port, copy, t);
        }
        let Some(e) = &mut self.engine else { return };
        put(&mut p, e.program.std.egress_rid, u64::from(last.rid));
        self.enqueue(last.port, p, t);
    }

    fn enqueue(&mut self, number: u32, mut p: Box<Packet>, t: u64) {
        let Some(e) = &mut self.engine else { return };
        let port = self.ports.entry(number);
        let std = &e.program.std;
        if get(&p, std.priority) != 0 {
            self.stats.dropped_priority += 1;
            e.recycle(p);
            return;
        }
        let depth = port.config.depth_packets as usize;
        if depth != 0 && port.queue.len() >= depth {
            port.tail_dropped_packets += 1;
            port.tail_dropped_bytes += u64::from(p.length_bytes);
            e.recycle(p);
            return;
        }
        if std.enq_timestamp.is_some() && std.enq_qdepth.is_some() {
            put(&mut p, std.enq_timestamp, t / 1000);
            put(&mut p, std.enq_qdepth, port.queue.len() as u64);
        }
        port.queue_bytes += u64::from(p.length_bytes);
        port.queue.push_back(p);
        if !port.serving {
            port.serving = true;
            let at = port.free_at_ns.max(t);
            self.schedule(at, Event::Serve(number));
        }
    }

    /// Begins the service of the port's next frame at time `t`. A packet that
    /// the egress pipeline drops takes no time.
    fn serve(&mut self, number: u32, t: u64) {
        loop {
            let Some(port) = self.ports.get_mut(number) else {
                return;
            };
            let Some(mut p) = port.queue.pop_front() else {
                port.serving = false;
                return;
            };
            port.queue_bytes = port.queue_bytes.saturating_sub(u64::from(p.length_bytes));
            let left = port.queue.len() as u64;
            let Some(frame) = self.egress(number, &mut p, left, t) else {
                self.finish(p);
                continue;
            };
            self.finish(p);
            let Some(port) = self.ports.get_mut(number) else {
                return;
            };
            port.free_at_ns = t + port.service_ns(frame.len());
            let mut arrival = port.free_at_ns + port.config.delay_ns;
            // A shorter delay does not let frames overtake.
            if let Some((last, _)) = port.flying.back() {
                arrival = arrival.max(*last);
            }
            port.flying.push_back((arrival, frame));
            let free_at = port.free_at_ns;
            let more = !port.queue.is_empty();
            port.serving = more;
            self.schedule(arrival, Event::Arrive(number));
            if more {
                self.schedule(free_at, Event::Serve(number));
            }
            return;
        }
    }

    fn finish(&mut self, p: Box<Packet>) {
        if let Some(e) = &mut self.engine {
            e.recycle(p);
        }
    }

    /// Egress pipeline and deparser; `None` when nothing leaves.
    fn egress(&mut self, port: u32, p: &mut Packet, left: u64, t: u64) -> Option<Vec<u8>> {
        let now_us = t / 1000;
        let e = self.engine.as_mut()?;
        let std = &e.program.std;
        put(p, std.egress_global_timestamp, now_us);
        if std.enq_timestamp.is_some() && std.deq_qdepth.is_some() {
            let waited = now_us.wrapping_sub(get(p, std.enq_timestamp)) & 0xffff_ffff;
            put(p, std.deq_timedelta, waited);
            put(p, std.deq_qdepth, left);
            put(p, std.qid, 0);
        }
        put(p, std.egress_port, u64::from(port));
        put(p, std.egress_spec, u64::from(e.drop_port()) + 1);
        put(p, std.packet_length, u64::from(p.length_bytes));
        e.egress(p, now_us);
        if let Some((session, list)) = p.requests.clone.take() {
            self.clone_egress(p, session, list, t);
        }
        let e = self.engine.as_mut()?;
        let spec = get(p, e.program.std.egress_spec) as u32;
        if spec == e.drop_port() || p.requests.failed {
            self.stats.dropped_egress += 1;
            return None;
        }
        let mut frame = self.free_frames.pop().unwrap_or_default();
        e.deparse(p, &mut frame);
        if let Some(list) = p.requests.recirculate.take() {
            self.recirculate(p, frame, list, t);
            return None;
        }
        Some(frame)
    }

    fn recirculate(&mut self, p: &Packet, frame: Vec<u8>, list: u32, t: u64) {
        let Some(e) = &mut self.engine else { return };
        let length = frame.len() as u64;
        let mut c = e.receive_shared(p.ingress_port, frame.into(), t / 1000);
        e.reset_metadata(&mut c);
        e.copy_field_list(list, &mut c, p);
        let std = &e.program.std;
        put(&mut c, std.instance_type, instance_type::RECIRCULATED);
        put(&mut c, std.packet_length, length);
        self.reinject(c, t);
    }

    fn arrive(&mut self, number: u32, t: u64, wire: &mut dyn Wire) {
        let Some(port) = self.ports.get_mut(number) else {
            return;
        };
        if let Some((_, frame)) = port.flying.pop_front() {
            port.tx_packets += 1;
            port.tx_bytes += frame.len() as u64;
            wire.transmit(number, frame, t);
        }
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
