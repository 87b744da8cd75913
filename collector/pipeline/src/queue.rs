// SPDX-License-Identifier: Apache-2.0
//! Packets on their way to the sink, in the order in which their reports came.
//!
//! A packet waits for about a round trip for the sample that shows its sender's
//! state. Rows are written and read once, one after the other, which the core
//! foresees; what samples change lies apart, so that looking up single packets
//! stays within the caches.

use crate::prefetch;
use crate::rows::{Join, PostcardRow};
use std::collections::VecDeque;

/// What becomes known of a packet while it waits.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// Its flow.
    pub slot: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub srtt_us: u32,
    pub node: u16,
    pub join: Join,
    /// It waits for nothing any more.
    pub resolved: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Queue {
    rows: VecDeque<PostcardRow>,
    marks: VecDeque<Mark>,
    /// Position of the oldest packet.
    first: u64,
}

impl Queue {
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Positions before this have been handed on.
    #[inline]
    pub fn first_position(&self) -> u64 {
        self.first
    }

    /// Position of the packet that is put in next.
    #[inline]
    pub fn next_position(&self) -> u64 {
        self.first + self.rows.len() as u64
    }

    /// Puts in an empty row, to be filled where it lies: a finished one would be
    /// copied while its parts are still on their way to memory.
    #[inline]
    pub fn push(&mut self, mark: Mark) -> Option<(&mut PostcardRow, &mut Mark)> {
        self.rows.push_back(PostcardRow::default());
        self.marks.push_back(mark);
        Some((self.rows.back_mut()?, self.marks.back_mut()?))
    }

    /// The packet at a position, if it is here and waits.
    #[inline]
    pub fn waiting(&mut self, position: u64) -> Option<&mut Mark> {
        let i = usize::try_from(position.checked_sub(self.first)?).ok()?;
        self.marks.get_mut(i).filter(|m| !m.resolved)
    }

    /// The packet put in last.
    #[inline]
    pub fn back(&mut self) -> Option<(&mut PostcardRow, &mut Mark)> {
        Some((self.rows.back_mut()?, self.marks.back_mut()?))
    }

    #[inline]
    pub fn front(&mut self) -> Option<(&mut PostcardRow, &mut Mark)> {
        Some((self.rows.front_mut()?, self.marks.front_mut()?))
    }

    /// The row so many places behind the oldest.
    #[inline]
    pub fn row(&self, place: usize) -> Option<&PostcardRow> {
        self.rows.get(place)
    }

    /// Asks for what samples change of the packet at a position.
    #[inline]
    pub fn prefetch(&self, position: u64) {
        if let Some(mark) = position
            .checked_sub(self.first)
            .and_then(|i| self.marks.get(i as usize))
        {
            prefetch::start(mark);
        }
    }

    #[inline]
    pub fn pop_front(&mut self) {
        self.rows.pop_front();
        self.marks.pop_front();
        self.first += 1;
    }
}
