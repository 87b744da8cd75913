// SPDX-License-Identifier: Apache-2.0
//! Feedback time: the time from a loss or mark here to its sender's reaction.
//!
//! A sender retransmits on the third duplicate acknowledgement (fast retransmit: RFC 5681 §3.2, RFC
//! 6675 §3). So the retransmission comes here one base RTT after the third packet behind the
//! dropped packet has left, however long the queue is. A sender whose packet was marked (CE) learns
//! of it from ECE and sets CWR on the next new data packet (RFC 3168 §6.1.2), which comes one base
//! RTT after the marked packet has left.
//!
//! Both ends are known packet by packet, from reports alone. The time is lengthened by a receiver
//! that delays the acknowledgement of a mark, by queues elsewhere, and by a repair after a timeout;
//! it is shortened by lost reports. Of several samples, the lowest that agree give the base RTT.

/// Number of packets behind a loss that must arrive for the sender to detect it.
const DUPLICATES: u8 = 3;
/// A sender that is already repairing losses needs fewer acknowledgements for the next one, and
/// learns of them only when a repair is acknowledged. So a loss counts only a round trip after the
/// last loss or repair, or this long after it if no round trip is known.
const UNKNOWN_NS: u64 = 250_000_000;
/// A loss or mark that has not been answered for this long makes way for the next.
const FORGOTTEN_NS: u64 = 3_000_000_000;

/// The fields of a data packet that matter here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observed {
    pub node: u16,
    pub port: u32,
    pub queue: u8,
    pub seq: u32,
    pub ingress_ns: u64,
    pub egress_ns: u64,
    pub dropped: bool,
    pub ce_marked: bool,
    /// Whether it has the CWR flag.
    pub cwr: bool,
    /// Whether all of it was seen before at this port.
    pub again: bool,
}

impl Observed {
    /// Node, port and queue.
    fn queue_id(&self) -> (u16, u32, u8) {
        (self.node, self.port, self.queue)
    }
}

/// A packet that was dropped, and what left behind it.
#[derive(Clone, Copy, Debug)]
struct Lost {
    node: u16,
    port: u32,
    queue: u8,
    seq: u32,
    ingress_ns: u64,
    followed: u8,
    /// When the last of the packets needed left.
    seen_ns: u64,
}

/// The first packet that was marked since the last CWR.
#[derive(Clone, Copy, Debug)]
struct Marked {
    node: u16,
    port: u32,
    queue: u8,
    egress_ns: u64,
}

/// Loss and mark that a flow has not answered yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feedback {
    lost: Option<Lost>,
    marked: Option<Marked>,
    /// Shortest feedback time of a repair; 0 if there is none.
    shortest_ns: u64,
    /// Queueing delay of the last packet that was not dropped.
    delay_ns: u64,
    /// Time from which a loss counts.
    quiet_ns: u64,
}

impl Feedback {
    /// Whether a loss or mark is not answered yet, so that every packet matters.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lost.is_some() || self.marked.is_some()
    }

    /// Takes a data packet, in the order of reports; returns the feedback time, us, if the packet
    /// is an answer, otherwise 0.
    pub(crate) fn packet(&mut self, packet: &Observed) -> u32 {
        let of_loss = self.lost(packet);
        let of_mark = self.marked(packet);
        let feedback_ns = match (of_loss, of_mark) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(0),
        };
        u32::try_from(feedback_ns.div_ceil(1000)).unwrap_or(0)
    }

    fn lost(&mut self, packet: &Observed) -> Option<u64> {
        if !packet.dropped {
            self.delay_ns = packet.egress_ns.saturating_sub(packet.ingress_ns);
        }
        let feedback_ns = self.repaired(packet);
        // A dropped retransmission is detected by a timeout.
        let counts = packet.dropped && !packet.again && packet.ingress_ns >= self.quiet_ns;
        if counts && self.lost.is_none() {
            self.lost = Some(Lost {
                node: packet.node,
                port: packet.port,
                queue: packet.queue,
                seq: packet.seq,
                ingress_ns: packet.ingress_ns,
                followed: 0,
                seen_ns: 0,
            });
        }
        if packet.dropped || packet.again {
            let known = Some(self.shortest_ns).filter(|&ns| ns > 0);
            let round_trip_ns = known.unwrap_or(UNKNOWN_NS).saturating_add(self.delay_ns);
            self.quiet_ns = packet.ingress_ns.saturating_add(round_trip_ns);
        }
        feedback_ns
    }

    /// Returns the time from the detection of the loss to this packet, if the packet repairs it.
    fn repaired(&mut self, packet: &Observed) -> Option<u64> {
        let lost = self.lost.as_mut()?;
        let age_ns = packet.ingress_ns.saturating_sub(lost.ingress_ns);
        if age_ns > FORGOTTEN_NS {
            self.lost = None;
            return None;
        }
        if packet.queue_id() != (lost.node, lost.port, lost.queue) {
            return None;
        }
        let beyond = packet.seq.wrapping_sub(lost.seq);
        if beyond == 0 {
            // It is a repair even if it is dropped again. A packet that came before the drop and is
            // reported after it cannot have the same number.
            let seen_ns = (lost.followed >= DUPLICATES).then_some(lost.seen_ns);
            self.lost = None;
            let ns = packet
                .ingress_ns
                .checked_sub(seen_ns?)
                .filter(|&ns| ns > 0)?;
            if self.shortest_ns == 0 || ns < self.shortest_ns {
                self.shortest_ns = ns;
            }
            return Some(ns);
        }
        let behind = beyond < 1 << 31 && packet.ingress_ns >= lost.ingress_ns;
        if behind && !packet.dropped && lost.followed < DUPLICATES {
            lost.followed += 1;
            lost.seen_ns = packet.egress_ns;
        }
        None
    }

    fn marked(&mut self, packet: &Observed) -> Option<u64> {
        let mut feedback_ns = None;
        if let Some(marked) = self.marked {
            let age_ns = packet.ingress_ns.saturating_sub(marked.egress_ns);
            if age_ns > FORGOTTEN_NS {
                self.marked = None;
            } else if packet.cwr && packet.queue_id() == (marked.node, marked.port, marked.queue) {
                self.marked = None;
                feedback_ns = packet
                    .ingress_ns
                    .checked_sub(marked.egress_ns)
                    .filter(|&ns| ns > 0);
            }
        }
        if packet.ce_marked && !packet.dropped && self.marked.is_none() {
            self.marked = Some(Marked {
                node: packet.node,
                port: packet.port,
                queue: packet.queue,
                egress_ns: packet.egress_ns,
            });
        }
        feedback_ns
    }
}

#[cfg(test)]
#[path = "feedback_tests.rs"]
mod tests;
