// SPDX-License-Identifier: Apache-2.0
//! The switch: the loaded program, if any, and the queues of the ports.

use std::sync::Arc;

use crate::aqm::AqmConfig;
use crate::super_frame::Cutter;
use bytes::Bytes;
use p4_vm::Image;

use crate::events::Event;
use crate::line::{Joined, Waiting, usual_rate_bps};
use crate::loaded::Loaded;
use crate::port::{Port, PortConfig};
use crate::queues::{FinishClone, Queues};
use crate::signals;
use crate::stats::Stats;
use crate::wire::{Pace, Wire};

/// A switch in logical time. Without a program, received frames are counted and dropped.
#[derive(Default)]
pub struct Switch {
    loaded: Option<Box<Loaded>>,
    queues: Queues,
}

impl Switch {
    /// A switch without ports and without a program, at time 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the program: tables, counters, registers, groups and sessions start empty;
    /// packets in queues are lost, but frames on the wire are not.
    pub fn load(&mut self, image: Image) {
        self.loaded = Some(Box::new(Loaded::new(image)));
        for p in self.queues.ports.values_mut() {
            p.queues.clear();
            p.queue_bytes = 0;
            p.restart_aqm();
        }
    }

    /// Returns the loaded program.
    pub fn loaded(&self) -> Option<&Loaded> {
        self.loaded.as_deref()
    }

    /// Returns the loaded program.
    pub fn loaded_mut(&mut self) -> Option<&mut Loaded> {
        self.loaded.as_deref_mut()
    }

    /// Resets time to 0; only possible while no packet or event is pending.
    pub fn restart_clock(&mut self) {
        if self.queues.events.is_empty() {
            self.queues.now_ns = 0;
            for p in self.queues.ports.values_mut() {
                p.free_at_ns = 0;
                p.line.restart_clock();
                p.restart_aqm();
            }
        }
    }

    /// Gives each port `count` queues, numbered from 0; the highest non-empty queue is served. At
    /// most [`MOST_PRIORITIES`](crate::MOST_PRIORITIES). Afterwards all are FIFOs without queue
    /// management.
    pub fn set_priority_queues(&mut self, count: usize) {
        self.queues.ports.set_priorities(count);
    }

    /// Returns the logical time, in ns since the start.
    pub fn now_ns(&self) -> u64 {
        self.queues.now_ns
    }

    /// Sets the function that finishes the frames of clones when they leave their queue, before
    /// their time on the wire is computed; received frames are left alone.
    pub fn finish_clones(&mut self, finish: FinishClone) {
        self.queues.finish_clone = Some(finish);
    }

    /// Returns the counters of the whole switch.
    pub fn stats(&self) -> &Stats {
        &self.queues.stats
    }

    /// Returns the port; creates it if it does not exist.
    pub fn port_mut(&mut self, port: u32) -> &mut Port {
        self.queues.ports.entry(port)
    }

    /// Iterates over all ports in order of their numbers.
    pub fn ports(&self) -> impl Iterator<Item = (u32, &Port)> {
        self.queues.ports.iter()
    }

    /// Sets a port's configuration; a new rate takes effect with the next frame.
    pub fn configure(&mut self, port: u32, config: PortConfig) {
        let p = self.port_mut(port);
        p.config = config;
        p.pace = Pace::default();
        let rates = self.queues.ports.iter().map(|(_, p)| p.config.rate_bps);
        self.queues.usual_line_bps = usual_rate_bps(rates.max().unwrap_or(0));
    }

    /// Manages a queue of a port, which is created if necessary; the queue's depth still applies.
    ///
    /// # Errors
    /// There is no such queue, or a value with which the algorithm cannot work.
    pub fn set_aqm(&mut self, port: u32, queue: usize, aqm: AqmConfig) -> Result<(), String> {
        aqm.check()?;
        let now = self.queues.now_ns;
        let p = self.port_mut(port);
        let count = p.queues.count();
        let waiting = p.queues.get(queue).ok_or_else(|| {
            format!("port {port} has {count} queues, numbered from 0: there is no queue {queue}")
        })?;
        let packets = waiting.iter();
        let packets = packets.map(|packet| (packet.length_bytes, signals::flow(&packet.frame)));
        p.aqm.get_or_insert_default().set(queue, aqm, now, packets);
        Ok(())
    }

    /// Returns the time of the next event.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.queues.events.next_ns()
    }

    /// Handles every event due at or before `until_ns`, each at its own time.
    pub fn run_until(&mut self, until_ns: u64, wire: &mut dyn Wire) {
        while let Some((t, event)) = self.queues.events.next_due(until_ns) {
            let q = &mut self.queues;
            q.now_ns = q.now_ns.max(t);
            match (event, &mut self.loaded) {
                (Event::Arrive(port), _) => q.arrive(port, t, wire),
                (Event::Receive(port), _) => {
                    self.let_in(port, t);
                    self.queues.next_on_line(port, t);
                }
                (Event::Serve(port), Some(l)) => l.serve(q, port, t),
                (Event::Reinject, Some(l)) => {
                    if let Some(p) = l.reinjected.pop_front() {
                        l.ingress(q, p, t);
                    }
                }
                (Event::Serve(_) | Event::Reinject, None) => {}
            }
        }
        self.queues.now_ns = self.queues.now_ns.max(until_ns);
    }

    /// Lets the next frame on the line of `port` enter; returns `false` if none waits.
    fn let_in(&mut self, port: u32, t: u64) -> bool {
        let q = &mut self.queues;
        let mut is_one = false;
        if let Some(l) = &mut self.loaded {
            let frame = l
                .engine
                .frame_buffer(|out| is_one = q.next_from_line(port, out, t));
            if is_one {
                q.stats.received += 1;
                let p = l.engine.receive_shared(port, frame.into(), t / 1000);
                l.ingress(q, p, t);
            }
        } else {
            let mut frame = std::mem::take(&mut q.scratch);
            is_one = q.next_from_line(port, &mut frame, t);
            q.stats.received += u64::from(is_one);
            q.scratch = frame;
        }
        is_one
    }

    /// Receives a frame on `port` at `time_ns`, which must not be earlier than anything
    /// already handled; the caller has run the switch up to it.
    pub fn receive(&mut self, port: u32, frame: &[u8], time_ns: u64) {
        let q = &mut self.queues;
        q.now_ns = q.now_ns.max(time_ns);
        let now = q.now_ns;
        if let Some((line, own)) = q.line(port)
            && line.holds(own, now)
        {
            let mut copy = q.free_lines.pop().unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(frame);
            self.join(port, Waiting::Frame(copy));
            return;
        }
        if let Some((line, Some(rate))) = q.line(port) {
            line.pass(frame.len(), rate, now);
        }
        q.stats.received += 1;
        if let Some(l) = &mut self.loaded {
            let p = l.engine.receive(port, frame, now / 1000);
            l.ingress(q, p, now);
        }
    }

    /// Like [`Self::receive`], for a super-frame: each of its segments arrives when the input
    /// line would have delivered it, the first at once.
    pub fn receive_super_frame(&mut self, port: u32, cutter: Cutter, time_ns: u64) {
        let q = &mut self.queues;
        q.now_ns = q.now_ns.max(time_ns);
        self.join(port, Waiting::SuperFrame(cutter));
        let now = self.queues.now_ns;
        let Some(p) = self.queues.ports.get_mut(port) else {
            return;
        };
        let rate = p.config.in_rate_bps.unwrap_or(self.queues.usual_line_bps);
        if rate == 0 {
            // The event is due now; otherwise the next call would handle it.
            while self.let_in(port, now) {}
        }
    }

    fn join(&mut self, port: u32, what: Waiting) {
        let q = &mut self.queues;
        let now = q.now_ns;
        let p = q.ports.entry(port);
        let own = p.config.in_rate_bps;
        let (event, over) = match p.line.join(what, own, now) {
            Joined::Waits(event) => (event, false),
            Joined::TooMuch(event) => (event, true),
            Joined::Dropped => return,
        };
        if let Some(at) = event {
            q.schedule(at, Event::Receive(port));
        }
        while over
            && let Some((line, _)) = self.queues.line(port)
            && line.is_over()
        {
            line.early_packets += 1;
            self.let_in(port, now);
        }
    }

    /// Returns a buffer for the next super-frame.
    pub fn spare_buffer(&mut self) -> Vec<u8> {
        self.queues.free_lines.pop().unwrap_or_default()
    }

    /// Takes the oldest digest: name and fields.
    pub fn next_digest(&mut self) -> Option<(Arc<str>, Bytes)> {
        self.loaded_mut()?.digests.pop_front()
    }

    /// Takes a transmitted frame's buffer back for reuse.
    pub fn reuse(&mut self, frame: Vec<u8>) {
        self.queues.reuse(frame);
    }
}
