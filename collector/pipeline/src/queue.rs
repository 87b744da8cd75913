// SPDX-License-Identifier: Apache-2.0
//! Packets on their way to the sink, in the order in which their reports came.
//!
//! A packet waits for about a round trip for the sample that shows its sender's
//! state. Rows are written and read once, one after the other, which the core
//! foresees; what samples change lies apart, so that looking up single packets
//! stays within the caches.

use crate::prefetch;
use crate::ring::Ring;
use crate::rows::{Join, PostcardRow};

/// What becomes known of a packet while it waits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    /// Its flow.
    pub slot: u32,
    pub cwnd: u32,
    pub ssthresh: u32,
    pub srtt_us: u32,
    pub node: u16,
    pub join: Join,
    /// It waits for a sample.
    pub waits: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Queue {
    rows: Ring<PostcardRow>,
    marks: Ring<Mark>,
}

impl Queue {
    #[inline]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Positions before this have been handed on.
    #[inline]
    pub fn first_position(&self) -> u64 {
        self.rows.first()
    }

    /// Position of the packet that is put in next.
    #[inline]
    pub fn next_position(&self) -> u64 {
        self.rows.next()
    }

    /// Puts in a row and its mark, to be filled where they lie: finished ones
    /// would be copied while their parts are still on their way to memory. They
    /// hold what was there before.
    #[inline(always)]
    pub fn push(&mut self) -> Option<(&mut PostcardRow, &mut Mark)> {
        Some((self.rows.push()?, self.marks.push()?))
    }

    /// The packet at a position, if it is here and waits.
    #[inline]
    pub fn waiting(&mut self, position: u64) -> Option<&mut Mark> {
        self.marks.get_mut(position).filter(|m| m.waits)
    }

    #[inline]
    pub fn front(&mut self) -> Option<(&mut PostcardRow, &mut Mark)> {
        let first = self.rows.first();
        Some((self.rows.get_mut(first)?, self.marks.get_mut(first)?))
    }

    /// Asks for what samples change of the packet at a position.
    #[inline]
    pub fn prefetch(&self, position: u64) {
        if let Some(mark) = self.marks.get(position) {
            prefetch::start(mark);
        }
    }

    #[inline]
    pub fn pop_front(&mut self) {
        self.rows.pop_front();
        self.marks.pop_front();
    }
}
