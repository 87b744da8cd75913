// SPDX-License-Identifier: Apache-2.0
//! Times at which packets were handed over to the pipeline.
//!
//! Reports wait in a socket, and for long if the collector was stalled. The samples with the state
//! that their packets left under waited as long, elsewhere, and come in no particular order with
//! them. So a packet's wait for its sample counts from the hand-over, not from reception.

use std::collections::VecDeque;

/// Hand-overs closer together than this are merged, ns, so that the list is no longer than the
/// longest wait divided by this.
const APART_NS: u64 = 10_000_000;

/// Packets that were handed over together.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Position of the first packet.
    from: u64,
    /// Time by the collector's clock.
    at_ns: u64,
}

/// Hand-overs of the packets in the queue, the oldest first.
#[derive(Debug, Default)]
pub(super) struct HandOvers(VecDeque<Mark>);

impl HandOvers {
    /// Notes that packets from position `from` on are handed over at `at_ns`; packets before
    /// `oldest` have been handed on.
    pub(super) fn note(&mut self, oldest: u64, from: u64, at_ns: u64) {
        self.forget_before(oldest);
        match self.0.back_mut() {
            Some(last) if at_ns < last.at_ns.saturating_add(APART_NS) => {}
            // No packet came since.
            Some(last) if last.from == from => last.at_ns = at_ns,
            _ => self.0.push_back(Mark { from, at_ns }),
        }
    }

    /// Returns when the oldest packet, which is at `position`, was handed over; 0 if it was not
    /// noted.
    #[inline]
    pub(super) fn oldest_ns(&mut self, position: u64) -> u64 {
        self.forget_before(position);
        self.0.front().map_or(0, |m| m.at_ns)
    }

    #[inline]
    fn forget_before(&mut self, position: u64) {
        while self.0.get(1).is_some_and(|next| next.from <= position) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn packets_have_the_time_of_their_own_hand_over() {
        let mut h = HandOvers::default();
        assert_eq!(h.oldest_ns(0), 0);
        h.note(0, 0, 100 * MS);
        h.note(0, 5, 105 * MS);
        h.note(0, 8, 300 * MS);
        h.note(0, 8, 900 * MS);
        assert_eq!(h.oldest_ns(0), 100 * MS);
        assert_eq!(h.oldest_ns(7), 100 * MS, "as good as together");
        assert_eq!(h.oldest_ns(8), 900 * MS, "none was handed over before");
        assert_eq!(h.0.len(), 1);
    }

    /// Even if no packet waits and nobody asks.
    #[test]
    fn the_list_is_bounded() {
        let mut h = HandOvers::default();
        for n in 0..1_000 {
            h.note(n, n + 3, n * 20 * MS);
        }
        assert!(h.0.len() <= 5, "{}", h.0.len());
    }
}
