// SPDX-License-Identifier: Apache-2.0
//! The queues of a port, by strict priority: the highest that holds a packet is served.
//! Priorities are numbered from 0, the lowest, as in BMv2.

use std::collections::VecDeque;

use p4_vm::Packet;

/// Packets that wait with one priority.
pub(crate) type Queue = VecDeque<Box<Packet>>;

/// Most queues of a port, as in BMv2.
pub const MOST_PRIORITIES: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct PriorityQueues {
    lowest: Queue,
    /// From priority 1 on; none unless asked for.
    above: Vec<Queue>,
}

impl PriorityQueues {
    /// Packets of a priority that is no more are served as of the lowest.
    pub(crate) fn set_count(&mut self, count: usize) {
        let above = count.clamp(1, MOST_PRIORITIES) - 1;
        while self.above.len() > above
            && let Some(q) = self.above.pop()
        {
            self.lowest.extend(q);
        }
        self.above.resize_with(above, Queue::new);
    }

    /// `None`: there is no queue of this priority.
    #[inline]
    pub(crate) fn get_mut(&mut self, priority: u64) -> Option<&mut Queue> {
        match priority {
            0 => Some(&mut self.lowest),
            p => self.above.get_mut(usize::try_from(p).ok()? - 1),
        }
    }

    /// The packet that is served next, its priority, and how many wait behind it with that.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<(Box<Packet>, u64, u64)> {
        for (i, q) in self.above.iter_mut().enumerate().rev() {
            if let Some(p) = q.pop_front() {
                return Some((p, i as u64 + 1, q.len() as u64));
            }
        }
        let p = self.lowest.pop_front()?;
        Some((p, 0, self.lowest.len() as u64))
    }

    pub(crate) fn len(&self) -> usize {
        let above = self.above.iter().map(Queue::len);
        self.lowest.len() + above.sum::<usize>()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.lowest.is_empty() && self.above.iter().all(Queue::is_empty)
    }

    pub(crate) fn clear(&mut self) {
        self.lowest.clear();
        self.above.iter_mut().for_each(Queue::clear);
    }
}
