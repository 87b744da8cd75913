// SPDX-License-Identifier: Apache-2.0
//! One flow at one egress port: which of its sequence numbers came by, which
//! of its packets wait for a sample, and the queueing delay its ACKs tell of.

use crate::prefetch;
use crate::ring::Ring;
use crate::unacked::Unacked;

/// Unacknowledged segments remembered per flow and port.
const MAX_UNACKED: usize = 16_384;
/// Ranges never seen, remembered per flow and port.
const MAX_HOLES: usize = 64;
/// After a retransmission the smoothed values need so many samples to agree.
const SETTLE_SAMPLES: u32 = 24;
/// Gain of the kernel's srtt.
const GAIN: f64 = 1.0 / 8.0;
/// Samples before a base RTT is given when the SYN was not reported.
const WARM_UP_SAMPLES: u32 = 32;

/// A packet of the flow that waits for the sample showing its state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Sequence number, or host time for retransmissions.
    pub key: u64,
    /// Position in the pipeline's queue.
    pub position: u64,
    /// When it came to the switch.
    pub ingress_ns: u64,
}

/// The flow at one egress port. In the order in which a packet needs it.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Point {
    pub port: u32,
    pub node: u16,
    /// One beyond the highest sequence number seen; 0 before the first.
    max_end: u64,
    /// Never seen ranges below `max_end`.
    holes: Vec<Hole>,
    settle: u32,
    delays: u32,
    smoothed_delay_ns: f64,
    unacked: Ring<Unacked>,
    pub wait_sequence: Ring<Waiting>,
    pub wait_time: Ring<Waiting>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    start: u64,
    end: u64,
    /// When the segment behind it came to the switch.
    ingress_ns: u64,
}

/// How a segment stands to those before it at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Beyond everything that had come to the switch before it. (Its report may
    /// come late: drops are reported at once, the others when they leave.)
    New,
    /// Fills a range never seen here: reordered, or lost before this port.
    Hole,
    /// Seen before.
    Again,
}

/// What an acknowledgement told about the queueing delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Acked {
    /// Latest egress time among the acknowledged segments.
    pub egress_ns: u64,
}

/// Forgets waiting packets that have been handed on meanwhile. Of those waiting
/// for a time, the first holds up the others: they must not stay.
#[cold]
fn forget_waiting(list: &mut Ring<Waiting>, first_position: u64) {
    while list.front().is_some_and(|w| w.position < first_position) {
        list.pop_front();
    }
}

impl Point {
    pub fn new(node: u16, port: u32) -> Self {
        Self {
            node,
            port,
            max_end: 0,
            holes: Vec::new(),
            unacked: Ring::default(),
            wait_sequence: Ring::default(),
            wait_time: Ring::default(),
            smoothed_delay_ns: 0.0,
            delays: 0,
            settle: 0,
        }
    }

    /// The SYN's queueing delay starts the smoothing, as the SYN's RTT starts
    /// the kernel's.
    pub fn syn(&mut self, delay_ns: u64) {
        self.smoothed_delay_ns = delay_ns as f64;
        self.delays = WARM_UP_SAMPLES;
    }

    /// Notes that a segment `[seq, end)` came to the switch at `ingress_ns`.
    #[inline]
    pub fn arrival(&mut self, seq: u64, end: u64, ingress_ns: u64) -> Arrival {
        let max_end = self.max_end;
        if seq >= max_end {
            if seq > max_end && max_end > 0 {
                self.hole(max_end, seq, ingress_ns);
            }
            self.max_end = end;
            return Arrival::New;
        }
        self.arrival_below(seq, end, ingress_ns)
    }

    #[cold]
    fn hole(&mut self, start: u64, end: u64, ingress_ns: u64) {
        if self.holes.len() == MAX_HOLES {
            self.holes.remove(0);
        }
        self.holes.push(Hole {
            start,
            end,
            ingress_ns,
        });
    }

    /// A segment that begins below the highest end.
    fn arrival_below(&mut self, seq: u64, end: u64, ingress_ns: u64) -> Arrival {
        self.max_end = self.max_end.max(end);
        let Some(i) = self.holes.iter().position(|h| seq < h.end && h.start < end) else {
            return Arrival::Again;
        };
        let hole = self.holes[i];
        match (hole.start < seq, end < hole.end) {
            (true, true) => {
                self.holes[i].end = seq;
                if self.holes.len() < MAX_HOLES {
                    self.holes.insert(i + 1, Hole { start: end, ..hole });
                }
            }
            (true, false) => self.holes[i].end = seq,
            (false, true) => self.holes[i].start = end,
            (false, false) => {
                self.holes.remove(i);
            }
        }
        if seq < hole.start || hole.end < end {
            Arrival::Again
        } else if ingress_ns <= hole.ingress_ns {
            Arrival::New
        } else {
            Arrival::Hole
        }
    }

    /// Puts a packet among those waiting for a sample beyond their sequence
    /// number, in order of that. Packets before `first_position` have been handed
    /// on.
    #[inline]
    pub fn wait_for_sequence(&mut self, waiting: Waiting, first_position: u64) {
        if !self.wait_time.is_empty() {
            forget_waiting(&mut self.wait_time, first_position);
        }
        let list = &mut self.wait_sequence;
        if list.is_full() {
            forget_waiting(list, first_position);
        }
        list.push_in_order(waiting, |a, b| a.key > b.key);
    }

    /// The same for packets that wait for a sample after a time.
    pub fn wait_for_time(&mut self, waiting: Waiting, first_position: u64) {
        forget_waiting(&mut self.wait_time, first_position);
        self.wait_time.push_back(waiting);
    }

    /// Asks for where the next packet will be noted.
    #[inline]
    pub fn prefetch_ends(&self) {
        prefetch::end(self.unacked.back());
        prefetch::end(self.wait_sequence.back());
    }

    /// Asks for what the next sample looks at: mostly two segments, and one to see
    /// that there are no more.
    #[inline]
    pub fn prefetch_fronts(&self) {
        self.unacked.prefetch_front();
        self.wait_sequence.prefetch_front();
    }

    /// Positions of the two packets that wait longest.
    #[inline]
    pub fn oldest_waiting(&self) -> [Option<u64>; 2] {
        let list = &self.wait_sequence;
        let position = |at| list.get(at).map(|w| w.position);
        [position(list.first()), position(list.first() + 1)]
    }

    /// A segment passed and awaits its acknowledgement.
    #[inline]
    pub fn passed(&mut self, seq: u64, end: u64, egress_ns: u64, delay_ns: u64) {
        if self.unacked.len() == MAX_UNACKED {
            self.unacked.pop_front();
        }
        let passed = Unacked::new(seq, end, egress_ns, delay_ns);
        self.unacked.push_in_order(passed, |a, b| a.seq > b.seq);
    }

    /// Segments that await their acknowledgement.
    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.unacked.len()
    }

    /// A loss or retransmission: the two smoothed values part for a while.
    #[inline]
    pub fn disturbed(&mut self) {
        self.settle = SETTLE_SAMPLES;
    }

    /// Follows an acknowledgement from `before` to `una`.
    #[inline]
    pub fn acked(&mut self, before: u64, una: u64) -> Option<Acked> {
        let mut oldest = None;
        let mut result: Option<Acked> = None;
        while let Some(u) = self.unacked.front() {
            if u.end() > una {
                break;
            }
            // The kernel measures on the oldest segment newly acknowledged.
            if oldest.is_none() && u.seq == before {
                oldest = Some(u.delay_ns());
            }
            let egress_ns = result.map_or(u.egress_ns, |r| r.egress_ns.max(u.egress_ns));
            result = Some(Acked { egress_ns });
            self.unacked.pop_front();
        }
        if let Some(delay_ns) = oldest {
            let delay = delay_ns as f64;
            if self.delays == 0 {
                self.smoothed_delay_ns = delay;
            } else {
                self.smoothed_delay_ns += (delay - self.smoothed_delay_ns) * GAIN;
            }
            self.delays = self.delays.saturating_add(1);
            self.settle = self.settle.saturating_sub(1);
        }
        result
    }

    /// Smoothed RTT less the equally smoothed queueing delay at this port, in
    /// us; 0 while the two do not yet agree.
    #[inline]
    pub fn base_rtt_us(&self, srtt_us: u32) -> u32 {
        if self.delays <= WARM_UP_SAMPLES || self.settle > 0 || srtt_us == 0 {
            return 0;
        }
        let base = f64::from(srtt_us) - self.smoothed_delay_ns / 1000.0;
        if base < 1.0 {
            return 0;
        }
        // To the nearest; `round` would be a call.
        let whole = base as u32;
        whole.saturating_add(u32::from(base - f64::from(whole) >= 0.5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_tell_reordering_from_repetition() {
        let mut p = Point::new(0, 1);
        assert_eq!(p.arrival(1000, 2000, 50), Arrival::New);
        assert_eq!(p.arrival(4000, 5000, 50), Arrival::New);
        assert_eq!(p.arrival(2000, 3000, 51), Arrival::Hole);
        assert_eq!(p.arrival(2000, 3000, 50), Arrival::Again);
        // It was there before, only its report is late.
        assert_eq!(p.arrival(3000, 4000, 49), Arrival::New);
        assert_eq!(p.arrival(3000, 4000, 50), Arrival::Again);
        assert_eq!(p.arrival(5000, 6000, 50), Arrival::New);
    }

    #[test]
    fn base_rtt_is_srtt_less_the_smoothed_delay() {
        let mut p = Point::new(0, 1);
        p.syn(1_000_000);
        let mut srtt = 21_000.0;
        for i in 0..100u64 {
            let delay = 1_000_000 + i * 100_000;
            p.passed(i * 10, i * 10 + 10, i, delay);
            p.acked(i * 10, i * 10 + 10);
            srtt += (20_000.0 + delay as f64 / 1000.0 - srtt) / 8.0;
            let base = p.base_rtt_us(srtt as u32);
            assert!(base.abs_diff(20_000) <= 1, "{i}: {base}");
        }
        p.disturbed();
        assert_eq!(p.base_rtt_us(srtt as u32), 0);
    }
}
