// SPDX-License-Identifier: Apache-2.0
//! From the ingress pipeline to the queues.

use super::{Event, MAX_DIGESTS, Replica, Switch};
use crate::engine::packet::{Packet, instance_type};
use crate::engine::{get, put};

impl Switch {
    pub(super) fn ingress(&mut self, mut p: Box<Packet>, t: u64) {
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

    pub(super) fn digest(&mut self, p: &Packet, list: u32) {
        let Some(message) = self.engine.as_ref().and_then(|e| e.digest(list, p)) else {
            return;
        };
        if self.digests.len() >= MAX_DIGESTS {
            self.digests.pop_front();
            self.stats.dropped_digests += 1;
        }
        self.digests.push_back(message);
    }

    pub(super) fn replicate(&mut self, mut p: Box<Packet>, replicas: &[Replica], t: u64) {
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

    pub(super) fn enqueue(&mut self, number: u32, mut p: Box<Packet>, t: u64) {
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
}
