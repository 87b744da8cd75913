// SPDX-License-Identifier: Apache-2.0
//! The state of one flow: its sequence space, the sender's recent states, and
//! its segments at each port that reports it.

use super::at_port::FlowAtPort;
use super::feedback::{Feedback, Observed};
use super::index::PackedKey;
use super::segment_memory::SegmentMemory;
use super::syn::Syn;
use crate::prefetch;
use crate::ring::Ring;
use int_report::FlowKey;
use smallvec::SmallVec;

/// Maximum number of samples remembered per flow, for packets reported after their sample.
const MAX_SAMPLES: usize = 32;
/// Maximum number of reporting ports and queues per flow. Forged reports can name any.
const MAX_PORTS: usize = 32;

/// The sender's state as a sample showed it, sequence numbers unwrapped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleState {
    /// Host clock.
    pub time_ns: u64,
    /// Highest so far.
    pub snd_nxt: u64,
    pub snd_una: u64,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub srtt_us: u32,
}

/// The part of a sample that packets reported after it need.
#[derive(Clone, Copy, Debug, Default)]
struct SenderState {
    time_ns: u64,
    snd_nxt: u64,
    cwnd: u32,
    ssthresh: u32,
    srtt_us: u32,
}

impl SenderState {
    fn state(&self) -> SampleState {
        SampleState {
            time_ns: self.time_ns,
            snd_nxt: self.snd_nxt,
            snd_una: 0,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            srtt_us: self.srtt_us,
        }
    }
}

/// One flow. Fields are in the order in which packets, then samples, need them, from the start of a
/// cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub packed: PackedKey,
    pub id: u64,
    pub last_rx_ns: u64,
    pub created_rx_ns: u64,
    /// Highest sequence number so far, unwrapped; 0 before the first.
    reference: u64,
    pub mss_bytes: u32,
    pub host: u16,
    pub first_node: u16,
    pub probed: bool,
    pub has_data: bool,
    pub fin: bool,
    has_sample: bool,
    /// Whether a SYN has passed whose round trip is unknown.
    pub awaits_answer: bool,
    /// Whether a loss or mark here has not been answered yet.
    pub awaits_feedback: bool,
    /// Most flows pass one reporting port, which is stored inline.
    pub ports: SmallVec<[FlowAtPort; 1]>,
    last: SampleState,
    samples: Ring<SenderState>,
    /// Created with the first loss or mark.
    feedback: Option<Box<Feedback>>,
    pub cookie: Option<u64>,
    pub syn: Option<Syn>,
    pub handshake_rtt_ns: u64,
    pub first_seen_ns: u64,
    pub key: FlowKey,
}

impl Flow {
    pub(crate) fn new(key: FlowKey, id: u64, rx_ns: u64, node: u16, time_ns: u64) -> Self {
        Self {
            packed: PackedKey::of(&key),
            key,
            id,
            created_rx_ns: rx_ns,
            last_rx_ns: rx_ns,
            first_node: node,
            first_seen_ns: time_ns,
            probed: false,
            has_data: false,
            fin: false,
            mss_bytes: 0,
            handshake_rtt_ns: 0,
            syn: None,
            cookie: None,
            host: 0,
            ports: SmallVec::new(),
            reference: 0,
            has_sample: false,
            awaits_answer: false,
            awaits_feedback: false,
            feedback: None,
            last: SampleState::default(),
            samples: Ring::default(),
        }
    }

    pub(crate) fn set_syn(&mut self, syn: Syn) {
        self.syn = Some(syn);
        self.awaits_answer = self.handshake_rtt_ns == 0;
    }

    /// Returns the time from a loss or mark here to this packet, us, if the packet answers it;
    /// otherwise 0. For packets that are lost, marked or sent again, and those of a flow that
    /// [awaits feedback](Self::awaits_feedback).
    #[inline(never)]
    pub(crate) fn feedback_us(&mut self, packet: &Observed) -> u32 {
        let feedback = self.feedback.get_or_insert_default();
        let us = feedback.packet(packet);
        self.awaits_feedback = feedback.is_awaited();
        us
    }

    /// Unwraps a sequence number.
    #[inline]
    pub(crate) fn unwrap(&mut self, seq: u32) -> u64 {
        let reference = self.reference;
        if reference == 0 {
            // Room below for numbers before the first one seen.
            self.reference = (1 << 32) | u64::from(seq);
            return self.reference;
        }
        // Far from both ends of 64 bits: it begins at 2^32 and grows by 2^31 at most.
        let value =
            reference.wrapping_add_signed(i64::from(seq.wrapping_sub(reference as u32) as i32));
        self.reference = reference.max(value);
        value
    }

    /// Returns the index in `ports` of the flow's state at a queue of a port, created if new.
    #[inline(always)]
    pub(crate) fn port_index(
        &mut self,
        node: u16,
        (port, queue): (u32, u8),
        memory: &mut SegmentMemory,
    ) -> usize {
        let is_it = |p: &FlowAtPort| p.node == node && p.port == port && p.queue == queue;
        match self.ports.iter().position(is_it) {
            Some(i) => i,
            None => self.add_port(node, (port, queue), memory),
        }
    }

    /// Adds a port. If there are too many, it replaces the newest: a spray of ports leaves the
    /// older ones. The replaced port's waiting packets get no sample, and count as unmatched.
    #[cold]
    fn add_port(&mut self, node: u16, at: (u32, u8), memory: &mut SegmentMemory) -> usize {
        let before = self.bytes();
        self.ports.truncate(MAX_PORTS - 1);
        self.ports.push(FlowAtPort::new(node, at));
        memory.give_back(before);
        memory.take(self.bytes());
        self.ports.len() - 1
    }

    /// Memory taken by the flow's state at its ports, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let ports = if self.ports.spilled() {
            self.ports.capacity() * size_of::<FlowAtPort>()
        } else {
            0
        };
        ports + self.ports.iter().map(FlowAtPort::bytes).sum::<usize>()
    }

    /// Forgets the flow's state at its ports; returns the number of segments, gaps and waiting
    /// packets forgotten. Its packets in the queue get no sample by their sequence number.
    pub(super) fn forget_ports(&mut self, memory: &mut SegmentMemory) -> usize {
        memory.give_back(self.bytes());
        let ports = std::mem::take(&mut self.ports);
        ports.iter().map(FlowAtPort::entries).sum()
    }

    /// Prefetches the place of the next sample.
    #[inline]
    pub(crate) fn prefetch_samples(&self) {
        prefetch::end(self.samples.back());
    }

    #[inline]
    pub(crate) fn last_sample(&self) -> Option<&SampleState> {
        self.has_sample.then_some(&self.last)
    }

    /// Remembers a sample; `snd_nxt` is raised to the highest so far, which keeps the search by
    /// sequence number valid.
    #[inline]
    pub(crate) fn remember(&mut self, mut sample: SampleState) -> SampleState {
        if let Some(last) = self.last_sample() {
            sample.snd_nxt = sample.snd_nxt.max(last.snd_nxt);
            sample.snd_una = sample.snd_una.max(last.snd_una);
        }
        self.last = sample;
        self.has_sample = true;
        if self.samples.len() == MAX_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back(SenderState {
            time_ns: sample.time_ns,
            snd_nxt: sample.snd_nxt,
            cwnd: sample.cwnd,
            ssthresh: sample.ssthresh,
            srtt_us: sample.srtt_us,
        });
        sample
    }

    /// Whether a sample with `snd_nxt` beyond `seq` is remembered.
    #[inline]
    pub(crate) fn sampled_beyond(&self, seq: u64) -> bool {
        self.has_sample && self.last.snd_nxt > seq
    }

    /// Returns the first sample whose `snd_nxt` is beyond `seq`, without its `snd_una`, and the
    /// time of the sample before it.
    ///
    /// For a packet reported more than [`MAX_SAMPLES`] samples late, the right sample is forgotten:
    /// it gets the oldest one left, a state that the sender had later, by less than the report is
    /// late.
    pub(crate) fn sample_beyond(&self, seq: u64) -> Option<(SampleState, Option<u64>)> {
        if !self.sampled_beyond(seq) {
            return None;
        }
        let i = self.samples.partition_point(|s| s.snd_nxt <= seq);
        let before = i.checked_sub(1).and_then(|b| self.samples.get(b));
        let found = self.samples.get(i)?;
        Some((found.state(), before.map(|b| b.time_ns)))
    }

    /// Returns the first sample at or after a host time, without its `snd_una`.
    pub(crate) fn sample_after(&self, host_ns: u64) -> Option<SampleState> {
        if self.last_sample()?.time_ns < host_ns {
            return None;
        }
        let i = self.samples.partition_point(|s| s.time_ns < host_ns);
        self.samples.get(i).map(SenderState::state)
    }

    /// Forgets the sequence space: another connection has the same five-tuple.
    pub(crate) fn forget_sequences(&mut self, memory: &mut SegmentMemory) {
        self.reference = 0;
        self.has_sample = false;
        self.samples.clear();
        self.feedback = None;
        self.awaits_feedback = false;
        self.forget_ports(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow() -> Flow {
        let key = FlowKey {
            src: "10.0.0.1".parse().unwrap(),
            dst: "10.0.0.2".parse().unwrap(),
            src_port: 1,
            dst_port: 2,
            protocol: 6,
        };
        Flow::new(key, 1, 0, 0, 0)
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut f = flow();
        let a = f.unwrap(0xffff_ff00);
        let b = f.unwrap(0x0000_0100);
        assert_eq!(b - a, 0x200);
        assert_eq!(f.unwrap(0xffff_ff80), a + 0x80);
    }

    /// Checks numbers around the eighths of the range, from each to every other.
    #[test]
    fn a_number_without_its_wraps_is_the_nearest_one() {
        let near = |p: u32| (0..9u32).map(move |n| p.wrapping_add(n).wrapping_sub(4));
        let places: Vec<u32> = (0..8).flat_map(|n| near(n << 29)).collect();
        for &first in &places {
            for &second in &places {
                for &third in &places {
                    let mut f = flow();
                    let mut highest = f.unwrap(first);
                    for seq in [second, third] {
                        let value = f.unwrap(seq);
                        assert_eq!(value as u32, seq);
                        let distance = i128::from(value) - i128::from(highest);
                        assert!((-(1 << 31)..1 << 31).contains(&distance), "{first} {seq}");
                        highest = highest.max(value);
                    }
                }
            }
        }
    }

    #[test]
    fn ports_are_bounded_and_the_first_ones_stay() {
        let mut f = flow();
        let mut memory = SegmentMemory::new(usize::MAX);
        for port in 0..10_000 {
            let i = f.port_index(0, (port, 0), &mut memory);
            assert_eq!(f.ports[i].port, port);
        }
        assert_eq!(f.ports.len(), MAX_PORTS);
        let index = [0, 30].map(|port| f.port_index(0, (port, 0), &mut memory));
        assert_eq!(index, [0, 30]);
        assert_eq!(memory.taken_bytes, f.bytes());
    }

    #[test]
    fn the_sample_beyond_is_found() {
        let mut f = flow();
        for i in 0..10u64 {
            f.remember(SampleState {
                time_ns: i * 10,
                snd_nxt: i * 100,
                snd_una: 0,
                cwnd: i as u32,
                ssthresh: 0,
                srtt_us: 0,
            });
        }
        let (s, before) = f.sample_beyond(300).unwrap();
        assert_eq!((s.cwnd, before), (4, Some(30)));
        assert!(f.sample_beyond(900).is_none());
        assert_eq!(f.sample_after(41).unwrap().cwnd, 5);
    }
}
