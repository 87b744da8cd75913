// SPDX-License-Identifier: Apache-2.0
//! The queue of packets on their way to the sink, in the order in which their
//! reports came.
//!
//! A packet waits for about a round trip for the sample that shows its sender's state. Layout for
//! speed: rows are written and read once, one after the other, which the core's prefetcher follows;
//! the fields that samples change ([`JoinSlot`]) are kept apart, so that looking up single packets
//! stays within the caches. The plain form is a list of pairs: a property test below checks that
//! both agree. Justified by the benchmark row "decode, flow, join, intervals; 1000 flows".

use crate::prefetch::{self, distance};
use crate::rows::{Join, PostcardRow};

const LEAST: usize = 64;

/// Facts that become known about a packet while it waits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JoinSlot {
    /// Slot of its flow.
    pub flow: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub srtt_us: u32,
    pub node: u16,
    pub join: Join,
    /// Whether it waits for a sample.
    pub waits: bool,
}

/// A queue like [`crate::ring::Ring`] with two entries per position.
#[derive(Debug, Default)]
pub(super) struct PacketQueue {
    rows: Box<[PostcardRow]>,
    /// As many as `rows`.
    slots: Box<[JoinSlot]>,
    /// Positions before this have been handed on.
    pub first: u64,
    /// Position of the packet that is added next.
    pub next: u64,
}

impl PacketQueue {
    #[inline]
    pub(super) fn len(&self) -> usize {
        (self.next - self.first) as usize
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.next == self.first
    }

    #[inline(always)]
    fn place(&self, position: u64) -> usize {
        position as usize & self.rows.len().wrapping_sub(1)
    }

    /// Adds a row and its slot, to be filled in place: finished ones would be copied while their
    /// parts are still on their way to memory. Both hold old values.
    #[inline(always)]
    pub(super) fn push(&mut self) -> Option<(&mut PostcardRow, &mut JoinSlot)> {
        if self.len() == self.rows.len() {
            self.grow();
        }
        let place = self.place(self.next);
        self.next += 1;
        Some((self.rows.get_mut(place)?, self.slots.get_mut(place)?))
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let length = (self.rows.len() * 2).max(LEAST);
        let mut rows = vec![PostcardRow::default(); length].into_boxed_slice();
        let mut slots = vec![JoinSlot::default(); length].into_boxed_slice();
        for position in self.first..self.next {
            let (from, to) = (self.place(position), position as usize & (length - 1));
            if let (Some(row), Some(slot)) = (self.rows.get(from), self.slots.get(from)) {
                rows[to] = *row;
                slots[to] = *slot;
            }
        }
        self.rows = rows;
        self.slots = slots;
    }

    /// The packet at a position, if it is here and waits.
    #[inline(always)]
    pub(super) fn waiting(&mut self, position: u64) -> Option<&mut JoinSlot> {
        // A position below `first` wraps to a huge number.
        if position.wrapping_sub(self.first) >= self.next - self.first {
            return None;
        }
        let place = self.place(position);
        self.slots.get_mut(place).filter(|m| m.waits)
    }

    /// The oldest packet.
    #[inline(always)]
    pub(super) fn front(&mut self) -> Option<(&mut PostcardRow, &mut JoinSlot)> {
        if self.is_empty() {
            return None;
        }
        let place = self.place(self.first);
        Some((self.rows.get_mut(place)?, self.slots.get_mut(place)?))
    }

    /// Prefetches the slot of the packet at a position.
    #[inline(always)]
    pub(super) fn prefetch(&self, position: u64) {
        if let Some(slot) = self.slots.get(self.place(position)) {
            prefetch::start(slot);
        }
    }

    /// Returns the row that is `places` behind the oldest.
    #[inline(always)]
    pub(super) fn ahead(&self, places: u64) -> Option<&PostcardRow> {
        let position = self.first + places;
        if position >= self.next {
            return None;
        }
        self.rows.get(self.place(position))
    }

    /// Removes the oldest packet, and prefetches a later one, which has been here for a round trip.
    #[inline(always)]
    pub(super) fn pop_front(&mut self) {
        if !self.is_empty() {
            self.first += 1;
        }
        let ahead = self.place(self.first + distance::QUEUED_ROWS);
        if let (Some(row), Some(slot)) = (self.rows.get(ahead), self.slots.get(ahead)) {
            prefetch::lines(row, size_of::<PostcardRow>());
            prefetch::start(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn agrees_with_a_list(steps in prop::collection::vec((0u8..4, any::<u32>()), 0..400)) {
            let mut queue = PacketQueue::default();
            let mut list: VecDeque<(u64, u32, bool)> = VecDeque::new();
            let mut next = 0;
            for (step, n) in steps {
                match step {
                    0 | 1 => {
                        let (row, slot) = queue.push().unwrap();
                        row.sequence = n;
                        slot.flow = n;
                        slot.waits = n % 3 == 0;
                        list.push_back((next, n, n % 3 == 0));
                        next += 1;
                    }
                    2 => {
                        queue.pop_front();
                        list.pop_front();
                    }
                    _ => {
                        let position = u64::from(n % 500);
                        let entry = list.iter_mut().find(|e| e.0 == position && e.2);
                        let slot = queue.waiting(position);
                        prop_assert_eq!(slot.as_ref().map(|m| m.flow), entry.as_ref().map(|e| e.1));
                        if let (Some(slot), Some(entry)) = (slot, entry) {
                            slot.waits = false;
                            entry.2 = false;
                        }
                    }
                }
                prop_assert_eq!((queue.len(), queue.next), (list.len(), next));
                let front = queue.front().map(|(row, slot)| (row.sequence, slot.flow, slot.waits));
                prop_assert_eq!(front, list.front().map(|e| (e.1, e.1, e.2)));
            }
        }
    }
}
