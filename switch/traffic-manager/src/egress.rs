// SPDX-License-Identifier: Apache-2.0
//! Service of a queue: the egress pipeline, then the wire.

use p4_vm::{DROP_PORT, Packet, get, instance_type, put};

use crate::events::Event;
use crate::loaded::Loaded;
use crate::port::Port;
use crate::priority::Next;
use crate::queues::Queues;
use crate::signals;

impl Loaded {
    /// Begins to serve the port's next frame at time `t`. A packet that the egress pipeline
    /// drops takes no time.
    pub(crate) fn serve(&mut self, q: &mut Queues, number: u32, t: u64) {
        loop {
            let Some(port) = q.ports.get_mut(number) else {
                return;
            };
            let next = if port.queues.limits.is_empty() {
                port.queues.pop()
            } else {
                match limited(port, t) {
                    Ok(next) => next,
                    Err(None) => return,
                    Err(Some(at)) => {
                        q.schedule(at, Event::Serve(number));
                        return;
                    }
                }
            };
            let Some((mut p, priority, left)) = next else {
                port.serving = false;
                return;
            };
            let mut goes_on = true;
            if let Some(aqm) = &mut port.aqm
                && let Some(queue) = port.queues.get_mut(priority)
            {
                goes_on = signals::leave(aqm, &self.engine, &mut p, (queue, priority), t);
            }
            port.queue_bytes = port.queue_bytes.saturating_sub(u64::from(p.length_bytes));
            if !goes_on {
                self.drop_managed(q, number, p, (priority, left), t);
                continue;
            }
            let frame = self.egress(q, number, &mut p, (priority, left), t);
            self.engine.recycle(p);
            let Some(frame) = frame else { continue };
            let Some(port) = q.ports.get_mut(number) else {
                return;
            };
            port.free_at_ns = t + port.service_ns(frame.len());
            let mut arrival = port.free_at_ns + port.config.delay_ns;
            // Frames do not overtake, even if the delay was shortened.
            if let Some((last, _)) = port.flying.back() {
                arrival = arrival.max(*last);
            }
            port.flying.push_back((arrival, frame));
            let free_at = port.free_at_ns;
            let more = !port.queues.is_empty();
            port.serving = more;
            q.schedule(arrival, Event::Arrive(number));
            if more {
                q.schedule(free_at, Event::Serve(number));
            }
            return;
        }
    }

    /// Runs the egress pipeline and the deparser; `None` if nothing leaves.
    fn egress(
        &mut self,
        q: &mut Queues,
        port: u32,
        p: &mut Packet,
        queue: (u64, u64),
        t: u64,
    ) -> Option<Vec<u8>> {
        self.egress_pipeline(q, port, p, queue, t);
        let e = &mut self.engine;
        let spec = get(p, e.image.program.std.egress_spec) as u32;
        if spec == DROP_PORT || p.requests.failed {
            q.stats.dropped_egress += 1;
            return None;
        }
        let mut frame = q.free_frames.pop().unwrap_or_default();
        e.deparse(p, &mut frame);
        if let Some(list) = p.requests.recirculate.take() {
            self.recirculate(q, p, frame, list, t);
            return None;
        }
        if let Some(finish) = &mut q.finish_clone
            && is_clone(get(p, self.engine.image.program.std.instance_type))
        {
            finish(&mut frame);
        }
        Some(frame)
    }

    /// Runs the pipeline and makes the clone that it asks for. `left` packets wait in this queue.
    #[inline(always)]
    pub(crate) fn egress_pipeline(
        &mut self,
        q: &mut Queues,
        port: u32,
        p: &mut Packet,
        (priority, left): (u64, u64),
        t: u64,
    ) {
        let now_us = t / 1000;
        let e = &mut self.engine;
        let std = &e.image.program.std;
        put(p, std.egress_global_timestamp, now_us);
        if std.enq_timestamp.is_some() && std.deq_qdepth.is_some() {
            let waited = now_us.wrapping_sub(get(p, std.enq_timestamp)) & 0xffff_ffff;
            put(p, std.deq_timedelta, waited);
            put(p, std.deq_qdepth, left);
            put(p, std.qid, priority);
        }
        put(p, std.egress_port, u64::from(port));
        put(p, std.egress_spec, u64::from(DROP_PORT) + 1);
        put(p, std.packet_length, u64::from(p.length_bytes));
        e.egress(p, now_us);
        if let Some((session, list)) = p.requests.clone.take() {
            self.clone_egress(q, p, session, list, t);
        }
    }
}

/// Returns the next packet of a port whose queues have limits of their own. `Err`: nothing is
/// served now; holds the time to look again, unless that is scheduled already.
#[cold]
#[inline(never)]
fn limited(port: &mut Port, t: u64) -> Result<Option<Next>, Option<u64>> {
    if t < port.free_at_ns {
        return Err(None);
    }
    port.queues.pop_limited(t).map_err(|at| {
        // A packet of another queue may be served before that.
        port.serving = false;
        let known = t < port.wake_at_ns && port.wake_at_ns <= at;
        (!known).then(|| {
            port.wake_at_ns = at;
            at
        })
    })
}

fn is_clone(kind: u64) -> bool {
    matches!(
        kind,
        instance_type::INGRESS_CLONE | instance_type::EGRESS_CLONE
    )
}
