// SPDX-License-Identifier: Apache-2.0
//! The queues of a port, by strict priority: the highest non-empty queue is served.
//! Priorities are numbered from 0, the lowest, as in BMv2.

use std::collections::VecDeque;

use p4_vm::Packet;

/// Returns the time between two frames.
pub(crate) fn interval_ns(rate_pps: u64) -> u64 {
    1_000_000_000u64.checked_div(rate_pps).unwrap_or(0)
}

/// Packets that wait at one priority.
pub(crate) type Queue = VecDeque<Box<Packet>>;

/// The packet to serve, its priority, and how many packets wait behind it in its queue.
pub(crate) type Next = (Box<Packet>, u64, u64);

/// Most queues that a port can have, as in BMv2.
pub const MOST_PRIORITIES: usize = 32;

/// Limits of one queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub depth_packets: u32,
    /// Packets per second; 0: unlimited.
    pub rate_pps: u64,
    /// Time at which the next packet may leave.
    next_ns: u64,
}

#[derive(Debug, Default)]
pub(crate) struct PriorityQueues {
    lowest: Queue,
    /// Queues from priority 1 up; empty unless configured.
    above: Vec<Queue>,
    /// Limits by priority; empty unless a queue has its own.
    pub limits: Vec<Limit>,
}

impl PriorityQueues {
    /// Sets the number of queues; packets of removed queues move to the lowest.
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

    /// Returns the queue of this priority, if it exists.
    #[inline(always)]
    pub(crate) fn get_mut(&mut self, priority: u64) -> Option<&mut Queue> {
        if priority == 0 {
            return Some(&mut self.lowest);
        }
        self.higher(priority)
    }

    // A call for the rare case, so that a single queue costs no more than a plain queue.
    #[cold]
    #[inline(never)]
    fn higher(&mut self, priority: u64) -> Option<&mut Queue> {
        self.above.get_mut(usize::try_from(priority).ok()? - 1)
    }

    /// Takes the packet to serve next.
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

    /// Returns the queue's own limits; new limits start with the depth `usual`.
    pub(crate) fn limit_mut(&mut self, priority: usize, usual: u32) -> Option<&mut Limit> {
        let none = Limit {
            depth_packets: usual,
            rate_pps: 0,
            next_ns: 0,
        };
        self.limits.resize(self.count(), none);
        self.limits.get_mut(priority)
    }

    /// Returns the depth, in packets, of a queue; 0: unlimited.
    #[inline(always)]
    pub(crate) fn depth(&self, priority: u64, usual: u32) -> usize {
        if self.limits.is_empty() {
            return usual as usize;
        }
        let own = usize::try_from(priority).ok();
        let own = own.and_then(|p| self.limits.get(p));
        own.map_or(usual, |l| l.depth_packets) as usize
    }

    /// Like [`Self::pop`], at time `t`, for queues with rates of their own. `Err`: the time at
    /// which the next packet may leave.
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

    /// Returns the queue of this priority.
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
