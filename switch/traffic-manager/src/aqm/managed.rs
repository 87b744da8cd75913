// SPDX-License-Identifier: Apache-2.0
//! The managed queues of a port.

use std::collections::VecDeque;

use super::codel::CoDel;
use super::config::AqmConfig;
use super::flow_queues::FlowQueues;
use super::packet::{Random, Seen, Verdict};
use super::pie::Pie;
use super::red::Red;

#[derive(Debug)]
enum Law {
    Red(Red),
    CoDel(CoDel),
    Pie(Pie),
    FlowQueues(FlowQueues),
}

impl From<AqmConfig> for Law {
    fn from(config: AqmConfig) -> Self {
        match config {
            AqmConfig::Red(c) => Self::Red(Red::new(c)),
            AqmConfig::CoDel(c) => Self::CoDel(CoDel::new(c)),
            AqmConfig::Pie(c) => Self::Pie(Pie::new(c)),
            AqmConfig::FlowQueues(c) => Self::FlowQueues(FlowQueues::new(c)),
        }
    }
}

/// A packet in the queue.
#[derive(Debug)]
struct Waiting {
    came_ns: u64,
    bytes: u32,
    /// 0 unless the flows have queues of their own.
    flow: u64,
}

/// One managed queue.
#[derive(Debug)]
struct Managed {
    config: AqmConfig,
    law: Law,
    random: Random,
    /// The packets, in the order of the port's queue.
    waiting: VecDeque<Waiting>,
    waiting_bytes: u64,
}

impl Managed {
    fn new(config: AqmConfig, seed: u64) -> Self {
        Self {
            config,
            law: config.into(),
            random: Random::of(seed),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    fn push(&mut self, now_ns: u64, bytes: u32, flow: u64) {
        let seen = self.seen(now_ns, bytes, false, 0);
        if let Law::FlowQueues(flows) = &mut self.law {
            flows.arrive(flow, &seen);
        }
        self.waiting.push_back(Waiting {
            came_ns: now_ns,
            bytes,
            flow,
        });
        self.waiting_bytes += u64::from(bytes);
    }

    /// Takes the packet at a place in the queue.
    fn take(&mut self, at: usize) -> Option<Waiting> {
        let taken = self.waiting.remove(at)?;
        self.waiting_bytes -= u64::from(taken.bytes);
        Some(taken)
    }

    /// Returns the place of a flow's first packet.
    fn place(&self, flow: u64) -> Option<usize> {
        self.waiting.iter().position(|w| w.flow == flow)
    }

    fn seen(&self, now_ns: u64, bytes: u32, markable: bool, rate_bps: u64) -> Seen {
        Seen {
            now_ns,
            frame_bytes: bytes.into(),
            markable,
            queue_bytes: self.waiting_bytes,
            rate_bps,
        }
    }
}

/// Packets that the queue management of a port dropped or marked.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct AqmCounts {
    /// Packets dropped.
    pub dropped_packets: u64,
    /// Bytes dropped.
    pub dropped_bytes: u64,
    /// Packets marked CE.
    pub marked_packets: u64,
}

/// The managed queues of a port.
#[derive(Debug, Default)]
pub(crate) struct PortAqm {
    /// Indexed by queue; `None` for a plain FIFO.
    queues: Vec<Option<Managed>>,
    pub counts: AqmCounts,
}

impl PortAqm {
    /// Starts to manage a queue that holds the packets in `waiting`: their bytes and flows.
    pub(crate) fn set(
        &mut self,
        queue: usize,
        config: AqmConfig,
        now_ns: u64,
        waiting: impl Iterator<Item = (u32, u64)>,
    ) {
        if self.queues.len() <= queue {
            self.queues.resize_with(queue + 1, || None);
        }
        let mut managed = Managed::new(config, queue as u64);
        waiting.for_each(|(bytes, flow)| managed.push(now_ns, bytes, flow));
        self.queues[queue] = Some(managed);
    }

    /// Resets all algorithms: the queues are empty, and time may restart at 0.
    pub(crate) fn restart(&mut self) {
        for (queue, managed) in self.queues.iter_mut().enumerate() {
            *managed = managed
                .as_ref()
                .map(|m| Managed::new(m.config, queue as u64));
        }
    }

    fn get_mut(&mut self, queue: u64) -> Option<&mut Managed> {
        let queue = usize::try_from(queue).ok()?;
        self.queues.get_mut(queue)?.as_mut()
    }

    /// Returns whether ECN-capable packets of this queue may be marked.
    pub(crate) fn marks(&mut self, queue: u64) -> bool {
        self.get_mut(queue).is_some_and(|m| m.config.ecn())
    }

    /// Returns whether the flows of this queue have queues of their own.
    pub(crate) fn by_flow(&mut self, queue: u64) -> bool {
        let managed = self.get_mut(queue);
        managed.is_some_and(|m| matches!(m.law, Law::FlowQueues(_)))
    }

    /// Returns the place in the queue of the packet that leaves next.
    pub(crate) fn next(&mut self, queue: u64) -> usize {
        let next = self.get_mut(queue).and_then(|m| match &mut m.law {
            Law::FlowQueues(flows) => flows.next().and_then(|flow| m.place(flow)),
            _ => None,
        });
        next.unwrap_or(0)
    }

    /// Removes a packet if the queue is above the limit of its flows together; returns its place.
    pub(crate) fn overflow(&mut self, queue: u64) -> Option<usize> {
        let m = self.get_mut(queue)?;
        let Law::FlowQueues(flows) = &m.law else {
            return None;
        };
        let at = m.place(flows.overflows(m.waiting_bytes)?)?;
        let lost = m.take(at)?;
        if let Law::FlowQueues(flows) = &mut m.law {
            flows.lose(lost.flow, lost.bytes);
        }
        self.counts.dropped_packets += 1;
        self.counts.dropped_bytes += u64::from(lost.bytes);
        Some(at)
    }

    /// Handles a packet of a flow that arrives at its queue; the queue takes it unless it is
    /// dropped.
    pub(crate) fn arrive(
        &mut self,
        queue: u64,
        (bytes, flow): (u32, u64),
        markable: bool,
        rate_bps: u64,
        now_ns: u64,
    ) -> Verdict {
        let Some(m) = self.get_mut(queue) else {
            return Verdict::Pass;
        };
        let seen = m.seen(now_ns, bytes, markable, rate_bps);
        let verdict = match &mut m.law {
            Law::Red(red) => red.arrive(&seen, &mut m.random),
            Law::Pie(pie) => pie.arrive(&seen, &mut m.random),
            Law::CoDel(codel) => {
                codel.arrive(&seen);
                Verdict::Pass
            }
            Law::FlowQueues(_) => Verdict::Pass,
        };
        if verdict != Verdict::Drop {
            m.push(now_ns, bytes, flow);
        }
        verdict
    }

    /// Handles the packet at a place of a queue as it leaves.
    pub(crate) fn leave(&mut self, queue: u64, at: usize, markable: bool, now_ns: u64) -> Verdict {
        let Some(m) = self.get_mut(queue) else {
            return Verdict::Pass;
        };
        let Some(packet) = m.take(at) else {
            return Verdict::Pass;
        };
        let seen = m.seen(now_ns, packet.bytes, markable, 0);
        let sojourn_ns = now_ns.saturating_sub(packet.came_ns);
        match &mut m.law {
            Law::Red(red) => red.leave(&seen),
            Law::Pie(pie) => pie.leave(&seen, sojourn_ns),
            Law::CoDel(codel) => return codel.leave(&seen, sojourn_ns),
            Law::FlowQueues(flows) => return flows.leave(packet.flow, &seen, sojourn_ns),
        }
        Verdict::Pass
    }
}
