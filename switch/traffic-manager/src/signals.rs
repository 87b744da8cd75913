// SPDX-License-Identifier: Apache-2.0
//! Drops and marks by queue management.
//!
//! A dropped packet passes the egress pipeline, wherever in the queue it was: there the
//! program removes the packet from its own accounts and can report it with a clone. A program
//! without the fields for that is not run; its drops are only counted.

use std::hash::Hasher as _;

use p4_vm::{Engine, Packet};
use rustc_hash::FxHasher;

use crate::aqm::{PortAqm, Verdict};
use crate::loaded::Loaded;
use crate::priority::Queue;
use crate::queues::Queues;
use crate::super_frame::{Headers, Network};

/// Identifies the flow of a frame by addresses, protocol and ports. All that is neither TCP nor UDP
/// is one flow, 0.
pub(crate) fn flow(frame: &[u8]) -> u64 {
    let Some(h) = Headers::of(frame) else {
        return 0;
    };
    let addresses = match h.network {
        Network::V4 => h.network_at + 12..h.network_at + 20,
        Network::V6 => h.network_at + 8..h.network_at + 40,
    };
    let mut hasher = FxHasher::default();
    hasher.write(frame.get(addresses).unwrap_or_default());
    let ports = h.transport_at..h.transport_at + 4;
    hasher.write(frame.get(ports).unwrap_or_default());
    hasher.write_u8(h.transport.number());
    hasher.finish()
}

/// Handles a packet that arrives at its queue; returns `false` if it is dropped.
#[cold]
#[inline(never)]
pub(crate) fn arrive(
    aqm: &mut PortAqm,
    engine: &Engine,
    p: &mut Packet,
    queue: u64,
    rate_bps: u64,
    t: u64,
) -> bool {
    let markable = aqm.marks(queue) && engine.is_markable(p);
    let flow = if aqm.by_flow(queue) {
        flow(&p.frame)
    } else {
        0
    };
    let verdict = aqm.arrive(queue, (p.length_bytes, flow), markable, rate_bps, t);
    is_taken(aqm, engine, p, verdict)
}

/// Handles a packet as it leaves: `p`, the first of `queue` and taken from it, or the one whose
/// flow is to be served, which takes its place. Returns `false` if it is dropped.
#[cold]
#[inline(never)]
pub(crate) fn leave(
    aqm: &mut PortAqm,
    engine: &Engine,
    p: &mut Box<Packet>,
    (queue, number): (&mut Queue, u64),
    t: u64,
) -> bool {
    let at = aqm.next(number);
    if let Some(behind) = at.checked_sub(1)
        && let Some(chosen) = queue.remove(behind)
    {
        queue.push_front(std::mem::replace(p, chosen));
    }
    let markable = aqm.marks(number) && engine.is_markable(p);
    let verdict = aqm.leave(number, at, markable, t);
    is_taken(aqm, engine, p, verdict)
}

fn is_taken(aqm: &mut PortAqm, engine: &Engine, p: &mut Packet, verdict: Verdict) -> bool {
    match verdict {
        Verdict::Pass => {}
        Verdict::Mark => aqm.counts.marked_packets += u64::from(engine.mark(p)),
        Verdict::Drop => {
            aqm.counts.dropped_packets += 1;
            aqm.counts.dropped_bytes += u64::from(p.length_bytes);
            return false;
        }
    }
    true
}

impl Loaded {
    /// Drops packets above the limit of a queue whose flows have queues of their own.
    #[cold]
    #[inline(never)]
    pub(crate) fn shed(&mut self, q: &mut Queues, number: u32, priority: u64, t: u64) {
        while let Some(port) = q.ports.get_mut(number)
            && let Some(at) = port.aqm.as_mut().and_then(|aqm| aqm.overflow(priority))
            && let Some(queue) = port.queues.get_mut(priority)
            && let Some(p) = queue.remove(at)
        {
            let left = queue.len() as u64;
            port.queue_bytes = port.queue_bytes.saturating_sub(u64::from(p.length_bytes));
            self.drop_managed(q, number, p, (priority, left), t);
        }
    }

    /// Ends a packet that is dropped; `left` packets wait in its queue.
    #[cold]
    #[inline(never)]
    pub(crate) fn drop_managed(
        &mut self,
        q: &mut Queues,
        port: u32,
        mut p: Box<Packet>,
        (queue, left): (u64, u64),
        t: u64,
    ) {
        if self.engine.tell_drop(&mut p) {
            self.egress_pipeline(q, port, &mut p, (queue, left), t);
        }
        self.engine.recycle(p);
    }
}
