// SPDX-License-Identifier: Apache-2.0
//! Clones, and packets that pass a pipeline again.

use p4_vm::{Engine, Packet, instance_type, put};

use crate::events::Event;
use crate::loaded::Loaded;
use crate::queues::Queues;

/// Most packets that may wait for another pass.
const MAX_REINJECTED: usize = 1024;
/// Logical time that a resubmission or recirculation takes, so that a packet that
/// circulates for ever cannot stop time.
const REINJECT_NS: u64 = 1_000;

impl Loaded {
    /// Clones the frame as received, and parses it again.
    pub(crate) fn clone_ingress(
        &mut self,
        q: &mut Queues,
        p: &Packet,
        session: u32,
        list: u32,
        t: u64,
    ) {
        self.send_clone(
            q,
            p,
            (session, list),
            instance_type::INGRESS_CLONE,
            t,
            |e| {
                let mut c = e.receive_shared(p.ingress_port, p.frame.clone(), t / 1000);
                c.ingress_bytes = p.ingress_bytes;
                e.parse(&mut c, t / 1000);
                e.reset_metadata(&mut c);
                c
            },
        );
    }

    /// Clones the packet with its headers as they are at the end of egress.
    pub(crate) fn clone_egress(
        &mut self,
        q: &mut Queues,
        p: &Packet,
        session: u32,
        list: u32,
        t: u64,
    ) {
        self.send_clone(q, p, (session, list), instance_type::EGRESS_CLONE, t, |e| {
            e.duplicate_headers(p)
        });
    }
    /// Sends the copy of `p` that `make` builds to the replicas of a session, if it exists.
    fn send_clone(
        &mut self,
        q: &mut Queues,
        p: &Packet,
        (session, list): (u32, u32),
        kind: u64,
        t: u64,
        make: impl FnOnce(&mut Engine) -> Box<Packet>,
    ) {
        let Some(s) = self.sessions.get(&session) else {
            return;
        };
        let e = &mut self.engine;
        let mut c = make(e);
        e.copy_field_list(list, &mut c, p);
        put(&mut c, e.image.program.std.instance_type, kind);
        if let Some(n) = s.length_bytes {
            c.payload.end = c.payload.end.min(n as usize).max(c.payload.start);
        }
        let mut replicas = std::mem::take(&mut self.replicas);
        replicas.clear();
        replicas.extend_from_slice(&s.replicas);
        q.stats.clones += 1;
        self.replicate(q, c, &replicas, t);
        self.replicas = replicas;
    }

    pub(crate) fn resubmit(&mut self, q: &mut Queues, p: Box<Packet>, list: u32, t: u64) {
        let e = &mut self.engine;
        let length = p.ingress_bytes;
        let mut c = e.receive_shared(p.ingress_port, p.frame.clone(), t / 1000);
        e.reset_metadata(&mut c);
        e.copy_field_list(list, &mut c, &p);
        let std = &e.image.program.std;
        put(&mut c, std.instance_type, instance_type::RESUBMITTED);
        put(&mut c, std.packet_length, u64::from(length));
        c.ingress_bytes = length;
        e.recycle(p);
        self.reinject(q, c, t);
    }

    fn reinject(&mut self, q: &mut Queues, p: Box<Packet>, t: u64) {
        if self.reinjected.len() >= MAX_REINJECTED {
            q.stats.dropped_reinject += 1;
            self.engine.recycle(p);
            return;
        }
        self.reinjected.push_back(p);
        q.schedule(t + REINJECT_NS, Event::Reinject);
    }

    pub(crate) fn recirculate(
        &mut self,
        q: &mut Queues,
        p: &Packet,
        frame: Vec<u8>,
        list: u32,
        t: u64,
    ) {
        let e = &mut self.engine;
        let length = frame.len() as u64;
        let mut c = e.receive_shared(p.ingress_port, frame.into(), t / 1000);
        e.reset_metadata(&mut c);
        e.copy_field_list(list, &mut c, p);
        let std = &e.image.program.std;
        put(&mut c, std.instance_type, instance_type::RECIRCULATED);
        put(&mut c, std.packet_length, length);
        self.reinject(q, c, t);
    }
}
