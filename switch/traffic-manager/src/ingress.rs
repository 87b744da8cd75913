// SPDX-License-Identifier: Apache-2.0
//! From the ingress pipeline to the queues.

use p4_vm::{DROP_PORT, Packet, get, instance_type, put};

use crate::events::Event;
use crate::loaded::Loaded;
use crate::queues::Queues;
use crate::replication::Replica;
use crate::signals;

impl Loaded {
    pub(crate) fn ingress(&mut self, q: &mut Queues, mut p: Box<Packet>, t: u64) {
        let now_us = t / 1000;
        let whole = p.frame.len();
        p.payload = 0..whole;
        self.engine.ingress(&mut p, now_us);
        if p.requests.failed {
            q.stats.dropped_ingress += 1;
            self.engine.recycle(p);
            return;
        }
        if let Some((session, list)) = p.requests.clone.take() {
            self.clone_ingress(q, &p, session, list, t);
        }
        if let Some(list) = p.requests.digest.take() {
            self.digest(q, &p, list);
        }
        if let Some(list) = p.requests.resubmit.take() {
            self.resubmit(q, p, list, t);
            return;
        }
        let std = &self.engine.image.program.std;
        let group = get(&p, std.mcast_grp) as u32;
        if group != 0 {
            put(&mut p, std.instance_type, instance_type::REPLICATION);
            p.requests = Default::default();
            let mut replicas = std::mem::take(&mut self.replicas);
            replicas.clear();
            if let Some(g) = self.groups.get(&group) {
                replicas.extend_from_slice(g);
            }
            if replicas.is_empty() {
                q.stats.dropped_ingress += 1;
            }
            self.replicate(q, p, &replicas, t);
            self.replicas = replicas;
            return;
        }
        let port = get(&p, std.egress_spec) as u32;
        if port == DROP_PORT {
            q.stats.dropped_ingress += 1;
            self.engine.recycle(p);
            return;
        }
        put(&mut p, std.instance_type, instance_type::NORMAL);
        self.enqueue(q, port, p, t);
    }

    pub(crate) fn replicate(
        &mut self,
        q: &mut Queues,
        mut p: Box<Packet>,
        replicas: &[Replica],
        t: u64,
    ) {
        let rid = self.engine.image.program.std.egress_rid;
        let Some((last, rest)) = replicas.split_last() else {
            self.engine.recycle(p);
            return;
        };
        for r in rest {
            put(&mut p, rid, u64::from(r.rid));
            let copy = self.engine.duplicate(&p);
            self.enqueue(q, r.port, copy, t);
        }
        put(&mut p, rid, u64::from(last.rid));
        self.enqueue(q, last.port, p, t);
    }

    fn enqueue(&mut self, q: &mut Queues, number: u32, mut p: Box<Packet>, t: u64) {
        let port = q.ports.entry(number);
        let std = &self.engine.image.program.std;
        let priority = get(&p, std.priority);
        let depth = port.queues.depth(priority, port.config.depth_packets);
        let Some(queue) = port.queues.get_mut(priority) else {
            q.stats.dropped_priority += 1;
            self.engine.recycle(p);
            return;
        };
        if depth != 0 && queue.len() >= depth {
            port.tail_dropped_packets += 1;
            port.tail_dropped_bytes += u64::from(p.length_bytes);
            self.engine.recycle(p);
            return;
        }
        if std.enq_timestamp.is_some() && std.enq_qdepth.is_some() {
            put(&mut p, std.enq_timestamp, t / 1000);
            put(&mut p, std.enq_qdepth, queue.len() as u64);
        }
        if let Some(aqm) = &mut port.aqm {
            let rate_bps = port.config.rate_bps;
            if !signals::arrive(aqm, &self.engine, &mut p, priority, rate_bps, t) {
                let left = queue.len() as u64;
                self.drop_managed(q, number, p, (priority, left), t);
                return;
            }
        }
        let is_managed = port.aqm.is_some();
        port.queue_bytes += u64::from(p.length_bytes);
        queue.push_back(p);
        if !port.serving {
            port.serving = true;
            let at = port.free_at_ns.max(t);
            q.schedule(at, Event::Serve(number));
        }
        if is_managed {
            self.shed(q, number, priority, t);
        }
    }
}
