// SPDX-License-Identifier: Apache-2.0
//! The queues of a port, by strict priority: the highest that holds a packet is served.
//! Priorities are numbered from 0, the lowest, as in BMv2.

use std::collections::VecDeque;

use p4_vm::Packet;

/// Between two frames.
pub(crate) fn interval_ns(rate_pps: u64) -> u64 {
    1_000_000_000u64.checked_div(rate_pps).unwrap_or(0)
}

/// Packets that wait with one priority.
pub(crate) type Queue = VecDeque<Box<Packet>>;

/// A packet that is served, its priority, and how many wait behind it with that.
pub(crate) type Next = (Box<Packet>, u64, u64);

/// Most queues of a port, as in BMv2.
pub const MOST_PRIORITIES: usize = 32;

/// Limits of one queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub depth_packets: u32,
    /// 0: none.
    pub rate_pps: u64,
    /// When the next packet may leave.
    next_ns: u64,
}

#[derive(Debug, Default)]
pub(crate) struct PriorityQueues {
    lowest: Queue,
    /// From priority 1 on; none unless asked for.
    above: Vec<Queue>,
    /// By priority; none unless a queue has its own.
    pub limits: Vec<Limit>,
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
        self.limits.clear();
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

    /// The packet to serve next.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Next> {
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
    fn pop_higher(&mut self) -> Option<Next> {
        let mut queues = self.above.iter_mut().enumerate().rev();
        queues.find_map(|(i, q)| {
            let p = q.pop_front()?;
            Some((p, i as u64 + 1, q.len() as u64))
        })
    }

    pub(crate) fn count(&self) -> usize {
        1 + self.above.len()
    }

    /// The queue's own limits; they are made, with the depth that is `usual`.
    pub(crate) fn limit_mut(&mut self, priority: usize, usual: u32) -> Option<&mut Limit> {
        let none = Limit {
            depth_packets: usual,
            rate_pps: 0,
            next_ns: 0,
        };
        self.limits.resize(self.count(), none);
        self.limits.get_mut(priority)
    }

    /// Most packets of a queue, 0: unlimited.
    #[inline(always)]
    pub(crate) fn depth(&self, priority: u64, usual: u32) -> usize {
        if self.limits.is_empty() {
            return usual as usize;
        }
        let own = usize::try_from(priority).ok();
        let own = own.and_then(|p| self.limits.get(p));
        own.map_or(usual, |l| l.depth_packets) as usize
    }

    /// As [`Self::pop`] at time `t`, where queues have rates of their own. `Err`: when the next
    /// packet may leave.
    #[cold]
    #[inline(never)]
    pub(crate) fn pop_limited(&mut self, t: u64) -> Result<Option<Next>, u64> {
        let mut next = u64::MAX;
        for priority in (0..self.count()).rev() {
            let queue = match priority.checked_sub(1) {
                None => &mut self.lowest,
                Some(i) => match self.above.get_mut(i) {
                    Some(q) => q,
                    None => continue,
                },
            };
            if queue.is_empty() {
                continue;
            }
            if let Some(l) = self.limits.get_mut(priority)
                && l.rate_pps != 0
            {
                if l.next_ns > t {
                    next = next.min(l.next_ns);
                    continue;
                }
                l.next_ns = t + interval_ns(l.rate_pps);
            }
            let Some(p) = queue.pop_front() else { continue };
            return Ok(Some((p, priority as u64, queue.len() as u64)));
        }
        match next {
            u64::MAX => Ok(None),
            at => Err(at),
        }
    }

    /// The queue, lowest first.
    pub(crate) fn get(&self, priority: usize) -> Option<&Queue> {
        match priority.checked_sub(1) {
            None => Some(&self.lowest),
            Some(above) => self.above.get(above),
        }
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
