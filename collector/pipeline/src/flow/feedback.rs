// SPDX-License-Identifier: Apache-2.0
//! Feedback time: how long after a loss or a mark here its sender answers.
//!
//! A sender retransmits on the third duplicate acknowledgement (fast retransmit: RFC 5681
//! §3.2, RFC 6675 §3). So the retransmission comes here one base RTT after the
//! third packet behind the dropped one has left, however long the queue is. A sender
//! whose packet was marked (CE) hears of it by ECE and sets CWR on the next new data packet
//! (RFC 3168 §6.1.2), which comes one base RTT after the marked one has left.
//!
//! Both ends are known packet by packet, from reports alone. What lengthens it: a
//! receiver that delays the acknowledgement of a mark, queues elsewhere, a repair by
//! timeout. What shortens it: reports that are lost. Of several samples the lower ones that
//! agree are the base RTT.

/// Packets behind a loss that must arrive for it to be seen.
const DUPLICATES: u8 = 3;
/// A sender that repairs losses already needs fewer acknowledgements for the next one, and
/// knows of them only when a repair is acknowledged. So a loss counts a round trip after
/// the last loss or repair, as long as this where none is known.
const UNKNOWN_NS: u64 = 250_000_000;
/// A loss or mark that was answered by nothing for this long is forgotten for the next.
const FORGOTTEN_NS: u64 = 3_000_000_000;

/// A data packet as far as it counts here.
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
    /// It has the flag CWR.
    pub cwr: bool,
    /// All of it was seen before at this port.
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
    /// When the last of those needed left.
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
    /// Of repairs, the shortest; 0 without.
    shortest_ns: u64,
    /// Queueing delay of the newest packet that is known.
    delay_ns: u64,
    /// From when on a loss counts.
    quiet_ns: u64,
}

impl Feedback {
    /// Something is to be answered: every packet counts.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lost.is_some() || self.marked.is_some()
    }

    /// Takes a data packet, in the order of reports. The feedback time, us, where the
    /// packet is an answer; 0 where it is none.
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
        // A retransmission that is dropped is found by a timeout.
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

    /// From when the loss was seen to this packet, if it repairs it.
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
            // Whether it is dropped again or not. A packet that came before the drop and is
            // reported after it cannot have its number.
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
