// SPDX-License-Identifier: Apache-2.0
//! Drops and marks by queue management.
//!
//! A dropped packet passes the egress pipeline, wherever in the queue it was: there the
//! program removes the packet from its own accounts and can report it with a clone. A program
//! without the fields for that is not run; its drops are only counted.

use p4_vm::{Engine, Packet};

use crate::aqm::{PortAqm, Verdict};
use crate::loaded::Loaded;
use crate::queues::Queues;

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
    let verdict = aqm.arrive(queue, p.length_bytes, markable, rate_bps, t);
    is_taken(aqm, engine, p, verdict)
}

/// Handles the first packet of a queue as it leaves; returns `false` if it is dropped.
#[cold]
#[inline(never)]
pub(crate) fn leave(
    aqm: &mut PortAqm,
    engine: &Engine,
    p: &mut Packet,
    queue: u64,
    t: u64,
) -> bool {
    let markable = aqm.marks(queue) && engine.is_markable(p);
    let verdict = aqm.leave(queue, markable, t);
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
