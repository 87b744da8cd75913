// SPDX-License-Identifier: Apache-2.0
//! A flow at one egress queue: the sequence numbers seen, the packets that wait for a sample, and
//! the queueing delay that its ACKs show.

use super::one_ack::OneAck;
use super::segment::Segment;
use super::segment_memory::SegmentMemory;
use crate::prefetch;
use crate::ring::Ring;

/// Maximum number of unacknowledged segments per flow and port, besides segments that wait.
const MAX_UNACKED: usize = 16_384;
/// Maximum number of sequence-number gaps remembered per flow and port.
const MAX_HOLES: usize = 64;
/// Number of samples after a retransmission until the smoothed values agree.
const SETTLE_SAMPLES: u8 = 24;
/// Gain of the kernel's srtt.
const GAIN: f64 = 1.0 / 8.0;
/// Samples after a retransmission whose single values are ignored: it may have affected them.
const DISTURBED_SAMPLES: u8 = 4;
/// Samples before a base RTT is given if the SYN was not reported.
const WARM_UP_SAMPLES: u8 = 32;

/// A retransmitted packet that waits for a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    /// When it left its host, by the host's clock.
    pub host_ns: u64,
    /// Position in the pipeline's queue.
    pub position: u64,
}

/// A flow at one egress queue. Fields are in the order in which a packet needs them.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct FlowAtPort {
    pub port: u32,
    pub node: u16,
    settle: u8,
    delays: u8,
    /// Number of segments, at the end of the list, that no sample has shown yet.
    unshown: u32,
    pub queue: u8,
    /// One beyond the highest sequence number seen; 0 before the first.
    max_end: u64,
    /// Ranges below `max_end` that were never seen.
    holes: Vec<Hole>,
    smoothed_delay_ns: f64,
    one_ack: OneAck,
    /// Segments in the order of sequence numbers.
    segments: Ring<Segment>,
    pub wait_time: Ring<Waiting>,
}

// Two cache lines: a third costs a sixteenth of the joining rate.
const _: () = assert!(size_of::<FlowAtPort>() == 128);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Hole {
    start: u64,
    end: u64,
    /// When the segment after the hole came to the switch.
    ingress_ns: u64,
}

/// How a segment relates to the segments before it at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Beyond every segment that came to the switch before it. (Its report may come late: drops are
    /// reported at once, other packets when they leave.)
    New,
    /// Fills a range never seen here: reordered, or lost before this port.
    Hole,
    /// Seen before.
    Again,
}

/// Information that an acknowledgement gives about the segments it covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Acked {
    /// Latest egress time among the acknowledged segments.
    pub egress_ns: u64,
}

/// Forgets waiting packets that have been handed on meanwhile: the first packet that waits for a
/// time holds up the others.
#[cold]
fn forget_waiting(list: &mut Ring<Waiting>, first_position: u64) {
    while list.front().is_some_and(|w| w.position < first_position) {
        list.pop_front();
    }
}

/// Enlarges a list, at the expense of the memory of all flows.
fn grow<T: Copy + Default>(list: &mut Ring<T>, memory: &mut SegmentMemory) {
    let before = list.bytes();
    list.grow();
    memory.take(list.bytes() - before);
}

impl FlowAtPort {
    pub(crate) fn new(node: u16, (port, queue): (u32, u8)) -> Self {
        Self {
            node,
            port,
            queue,
            ..Self::default()
        }
    }

    /// Starts the smoothing with the SYN's queueing delay, as the kernel starts with the SYN's RTT.
    pub(crate) fn syn(&mut self, delay_ns: u64) {
        self.smoothed_delay_ns = delay_ns as f64;
        self.delays = WARM_UP_SAMPLES;
    }

    /// Notes that a segment `[seq, end)` came to the switch at `ingress_ns`.
    #[inline]
    pub(crate) fn arrival(
        &mut self,
        seq: u64,
        end: u64,
        ingress_ns: u64,
        memory: &mut SegmentMemory,
    ) -> Arrival {
        let max_end = self.max_end;
        if seq >= max_end {
            if seq > max_end && max_end > 0 {
                self.hole(max_end, seq, ingress_ns, memory);
            }
            self.max_end = end;
            return Arrival::New;
        }
        self.arrival_below(seq, end, ingress_ns, memory)
    }

    #[cold]
    fn hole(&mut self, start: u64, end: u64, ingress_ns: u64, memory: &mut SegmentMemory) {
        if self.holes.len() == MAX_HOLES {
            self.holes.remove(0);
        }
        let hole = Hole {
            start,
            end,
            ingress_ns,
        };
        self.insert_hole(self.holes.len(), hole, memory);
    }

    fn insert_hole(&mut self, at: usize, hole: Hole, memory: &mut SegmentMemory) {
        let before = self.holes.capacity();
        self.holes.insert(at, hole);
        memory.take((self.holes.capacity() - before) * size_of::<Hole>());
    }

    /// Notes the arrival of a segment that begins below the highest end.
    fn arrival_below(
        &mut self,
        seq: u64,
        end: u64,
        ingress_ns: u64,
        memory: &mut SegmentMemory,
    ) -> Arrival {
        self.max_end = self.max_end.max(end);
        let Some(i) = self.holes.iter().position(|h| seq < h.end && h.start < end) else {
            return Arrival::Again;
        };
        let hole = self.holes[i];
        match (hole.start < seq, end < hole.end) {
            (true, true) => {
                self.holes[i].end = seq;
                if self.holes.len() < MAX_HOLES {
                    self.insert_hole(i + 1, Hole { start: end, ..hole }, memory);
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

    /// Remembers a segment: one that waits is not below the last sample's `snd_nxt`, any other is.
    /// Packets before `first_position` have been handed on.
    #[inline]
    pub(crate) fn remember(
        &mut self,
        segment: Segment,
        first_position: u64,
        memory: &mut SegmentMemory,
    ) {
        if !self.wait_time.is_empty() {
            forget_waiting(&mut self.wait_time, first_position);
        }
        if self.segments.is_full() {
            self.make_room(first_position, memory);
        }
        self.segments.push_in_order(segment, |a, b| a.seq > b.seq);
        self.unshown += u32::from(segment.waits());
    }

    /// Position of the first segment that no sample has shown yet.
    #[inline(always)]
    fn first_unshown(&self) -> u64 {
        self.segments.next() - u64::from(self.unshown)
    }

    /// Corrects `unshown` after segments were forgotten, perhaps before a sample showed them.
    #[inline(always)]
    fn bound_unshown(&mut self) {
        self.unshown = self.unshown.min(self.segments.len() as u32);
    }

    /// Forgets the oldest segment if there are too many, unless its packet still waits in the
    /// queue; otherwise enlarges the list.
    #[cold]
    fn make_room(&mut self, first_position: u64, memory: &mut SegmentMemory) {
        if self.segments.len() >= MAX_UNACKED
            && let Some(oldest) = self.segments.front()
            && (self.segments.first() < self.first_unshown() || oldest.position() < first_position)
        {
            self.segments.pop_front();
            self.bound_unshown();
            return;
        }
        grow(&mut self.segments, memory);
    }

    /// Takes the next segment that a sample with `snd_nxt` shows; it no longer waits.
    #[inline(always)]
    pub(crate) fn shown(&mut self, snd_nxt: u64) -> Option<Segment> {
        let segment = self.segments.get(self.first_unshown())?;
        if segment.seq >= snd_nxt {
            return None;
        }
        self.unshown -= 1;
        Some(*segment)
    }

    /// Adds a packet that waits for a sample after a time.
    pub(crate) fn wait_for_time(
        &mut self,
        waiting: Waiting,
        first_position: u64,
        memory: &mut SegmentMemory,
    ) {
        forget_waiting(&mut self.wait_time, first_position);
        if self.wait_time.is_full() {
            grow(&mut self.wait_time, memory);
        }
        self.wait_time.push_back(waiting);
    }

    /// Memory taken for segments, gaps and waiting packets, bytes.
    pub(super) fn bytes(&self) -> usize {
        let holes = self.holes.capacity() * size_of::<Hole>();
        self.segments.bytes() + self.wait_time.bytes() + holes
    }

    /// Number of segments, gaps and waiting packets.
    pub(super) fn entries(&self) -> usize {
        self.segments.len() + self.wait_time.len() + self.holes.len()
    }

    /// Prefetches the place where the next packet will be noted.
    #[inline]
    pub(crate) fn prefetch_newest(&self) {
        prefetch::end(self.segments.back());
    }

    /// Prefetches what the next sample reads: mostly two segments it acknowledges and two it shows,
    /// each with the segment after it, which ends the search.
    #[inline]
    pub(crate) fn prefetch_oldest(&self) {
        self.segments.prefetch(self.segments.first());
        self.segments.prefetch(self.first_unshown());
    }

    /// Positions of the two packets that wait longest.
    #[inline]
    pub(crate) fn oldest_waiting(&self) -> [Option<u64>; 2] {
        let position = |at| self.segments.get(at).map(Segment::position);
        [
            position(self.first_unshown()),
            position(self.first_unshown() + 1),
        ]
    }

    /// Notes a loss or retransmission: the two smoothed values differ for a while.
    #[inline]
    pub(crate) fn disturbed(&mut self) {
        self.settle = SETTLE_SAMPLES;
    }

    /// Processes an acknowledgement from `before` to `una`.
    #[inline]
    pub(crate) fn acked(&mut self, before: u64, una: u64) -> Option<Acked> {
        let mut oldest = None;
        let mut result: Option<Acked> = None;
        let mut segments = 0;
        while let Some(s) = self.segments.front() {
            if s.end() > una {
                break;
            }
            if s.passed() {
                // The kernel measures on the oldest segment newly acknowledged.
                if oldest.is_none() && s.seq == before {
                    oldest = Some(s.ingress_ns());
                }
                let egress_ns = s.egress_ns();
                let egress_ns = result.map_or(egress_ns, |r| r.egress_ns.max(egress_ns));
                result = Some(Acked { egress_ns });
                segments += 1;
            }
            self.segments.pop_front();
        }
        self.bound_unshown();
        if let (Some(came_ns), Some(acked)) = (oldest, result) {
            // The newest segment triggered the acknowledgement: the time until it left is the
            // queueing delay, and the receiver's wait for it.
            let delay_ns = acked.egress_ns.saturating_sub(came_ns);
            self.one_ack.acked(segments, delay_ns);
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

    /// Returns the smoothed RTT minus the equally smoothed queueing delay at this port, in us; 0
    /// while the two do not yet agree. Uses a single acknowledgement if that gives less, for a flow
    /// whose smoothed RTT includes the receiver's timer.
    #[inline]
    pub(crate) fn base_rtt_us(&mut self, srtt_us: u32) -> u32 {
        let one = self.one_ack.base_us(srtt_us);
        let of_one = one.filter(|_| self.settle + DISTURBED_SAMPLES <= SETTLE_SAMPLES);
        let smoothed = self.smoothed_base_us(srtt_us);
        match of_one {
            Some(one) if smoothed == 0 => one,
            Some(one) => one.min(smoothed),
            None => smoothed,
        }
    }

    #[inline]
    fn smoothed_base_us(&self, srtt_us: u32) -> u32 {
        if self.delays <= WARM_UP_SAMPLES || self.settle > 0 || srtt_us == 0 {
            return 0;
        }
        let base = f64::from(srtt_us) - self.smoothed_delay_ns / 1000.0;
        if base < 1.0 {
            return 0;
        }
        // Rounds to the nearest; `round` would be a function call.
        let whole = base as u32;
        whole.saturating_add(u32::from(base - f64::from(whole) >= 0.5))
    }
}

#[cfg(test)]
#[path = "at_port_tests.rs"]
mod tests;
