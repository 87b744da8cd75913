// SPDX-License-Identifier: Apache-2.0
//! Service of a queue: the egress pipeline, then the wire.

use super::{Event, Switch, Wire};
use crate::engine::packet::Packet;
use crate::engine::{get, put};

impl Switch {
    /// Begins the service of the port's next frame at time `t`. A packet that
    /// the egress pipeline drops takes no time.
    pub(super) fn serve(&mut self, number: u32, t: u64) {
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

    pub(super) fn finish(&mut self, p: Box<Packet>) {
        if let Some(e) = &mut self.engine {
            e.recycle(p);
        }
    }

    /// Egress pipeline and deparser; `None` when nothing leaves.
    pub(super) fn egress(
        &mut self,
        port: u32,
        p: &mut Packet,
        left: u64,
        t: u64,
    ) -> Option<Vec<u8>> {
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

    pub(super) fn arrive(&mut self, number: u32, t: u64, wire: &mut dyn Wire) {
        let Some(port) = self.ports.get_mut(number) else {
            return;
        };
        if let Some((_, frame)) = port.flying.pop_front() {
            port.tx_packets += 1;
            port.tx_bytes += frame.len() as u64;
            wire.transmit(number, frame, t);
        }
    }
}
