// SPDX-License-Identifier: Apache-2.0
//! Clones, and packets that go through a pipeline once more.

use super::{Event, MAX_REINJECTED, REINJECT_NS, Switch};
use crate::engine::packet::{Packet, instance_type};
use crate::engine::put;

impl Switch {
    /// The clone is the frame as received, parsed anew.
    pub(super) fn clone_ingress(&mut self, p: &Packet, session: u32, list: u32, t: u64) {
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
    pub(super) fn clone_egress(&mut self, p: &Packet, session: u32, list: u32, t: u64) {
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

    pub(super) fn send_clone(&mut self, mut c: Box<Packet>, session: u32, t: u64) {
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

    pub(super) fn resubmit(&mut self, p: Box<Packet>, list: u32, t: u64) {
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

    pub(super) fn reinject(&mut self, p: Box<Packet>, t: u64) {
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

    pub(super) fn recirculate(&mut self, p: &Packet, frame: Vec<u8>, list: u32, t: u64) {
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
}
