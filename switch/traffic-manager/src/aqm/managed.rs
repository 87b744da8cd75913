// SPDX-License-Identifier: Apache-2.0
//! The managed queues of a port.

use std::collections::VecDeque;

use super::codel::CoDel;
use super::config::AqmConfig;
use super::packet::{Random, Seen, Verdict};
use super::pie::Pie;
use super::red::Red;

#[derive(Debug)]
enum Law {
    Red(Red),
    CoDel(CoDel),
    Pie(Pie),
}

impl From<AqmConfig> for Law {
    fn from(config: AqmConfig) -> Self {
        match config {
            AqmConfig::Red(c) => Self::Red(Red::new(c)),
            AqmConfig::CoDel(c) => Self::CoDel(CoDel::new(c)),
            AqmConfig::Pie(c) => Self::Pie(Pie::new(c)),
        }
    }
}

/// One managed queue.
#[derive(Debug)]
struct Managed {
    config: AqmConfig,
    law: Law,
    random: Random,
    /// Arrival time and size in bytes of each packet in the queue.
    waiting: VecDeque<(u64, u32)>,
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

    fn push(&mut self, now_ns: u64, bytes: u32) {
        self.waiting.push_back((now_ns, bytes));
        self.waiting_bytes += u64::from(bytes);
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
    /// Starts to manage a queue that holds packets of the sizes in `waiting`.
    pub(crate) fn set(
        &mut self,
        queue: usize,
        config: AqmConfig,
        now_ns: u64,
        waiting: impl Iterator<Item = u32>,
    ) {
        if self.queues.len() <= queue {
            self.queues.resize_with(queue + 1, || None);
        }
        let mut managed = Managed::new(config, queue as u64);
        waiting.for_each(|bytes| managed.push(now_ns, bytes));
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

    /// Handles a packet that arrives at its queue; the queue takes it unless it is dropped.
    pub(crate) fn arrive(
        &mut self,
        queue: u64,
        bytes: u32,
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
        };
        if verdict != Verdict::Drop {
            m.push(now_ns, bytes);
        }
        verdict
    }

    /// Handles the first packet of a queue as it leaves.
    pub(crate) fn leave(&mut self, queue: u64, markable: bool, now_ns: u64) -> Verdict {
        let Some(m) = self.get_mut(queue) else {
            return Verdict::Pass;
        };
        let Some((came_ns, bytes)) = m.waiting.pop_front() else {
            return Verdict::Pass;
        };
        m.waiting_bytes -= u64::from(bytes);
        let seen = m.seen(now_ns, bytes, markable, 0);
        let sojourn_ns = now_ns.saturating_sub(came_ns);
        match &mut m.law {
            Law::Red(red) => red.leave(&seen),
            Law::Pie(pie) => pie.leave(&seen, sojourn_ns),
            Law::CoDel(codel) => return codel.leave(&seen, sojourn_ns),
        }
        Verdict::Pass
    }
}
