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
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, priority: u64) -> Option<&mut Queue> {
        if priority == 0 {
            return Some(&mut self.lowest);
        }
        self.higher(priority)
    }

    // Calls for what is rare: one queue has to cost no more than a queue.
    #[cold]
    #[inline(never)]
    fn higher(&mut self, priority: u64) -> Option<&mut Queue> {
        self.above.get_mut(usize::try_from(priority).ok()? - 1)
    }

    /// The packet that is served next, its priority, and how many wait behind it with that.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<(Box<Packet>, u64, u64)> {
        if !self.above.is_empty()
            && let Some(next) = self.pop_higher()
        {
            return Some(next);
        }
        let p = self.lowest.pop_front()?;
        Some((p, 0, self.lowest.len() as u64))
    }

    #[cold]
    #[inline(never)]
    fn pop_higher(&mut self) -> Option<(Box<Packet>, u64, u64)> {
        let mut queues = self.above.iter_mut().enumerate().rev();
        queues.find_map(|(i, q)| {
            let p = q.pop_front()?;
            Some((p, i as u64 + 1, q.len() as u64))
        })
    }

    pub(crate) fn len(&self) -> usize {
        let above = self.above.iter().map(Queue::len);
        self.lowest.len() + above.sum::<usize>()
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.lowest.is_empty() && (self.above.is_empty() || self.above.iter().all(Queue::is_empty))
    }

    pub(crate) fn clear(&mut self) {
        self.lowest.clear();
        self.above.iter_mut().for_each(Queue::clear);
    }
}
